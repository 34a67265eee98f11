"""Results of the checks of `acp-server doctor`: a fact, its status and advice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["ok", "warning", "problem"]
STATUSES: tuple[Status, ...] = ("ok", "warning", "problem")


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check."""

    name: str
    status: Status
    fact: str
    advice: str = ""
    milliseconds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Measured times, by name."""


def worst(findings: Sequence[Finding]) -> Status:
    """Return the worst status among the findings; "ok" without any."""
    found: Status = "ok"
    for finding in findings:
        if STATUSES.index(finding.status) > STATUSES.index(found):
            found = finding.status
    return found
