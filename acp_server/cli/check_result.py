"""Results of the checks of `acp-server doctor`: a fact, its status and advice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

CheckStatus: TypeAlias = Literal["ok", "warning", "problem"]
STATUSES: tuple[CheckStatus, ...] = ("ok", "warning", "problem")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check."""

    name: str
    status: CheckStatus
    fact: str
    advice: str = ""
    milliseconds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Measured times, by name."""


def worst_status(findings: Sequence[CheckResult]) -> CheckStatus:
    """Return the worst status among the findings; "ok" without any."""
    return STATUSES[max((STATUSES.index(each.status) for each in findings), default=0)]
