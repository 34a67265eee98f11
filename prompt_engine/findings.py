"""Types shared by the threat scanner and the code that reports its findings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Scope = Literal["all", "context", "strict"]
"""Pattern set: `all` for any text, `context` for project files, `strict` for agent memory."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Match of a threat pattern; the text must not reach the model. Lines and columns from 1."""

    pattern: str
    """Pattern id, such as `ignore-instructions`."""
    scope: Scope
    line: int
    column: int


Scan = Callable[[str, Scope], Sequence[Finding]]
"""Scans a complete text, in time linear in its length."""
