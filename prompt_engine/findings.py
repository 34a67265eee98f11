"""Types shared by the threat scanner and the code that reports its findings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

ScanScope = Literal["all", "context", "strict", "mark"]
"""Pattern set: `all` for any text, `context` for project files, `strict` for agent memory; `mark`
holds those of `context`, and wordings for which a text is shown to the model with a warning.
"""

ThreatSeverity = Literal["note", "caution", "dangerous"]
"""Severity of a finding in a skill; a finding in a text that reaches the model is always dangerous.
"""


@dataclass(frozen=True, slots=True)
class ThreatFinding:
    """Match of a threat pattern. Lines and columns from 1.

    The text must not reach the model, or with a warning if the scope is `mark`.
    """

    pattern: str
    """Pattern id, such as `ignore-instructions`."""
    scope: ScanScope
    line: int
    column: int

    @property
    def is_mark(self) -> bool:
        """Whether the text may reach the model with a warning."""
        return self.scope == "mark"


@dataclass(frozen=True, slots=True)
class SkillThreat:
    """Finding in a file of a skill; the user decides about it. Lines from 1."""

    category: str
    """Family of the pattern, such as `exfiltration`."""
    severity: ThreatSeverity
    description: str
    """Short description for the user. Never quotes the skill, whose text may be hostile."""
    line: int


ThreatScan = Callable[[str, ScanScope], Sequence[ThreatFinding]]
"""Scans a complete text, in time linear in its length."""
