"""Fast mode of a model at an endpoint: its request field, and what a refusal means.

A request in fast mode never falls back by itself: without access or capacity it fails. It is then
sent again at normal speed. The endpoint caches prompts separately for each speed, so a short wait
costs less than a change of speed.
Source: https://platform.claude.com/docs/en/build-with-claude/fast-mode
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
from pydantic import JsonValue

from acp_server.models.failures import ProviderFailure
from acp_server.models.families import ModelFamily
from acp_server.turn.ports import FastModeStopped, ModelRequest

BETA_HEADER = "anthropic-beta"
FAST_MODE_BETA = "fast-mode-2026-02-01"
LIMIT_HEADERS = ("anthropic-fast-input-tokens-limit", "anthropic-fast-output-tokens-limit")
"""Zero if the organization has no access to fast mode of the model."""
SHORT_WAIT_SECONDS = 20.0
"""A wait that is not worth a change of speed."""
PAUSE_SECONDS = 600.0
"""How long requests go at normal speed after a rate limit, at least: each change costs a cache."""
_WORDS = ("speed", "fast mode", "fast-mode")


@dataclass(slots=True)
class FastMode:
    """State of fast mode of one model at an endpoint."""

    clock: Callable[[], float] = anyio.current_time
    _resumes_at: float = 0.0
    _stopped: FastModeStopped | None = field(default=None, init=False)
    _stops: int = field(default=0, init=False)

    @property
    def stopped(self) -> FastModeStopped | None:
        """Why requests go at normal speed now; None if they may ask for fast mode."""
        stopped = self._stopped
        if stopped is not None and not stopped.is_final and self.clock() >= self._resumes_at:
            self._stopped = stopped = None
        return stopped

    def is_asked(self, request: ModelRequest, family: ModelFamily) -> bool:
        """Return whether a request is to ask for fast mode."""
        return request.is_fast and family.fast is not None and self.stopped is None

    def stop_after(self, failure: ProviderFailure, headers: Mapping[str, str]) -> bool:
        """Stop asking if a failure is one of fast mode; return whether to send again without it."""
        message = failure.reason.lower()
        if failure.kind == "rate_limit":
            if any(headers.get(name, "").strip() == "0" for name in LIMIT_HEADERS):
                return self._stop("your organization has no access to it", is_final=True)
            wait = failure.retry_after_seconds
            if wait is not None and wait <= SHORT_WAIT_SECONDS:
                return False
            self._resumes_at = self.clock() + max(wait or 0.0, PAUSE_SECONDS)
            return self._stop("its rate limit is reached; the work goes on at normal speed")
        if failure.kind == "overloaded":
            self._resumes_at = self.clock() + PAUSE_SECONDS
            return self._stop("it is overloaded; the work goes on at normal speed")
        if failure.kind in {"request", "permission"} and any(each in message for each in _WORDS):
            return self._stop(failure.reason, is_final=True)
        return False

    def _stop(self, reason: str, *, is_final: bool = False) -> bool:
        if is_final:
            reason += "; the work goes on at normal speed"
        self._stops += 1
        self._stopped = FastModeStopped(reason, self._stops, is_final)
        return True


def fast_mode_fields() -> dict[str, JsonValue]:
    """Return the fields that ask for fast mode."""
    return {"speed": "fast"}


def fast_mode_headers(family: ModelFamily, defaults: Mapping[str, object]) -> dict[str, str]:
    """Return the headers that ask for fast mode; `defaults` are those of every request.

    The header takes the place of a default one, such as that of a sign-in, so it repeats its names.
    """
    if family.fast != "beta":
        return {}
    given = (str(value) for name, value in defaults.items() if name.lower() == BETA_HEADER)
    names = [name.strip() for value in given for name in value.split(",")]
    return {BETA_HEADER: ",".join([*filter(None, names), FAST_MODE_BETA])}
