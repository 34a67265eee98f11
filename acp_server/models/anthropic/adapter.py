"""Model port over the Messages API: one streamed request with retries and cancellation."""

from collections.abc import Sequence
from dataclasses import field, replace

import anyio
import httpx2
from anthropic import AnthropicError, AsyncStream

from acp_server.models.anthropic.endpoint import Endpoint
from acp_server.models.anthropic.failures import understand
from acp_server.models.anthropic.request import no_omissions, request_body
from acp_server.models.anthropic.stream import MessageStream, StreamedError, StreamGarbageError
from acp_server.models.cache_markers import Mark
from acp_server.models.failures import Fault
from acp_server.models.families import ModelFamily
from acp_server.models.rejected_fields import Omissions
from acp_server.models.request_body import written
from acp_server.models.retrier import Attempt, Patience
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.sse import EventReader, drain
from acp_server.models.token_estimate import estimate_request_tokens
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.ports import ModelRequest, ModelStop, Receive, UsageReported

FAILURES = (AnthropicError, httpx2.HTTPError, StreamGarbageError, StreamedError, ValueError)
"""All errors of a request: the SDK's, its transport's, and decoding errors of malformed data."""
CLOSE_SECONDS = 0.2
"""How long closing the response may take after the request has ended."""


@frozen
class Target:
    """A model at an endpoint, and the request fields that the endpoint rejects for it."""

    endpoint: Endpoint
    model_id: str
    omissions: Omissions = field(default_factory=no_omissions)


class AnthropicModel:
    """Adapter of one model at an endpoint of the Messages API."""

    def __init__(
        self,
        target: Target,
        family: ModelFamily,
        mark: Mark,
        retry: RetryPolicy,
    ) -> None:
        self._endpoint = target.endpoint
        self._model_id = target.model_id
        self._family = family
        self._mark = mark
        self._retry = retry
        self._omissions = target.omissions

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Stream one message; see `turn.ports.Model`.

        Raises:
            ModelFailedError: The endpoint rejected the request, or all retries failed.
            ModelInterruptedError: The stream broke after content had been received.
        """
        patience = Patience(self._endpoint.name, self._retry, self._omissions)

        async def attempt() -> Attempt:
            message = MessageStream()
            fault = await self._try(request, message, receive)
            # Some endpoints report no prompt tokens: estimate them, or the editor would show an
            # empty context window.
            if message.stop is not None and not message.usage.prompt_tokens:
                read = estimate_request_tokens(request)
                await receive(UsageReported(replace(message.usage, input_tokens=read)))
            return Attempt(message, fault)

        return await patience.ask(attempt, receive)

    async def _try(
        self, request: ModelRequest, message: MessageStream, receive: Receive
    ) -> Fault | None:
        """Send the request once; return the failure, if any."""
        try:
            stream = await self._create(request)
        except FAILURES as error:
            return understand(error, self._endpoint.name)
        try:
            return await self._consume(stream, message, receive)
        finally:
            # Shielded: on cancellation the response must still be closed, or the connection leaks
            # and the endpoint keeps generating. Bounded, so that cancelling stays fast.
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await stream.close()

    async def _create(self, request: ModelRequest) -> AsyncStream[object]:
        """Send the request with a pre-encoded body: the SDK would deep-copy a dictionary."""
        body = request_body(request, self._family, self._omissions, self._mark)
        return await self._endpoint.client.post(
            "/v1/messages",
            content=written({"model": self._model_id, **body, "stream": True}),
            cast_to=object,
            stream=True,
            stream_cls=AsyncStream[object],
        )

    async def _consume(
        self, stream: AsyncStream[object], message: MessageStream, receive: Receive
    ) -> Fault | None:
        chunks, reader = aiter(stream.response.aiter_bytes()), EventReader()
        while not message.is_over:
            try:
                events = reader.feed(await anext(chunks))
            except StopAsyncIteration:
                return None if message.has_begun else self._not_streamed(stream)
            except FAILURES as error:
                return understand(error, self._endpoint.name)
            fault = await self._pass_on(events, message, receive)
            if fault is not None:
                return fault
        await drain(chunks, FAILURES)
        return None

    async def _pass_on(
        self, events: Sequence[bytes], message: MessageStream, receive: Receive
    ) -> Fault | None:
        """Translate events and pass them on, up to the end of the message."""
        for event in events:
            try:
                meant = message.translate(event.decode())
            except FAILURES as error:
                return understand(error, self._endpoint.name)
            if meant is not None:
                await receive(meant)
            if message.is_over:
                break
        return None

    def _not_streamed(self, stream: AsyncStream[object]) -> Fault | None:
        """Classify a response without events; None if it was an event stream that ended at once."""
        sent = stream.response.headers.get("content-type", "nothing")
        if "event-stream" in sent:
            return None
        reason = (
            f"{self._endpoint.name} sent {sent.partition(';')[0]} instead of an event stream; "
            "check that the base URL is that of a Messages API that streams"
        )
        return Fault(reason, "request")
