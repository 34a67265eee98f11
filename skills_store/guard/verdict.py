"""What the guard says of a skill: findings, and how bad they are together. Knows no rules."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Category = Literal[
    "exfiltration",
    "injection",
    "destructive",
    "persistence",
    "network",
    "obfuscation",
    "privilege",
    "supply-chain",
    "secrets",
    "structure",
]
Severity = Literal["note", "caution", "dangerous"]
Level = Literal["safe", "caution", "dangerous"]

SEVERITIES: tuple[Severity, ...] = ("note", "caution", "dangerous")
LEVELS: tuple[Level, ...] = ("safe", "caution", "dangerous")
"""The level that a severity of the same place leads to: a note alone leaves a skill safe."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something a person should know of before the skill is used."""

    file: str
    """Its path in the skill, with slashes; empty when the whole folder is meant."""
    line: int
    """Counted from 1; 0 when the whole file is meant."""
    category: Category
    severity: Severity
    what: str
    """A few words for a person; never the words of the skill."""

    def __str__(self) -> str:
        """Return one line; a name is made printable, so that it cannot break out of it."""
        name = "".join(letter if letter.isprintable() else "?" for letter in self.file)
        place = f"{name}:{self.line}" if self.line else name or "the folder"
        return f"{place}: {self.severity}: {self.category}: {self.what}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How bad it is, and why: the findings in the order of files and lines."""

    level: Level
    findings: tuple[Finding, ...]


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict: as bad as the worst of the findings."""
    found = tuple(sorted(set(findings)))
    worst = max((SEVERITIES.index(finding.severity) for finding in found), default=0)
    return Verdict(LEVELS[worst], found)
