"""Outcomes of a fleet: the worst one decides, and unknown ones of later versions are readable."""

from collections.abc import Collection

from acp_server.headless.run.outcome import Outcome

UnitOutcome = Outcome
BY_SEVERITY: tuple[UnitOutcome, ...] = (
    *("interrupted", "terminated", "internal_error", "usage_error", "authentication"),
    *("setup_failed", "provider_error", "refused", "budget", "timeout", "session_not_found"),
    *("invalid_answer", "denied", "check_failed", "findings", "not_run", "done"),
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
