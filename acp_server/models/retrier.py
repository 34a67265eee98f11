"""Retry loop around one model request: retry after a wait, retry without a field, or give up.

Independent of the API format: the decision depends on the streamed answer and the failure only.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from acp_server.models.failures import Fault
from acp_server.models.rejected_fields import Omissions
from acp_server.models.retry_policy import RetryPolicy
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.errors import ModelFailedError, ModelInterruptedError
from acp_server.turn.ports import ModelStop, Receive, Retrying


class Answer(Protocol):
    """State of an answer that is being streamed."""

    @property
    def stop(self) -> ModelStop | None:
        """The stop reason; None until it has arrived."""
        ...

    @property
    def has_content(self) -> bool:
        """Whether any content was passed on; the user may have seen it."""
        ...


@frozen
class Attempt:
    """Outcome of one request; `failure` is its failure, if there was a known one."""

    answer: Answer
    fault: Fault | None


@frozen
class Patience:
    """Retries requests to one endpoint."""

    endpoint: str
    """The endpoint's name in messages."""
    retry: RetryPolicy
    omissions: Omissions

    async def ask(self, attempt: Callable[[], Awaitable[Attempt]], receive: Receive) -> ModelStop:
        """Repeat attempts until one is complete; return its stop reason.

        Raises:
            ModelFailedError: The endpoint rejected the request, or all retries failed.
            ModelInterruptedError: The stream broke after content had been received.
        """
        number = 0
        while True:
            made = await attempt()
            # With a stop reason the answer is complete: a later connection error does not matter.
            if made.answer.stop is not None:
                return made.answer.stop
            fault = made.fault or self._cut_short()
            # Content has already reached the user: a retry would show it twice.
            if made.answer.has_content:
                broken = ModelInterruptedError if fault.is_temporary else ModelFailedError
                raise broken(fault.reason, fault.kind)
            # Retry at once and without counting: the request changes each time, and `learn_from`
            # returns False when there is nothing left to omit, so this terminates.
            if fault.refused is not None and self.omissions.learn(fault.refused):
                continue
            number += 1
            await self._wait(fault, number, receive)

    def _cut_short(self) -> Fault:
        reason = f"{self.endpoint} closed the connection before its answer was complete"
        return Fault(reason, "connection", is_temporary=True)

    async def _wait(self, fault: Fault, attempt: int, receive: Receive) -> None:
        """Announce the retry and wait for it.

        Raises:
            ModelFailedError: There is no further retry.
        """
        wait = self.retry.wait_seconds(attempt, fault.retry_after_seconds)
        if not fault.is_temporary or wait is None:
            raise ModelFailedError(_last_word(fault, attempt), fault.kind)
        await receive(Retrying(fault.reason, wait, attempt, self.retry.attempts))
        await anyio.sleep(wait)


def _last_word(fault: Fault, attempt: int) -> str:
    if not fault.is_temporary:
        return fault.reason
    after = fault.retry_after_seconds
    if after is not None:
        return f"{fault.reason}; it asks you to wait {after:.0f} s, then try again"
    asked = "tried once" if attempt == 1 else f"tried {attempt} times"
    return f"{fault.reason}; {asked}, try again later"
