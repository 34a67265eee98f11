"""What a scan for threats finds in a text. Shared by whoever scans and whoever reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Scope = Literal["all", "context", "strict"]
"""How much is looked for: in any text, in a project's files and hints, in what an agent keeps."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not reach the model. Lines and columns are counted from 1."""

    pattern: str
    """The pattern's id, such as `ignore-instructions`."""
    scope: Scope
    line: int
    column: int


Scan = Callable[[str, Scope], Sequence[Finding]]
"""Looks through a whole text, in time linear in its length."""
