"""Asking a model until it answers: again after a wait, without a field, or never.

The same for every form: what an attempt said decides, and what went wrong with it.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from acp_server.frozen import frozen
from acp_server.models.faults import Fault
from acp_server.models.omissions import Omissions
from acp_server.models.retry import RetryPolicy
from acp_server.turn.errors import ModelFailedError, ModelInterruptedError
from acp_server.turn.ports import ModelStop, Receive, Retrying


class Answer(Protocol):
    """One answer as it arrives."""

    @property
    def stop(self) -> ModelStop | None:
        """Why it ended; None until it says so."""
        ...

    @property
    def has_content(self) -> bool:
        """Whether anything has been passed on that the user saw."""
        ...


@frozen
class Attempt:
    """What became of one call; `fault` is what went wrong, if it is known."""

    answer: Answer
    fault: Fault | None


@frozen
class Patience:
    """How an endpoint is asked."""

    endpoint: str
    """The name that messages call it by."""
    retry: RetryPolicy
    omissions: Omissions

    async def ask(self, attempt: Callable[[], Awaitable[Attempt]], receive: Receive) -> ModelStop:
        """Make attempts until one has said all; return why it stopped.

        Raises:
            ModelFailedError: the endpoint refused, or failed more often than is worth waiting for.
            ModelInterruptedError: the stream broke after something of it had been received.
        """
        number = 0
        while True:
            made = await attempt()
            if made.answer.stop is not None:  # all was said, whatever came of the connection then
                return made.answer.stop
            fault = made.fault or self._cut_short()
            if made.answer.has_content:
                broken = ModelInterruptedError if fault.is_temporary else ModelFailedError
                raise broken(fault.reason, fault.kind)
            if fault.refused is not None and self.omissions.learn(fault.refused):
                continue
            number += 1
            await self._wait(fault, number, receive)

    def _cut_short(self) -> Fault:
        reason = f"the answer of {self.endpoint} broke off"
        return Fault(reason, "connection", is_temporary=True)

    async def _wait(self, fault: Fault, attempt: int, receive: Receive) -> None:
        """Wait before the next attempt.

        Raises:
            ModelFailedError: there is none.
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
        return f"{fault.reason}; it asks to wait {after:.0f} s, try again then"
    asked = "asked once" if attempt == 1 else f"asked {attempt} times"
    return f"{fault.reason}; {asked}, try again later"
