"""Retries: which attempts are repeated, and how long to wait before that. Pure."""

import random
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from acp_server.fleet.attempts import AttemptReport
from acp_server.fleet.outcomes import UnitOutcome, parse_outcome
from acp_server.fleet.results import number
from acp_server.text.json_values import as_object, as_text

JITTER = 0.25
"""Part of a wait by which it varies at random, so that retries do not come all at once."""
FINAL_OUTCOMES: frozenset[UnitOutcome] = frozenset(
    {
        *("done", "usage_error", "timeout", "session_not_found", "denied", "findings", "budget"),
        *("refused", "check_failed", "setup_failed"),
    }
)
"""Outcomes that another attempt would not change: `--resume` keeps them."""


@dataclass(frozen=True, slots=True)
class RetryWaits:
    """Waits before retries and probes, in seconds; each doubles the one before."""

    first: float = 5.0
    longest: float = 300.0
    probe: float = 30.0
    """First wait of a paused fleet."""

    def seconds(self, attempt: int, asked: float | None = None) -> float:
        """Return the wait after this many failed attempts.

        `asked` is the provider's own `retry-after`, the shortest wait that makes sense.
        """
        doubled = min(self.longest, self.first * 2.0 ** (attempt - 1))
        return _vary(max(doubled, asked or 0.0))

    def probe_seconds(self, probes: int, asked: float | None = None) -> float:
        """Return the wait before the next probe, after this many that failed."""
        doubled = min(2 * self.longest, self.probe * 2.0**probes)
        return _vary(max(doubled, asked or 0.0))


@dataclass(frozen=True, slots=True)
class AttemptVerdict:
    """Meaning of an attempt's end for its unit and for the fleet."""

    outcome: UnitOutcome
    reason: str
    is_retryable: bool = False
    is_final: bool = False
    """Whether `--resume` keeps this outcome."""
    effect: Literal["none", "provider_failed", "stop"] = "none"
    """On other units: the provider may be down, or no unit can be done without a key."""
    is_rate_limited: bool = False
    retry_after: float | None = None


def judge_attempt(report: AttemptReport) -> AttemptVerdict:
    """Return the meaning of a report."""
    if report.is_lost:
        return AttemptVerdict("internal_error", "the node was lost", is_retryable=True)
    if report.problem and not report.is_cancelled:
        if report.has_failed_setup:
            return AttemptVerdict("setup_failed", report.problem, is_final=True)
        return AttemptVerdict("internal_error", report.problem)
    if report.result is None:
        return _judge_without_result(report)
    return _judge_result(report, report.result)


def _judge_result(report: AttemptReport, result: Mapping[str, JsonValue]) -> AttemptVerdict:
    outcome = parse_outcome(result.get("outcome"))
    reason = as_text(result.get("reason"))
    failure = as_object(result.get("failure"))
    match outcome:
        case "interrupted" | "terminated":
            # A signal that the driver did not send: the node is shutting down, for example.
            is_retryable = not report.is_cancelled
            return AttemptVerdict("terminated", reason, is_retryable=is_retryable)
        case "provider_error":
            return AttemptVerdict(
                outcome,
                reason,
                is_retryable=True,
                effect="provider_failed",
                is_rate_limited=failure.get("kind") == "rate_limit",
                retry_after=number(failure.get("retry_after_seconds")),
            )
        case "authentication":
            return AttemptVerdict(outcome, reason, effect="stop")
        case "done" | "findings" if report.check is not None and not report.check.is_passed:
            return AttemptVerdict("check_failed", _describe_check(report), is_final=True)
        case _:
            return AttemptVerdict(outcome, reason, is_final=outcome in FINAL_OUTCOMES)


def _judge_without_result(report: AttemptReport) -> AttemptVerdict:
    if report.is_cancelled:
        return AttemptVerdict("terminated", "the run was ended before it was done")
    code = report.exit_code
    text = f"exited with code {code} without a result; see its log"
    if code is not None and code < 0:
        text = f"was killed by {signal.Signals(-code).name}"
    reason = f"the process of this task {text}"
    return AttemptVerdict("internal_error", reason, is_retryable=True)


def _describe_check(report: AttemptReport) -> str:
    check = report.check
    lines = (check.output if check else "").strip().splitlines()
    code = check.exit_code if check else None
    text = "did not end in time" if code is None else f"ended with code {code}"
    return f"the check {text}" + (f": {lines[-1]}" if lines else "")


def _vary(seconds: float) -> float:
    return seconds * (1 + random.uniform(0, JITTER))  # noqa: S311  no secret
