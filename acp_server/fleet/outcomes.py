"""Outcomes of units: those of `acp-server run`, and those that only a fleet has."""

from collections.abc import Collection, Mapping
from typing import Literal

from acp_server.headless.run.outcome import EXIT_CODES, Outcome

FleetOutcome = Literal["check_failed", "setup_failed", "not_run"]
UnitOutcome = Outcome | FleetOutcome

UNIT_EXIT_CODES: Mapping[UnitOutcome, int] = {
    **EXIT_CODES,
    "setup_failed": 1,
    "check_failed": 10,
    "not_run": 0,
}
"""`not_run` is 0: the reason that units did not run is an outcome of its own."""

BY_SEVERITY: tuple[UnitOutcome, ...] = (
    *("interrupted", "terminated", "internal_error", "usage_error", "authentication"),
    *("setup_failed", "provider_error", "refused", "budget", "timeout", "session_not_found"),
    *("denied", "check_failed", "findings", "not_run", "done"),
)


def worst_of(outcomes: Collection[UnitOutcome]) -> UnitOutcome:
    """Return the most severe outcome, which decides the exit code of a fleet."""
    for outcome in BY_SEVERITY:
        if outcome in outcomes:
            return outcome
    return "done"


def parse_outcome(text: object) -> UnitOutcome:
    """Return an outcome that was read from JSON; unknown ones count as `internal_error`."""
    for outcome in BY_SEVERITY:
        if outcome == text:
            return outcome
    return "internal_error"
