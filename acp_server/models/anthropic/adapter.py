"""Model port over the Messages API: one streamed request with retries and cancellation."""

import json
from collections.abc import Mapping
from dataclasses import field, replace

import anyio
import httpx2
from anthropic import AnthropicError, APIStatusError, AsyncStream

from acp_server.models.anthropic.endpoint import AnthropicEndpoint
from acp_server.models.anthropic.failures import classify_error
from acp_server.models.anthropic.fast_mode import (
    FastMode,
    fast_mode_fields,
    fast_mode_headers,
)
from acp_server.models.anthropic.platforms import (
    SIGN_IN,
    as_server_sent_events,
    platform_errors,
)
from acp_server.models.anthropic.request import build_request_body, new_rejected_fields
from acp_server.models.anthropic.stream import (
    AnthropicStreamError,
    MalformedAnthropicEventError,
    MessageStream,
)
from acp_server.models.cache_markers import CacheMarker
from acp_server.models.call_ids import call_id_allocator, with_unique_call_ids
from acp_server.models.failures import ProviderFailure
from acp_server.models.families import ModelFamily
from acp_server.models.rejected_fields import RejectedFields
from acp_server.models.request_body import encode_body
from acp_server.models.retrier import ModelAttempt, Retrier
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.sse import forward_events
from acp_server.models.token_estimate import prompt_tokens
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import ModelEvent, ModelRequest, ModelStop, ReceiveEvent, UsageReported

REQUEST_ERRORS = (
    AnthropicError,
    httpx2.HTTPError,
    MalformedAnthropicEventError,
    AnthropicStreamError,
    ValueError,
)
"""All errors of a request: the SDK's, its transport's, and decoding errors of malformed data."""
CLOSE_SECONDS = 0.2
"""How long closing the response may take after the request has ended."""


@frozen_dataclass
class AnthropicTarget:
    """A model at an endpoint, and the request fields that the endpoint rejects for it."""

    endpoint: AnthropicEndpoint
    model_id: str
    rejected: RejectedFields = field(default_factory=new_rejected_fields)
    fast_mode: FastMode = field(default_factory=FastMode)


class AnthropicModel:
    """Adapter of one model at an endpoint of the Messages API."""

    def __init__(
        self,
        target: AnthropicTarget,
        family: ModelFamily,
        cache_marker: CacheMarker,
        retry: RetryPolicy,
    ) -> None:
        self._endpoint = target.endpoint
        self._model_id = target.model_id
        self._family = family
        self._cache_marker = cache_marker
        self._retry = retry
        self._rejected = target.rejected
        self._fast_mode = target.fast_mode

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Stream one message; see `turn.ports.Model`.

        Raises:
            ModelFailedError: The endpoint rejected the request, or all retries failed.
            ModelInterruptedError: The stream broke after content had been received.
        """
        request = replace(request, messages=with_unique_call_ids(request.messages))
        retrier = Retrier(self._endpoint.name, self._retry, self._rejected)

        async def attempt() -> ModelAttempt:
            is_fast = self._fast_mode.is_asked(request, self._family)
            message, failure = await self._send(request, receive, is_fast=is_fast)
            if is_fast and not self._fast_mode.is_asked(request, self._family):
                message, failure = await self._send(request, receive, is_fast=False)
            # Some endpoints report no prompt tokens: estimate them, or the editor would show an
            # empty context window.
            if message.stop is not None and not message.usage.prompt_tokens:
                tokens = prompt_tokens(request, self._family)
                await receive(UsageReported(replace(message.usage, input_tokens=tokens)))
            return ModelAttempt(message, failure)

        return await retrier.run(attempt, receive)

    async def _send(
        self, request: ModelRequest, receive: ReceiveEvent, *, is_fast: bool
    ) -> tuple[MessageStream, ProviderFailure | None]:
        """Send the request once; report if that cannot be in fast mode, although it is on."""
        stopped = self._fast_mode.stopped
        if request.is_fast and self._family.fast is not None and stopped is not None:
            await receive(stopped)
        message = MessageStream(call_id_allocator(request).allocate, is_fast=is_fast)
        return message, await self._send_once(request, message, receive, is_fast=is_fast)

    async def _send_once(
        self,
        request: ModelRequest,
        message: MessageStream,
        receive: ReceiveEvent,
        *,
        is_fast: bool,
    ) -> ProviderFailure | None:
        """Send the request once; return the failure, if any."""
        stream = await self._open_stream(request, is_fast=is_fast)
        if isinstance(stream, ProviderFailure):
            return stream

        def translate(data: bytes) -> tuple[ModelEvent, ...]:
            event = message.translate(data.decode())
            return () if event is None else (event,)

        chunks = aiter(stream.response.aiter_bytes())
        if self._endpoint.platform == "bedrock":
            chunks = as_server_sent_events(chunks)
        try:
            error = await forward_events(chunks, message, translate, receive, REQUEST_ERRORS)
        finally:
            # Shielded: on cancellation the response must still be closed, or the connection leaks
            # and the endpoint keeps generating. Bounded, so that cancelling stays fast.
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await stream.close()
        if error is not None:
            failure = classify_error(error, self._endpoint.name)
            if is_fast and not message.has_content:
                self._fast_mode.stop_after(failure, {})
            return failure
        sent = stream.response.headers.get("content-type", "nothing")
        if message.has_started or "event-stream" in sent:
            return None
        reason = (
            f"{self._endpoint.name} sent {sent.partition(';')[0]} instead of an event stream; "
            "check that the base URL is that of a Messages API that streams"
        )
        return ProviderFailure(reason, "request")

    async def _open_stream(
        self, request: ModelRequest, *, is_fast: bool
    ) -> "AsyncStream[object] | ProviderFailure":
        """Send the request; return its response, or the failure."""
        client, name = self._endpoint.client, self._endpoint.name
        headers: dict[str, str] = {}
        try:
            built = build_request_body(request, self._family, self._rejected, self._cache_marker)
            body = {"model": self._model_id, **built, "stream": True}
            if is_fast:
                body |= fast_mode_fields()
                headers = fast_mode_headers(self._family, client.default_headers)
            # Encoded here, because the SDK would deep-copy a dictionary; only the clients of cloud
            # providers need one: they send the model in the address.
            is_plain = not self._endpoint.platform
            return await client.post(
                "/v1/messages",
                content=encode_body(body) if is_plain else None,
                body=None if is_plain else json.loads(encode_body(body)),
                options={"headers": headers},
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except REQUEST_ERRORS as error:
            failure = classify_error(error, name)
            if is_fast:
                self._fast_mode.stop_after(failure, _headers_of(error))
            return failure
        except platform_errors(self._endpoint.platform) as error:
            reason = f"{name} cannot be used without credentials ({error}); "
            return ProviderFailure(reason + SIGN_IN[self._endpoint.platform], "authentication")


def _headers_of(error: Exception) -> Mapping[str, str]:
    return error.response.headers if isinstance(error, APIStatusError) else {}
