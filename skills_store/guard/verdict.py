"""Verdict of the guard: findings and the resulting risk level. Independent of the rules."""

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
"""Risk level by position in `SEVERITIES`: a note alone leaves a skill safe."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Finding that the user should see before the skill is used."""

    file: str
    """Path within the skill, with slashes; empty for the entire directory."""
    line: int
    """Counted from 1; 0 for the entire file."""
    category: Category
    severity: Severity
    what: str
    """Short description for the user. Never quotes the skill, whose text may be hostile."""

    def __str__(self) -> str:
        """Return one line; the name is made printable, so that it cannot break out of it."""
        name = "".join(letter if letter.isprintable() else "?" for letter in self.file)
        place = f"{name}:{self.line}" if self.line else name or "the directory"
        return f"{place}: {self.severity}: {self.category}: {self.what}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Risk level of a skill, with its findings sorted by file and line."""

    level: Level
    findings: tuple[Finding, ...]


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Build the verdict; the worst finding determines the level."""
    found = tuple(sorted(set(findings)))
    worst = max((SEVERITIES.index(finding.severity) for finding in found), default=0)
    return Verdict(LEVELS[worst], found)
