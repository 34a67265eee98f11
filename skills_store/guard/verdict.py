"""Verdict of the guard: findings, the risk level, and the decision by trust in the source."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "caution", "dangerous"]
RiskLevel = Literal["safe", "caution", "dangerous"]

SEVERITIES: tuple[Severity, ...] = ("note", "caution", "dangerous")
RISK_LEVELS: tuple[RiskLevel, ...] = ("safe", "caution", "dangerous")
"""Risk level by position in `SEVERITIES`: a note alone leaves a skill safe."""

SkillTrust = Literal["builtin", "trusted", "community", "agent-created"]
"""Author: this package; a source named in the user's settings; the public; the model."""
SkillDecision = Literal["allow", "ask", "block"]

POLICY: Mapping[SkillTrust, Mapping[RiskLevel, SkillDecision]] = {
    "builtin": {"safe": "allow", "caution": "allow", "dangerous": "allow"},
    "trusted": {"safe": "allow", "caution": "allow", "dangerous": "block"},
    "community": {"safe": "allow", "caution": "block", "dangerous": "block"},
    "agent-created": {"safe": "allow", "caution": "allow", "dangerous": "ask"},
}


@dataclass(frozen=True, slots=True, order=True)
class SkillFinding:
    """Finding that the user should see before the skill is used."""

    file: str
    """Path within the skill, with slashes; empty for the entire directory."""
    line: int
    """Counted from 1; 0 for the entire file."""
    category: str
    """Kind of harm, such as `exfiltration`; `structure` for the file itself."""
    severity: Severity
    description: str
    """Short description for the user. Never quotes the skill, whose text may be hostile."""

    def __str__(self) -> str:
        """Return one line; the name is made printable, so that it cannot break out of it."""
        name = "".join(character if character.isprintable() else "?" for character in self.file)
        location = f"{name}:{self.line}" if self.line else name or "the directory"
        return f"{location}: {self.severity}: {self.category}: {self.description}"


@dataclass(frozen=True, slots=True)
class SkillVerdict:
    """Risk level of a skill, with its findings sorted by file and line."""

    level: RiskLevel
    findings: tuple[SkillFinding, ...]


def build_verdict(findings: Iterable[SkillFinding]) -> SkillVerdict:
    """Build the verdict; the worst finding determines the level."""
    found = tuple(sorted(set(findings)))
    worst = max((SEVERITIES.index(finding.severity) for finding in found), default=0)
    return SkillVerdict(RISK_LEVELS[worst], found)


def decide(trust: SkillTrust, level: RiskLevel) -> SkillDecision:
    """Return the decision for a skill of this level from such a source."""
    return POLICY[trust][level]
