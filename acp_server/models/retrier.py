"""Retry loop around one model request: retry after a wait, retry without a field, or give up.

Independent of the API format: the decision depends on the streamed answer and the failure only.
"""

from collections.abc import Awaitable, Callable

import anyio

from acp_server.models.failures import ProviderFailure
from acp_server.models.rejected_fields import RejectedFields
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.sse import StreamedAnswer
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.errors import ContextOverflowError, ModelFailedError, ModelInterruptedError
from acp_server.turn.ports import ModelStop, ReceiveEvent, Retrying


@frozen_dataclass
class ModelAttempt:
    """Outcome of one request; `failure` is its failure, if there was a known one."""

    answer: StreamedAnswer
    failure: ProviderFailure | None


@frozen_dataclass
class Retrier:
    """Retries requests to one endpoint."""

    endpoint: str
    """The endpoint's name in messages."""
    retry: RetryPolicy
    rejected: RejectedFields

    async def run(
        self, attempt: Callable[[], Awaitable[ModelAttempt]], receive: ReceiveEvent
    ) -> ModelStop:
        """Repeat attempts until one is complete; return its stop reason.

        Raises:
            ModelFailedError: The endpoint rejected the request, or all retries failed.
            ModelInterruptedError: The stream broke after content had been received.
            ContextOverflowError: The request does not fit the context window.
        """
        number = 0
        while True:
            result = await attempt()
            # With a stop reason the answer is complete: a later connection error does not matter.
            if result.answer.stop is not None:
                return result.answer.stop
            failure = result.failure or ProviderFailure(
                f"{self.endpoint} closed the connection before its answer was complete",
                "connection",
                is_temporary=True,
            )
            if failure.overflow is not None:
                raise ContextOverflowError(
                    failure.reason,
                    failure.overflow.limit_tokens,
                    failure.overflow.request_tokens,
                )
            # Content has already reached the user: a retry would show it twice.
            if result.answer.has_content:
                if failure.is_temporary:
                    raise ModelInterruptedError(
                        failure.reason, failure.kind, self.retry.max_retries
                    )
                raise ModelFailedError(failure.reason, failure.kind)
            # Retry at once and without counting: the request changes each time, and `learn_from`
            # returns False when there is nothing left to omit, so this terminates.
            if failure.rejection_message is not None and self.rejected.learn_from(
                failure.rejection_message
            ):
                continue
            number += 1
            wait = self.retry.delay_seconds(number, failure.retry_after_seconds)
            if not failure.is_temporary or wait is None:
                raise ModelFailedError(
                    _final_reason(failure, number), failure.kind, failure.retry_after_seconds
                )
            await receive(Retrying(failure.reason, wait, number, self.retry.max_retries))
            await anyio.sleep(wait)


def _final_reason(failure: ProviderFailure, attempt: int) -> str:
    if not failure.is_temporary:
        return failure.reason
    wait_seconds = failure.retry_after_seconds
    if wait_seconds is not None:
        return f"{failure.reason}; it asks you to wait {wait_seconds:.0f} s, then try again"
    tries = "tried once" if attempt == 1 else f"tried {attempt} times"
    return f"{failure.reason}; {tries}, try again later"
