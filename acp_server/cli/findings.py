"""What an examination finds: a fact, how bad it is, and what to do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["ok", "warning", "problem"]
STATUSES: tuple[Status, ...] = ("ok", "warning", "problem")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    status: Status
    fact: str
    advice: str = ""
    milliseconds: Mapping[str, int] = field(default_factory=dict[str, int])
    """What was measured, by name."""


def worst(findings: Sequence[Finding]) -> Status:
    """Return how bad it is altogether."""
    found: Status = "ok"
    for finding in findings:
        if STATUSES.index(finding.status) > STATUSES.index(found):
            found = finding.status
    return found
