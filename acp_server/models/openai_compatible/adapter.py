"""Model port over the OpenAI API formats: one streamed request with retries and cancellation."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import anyio
import httpx2
from pydantic import JsonValue

from acp_server.models.failures import ProviderFailure
from acp_server.models.families import ModelFamily, estimate_tokens
from acp_server.models.openai_compatible.chat_request import RequestTarget, build_chat_body
from acp_server.models.openai_compatible.chat_stream import ChatStream
from acp_server.models.openai_compatible.endpoint import OpenAiEndpoint
from acp_server.models.openai_compatible.endpoint_profile import (
    CHAT_REJECTIONS,
    RESPONSES_REJECTIONS,
    EndpointProfile,
)
from acp_server.models.openai_compatible.failures import classify_error, classify_response
from acp_server.models.openai_compatible.responses_request import build_responses_body
from acp_server.models.openai_compatible.responses_stream import ResponsesStream
from acp_server.models.openai_compatible.wire import (
    MalformedOpenAiEventError,
    Object,
    OpenAiStreamError,
    as_object,
)
from acp_server.models.reasoning_signature import ReasoningSignature
from acp_server.models.rejected_fields import RejectedFields
from acp_server.models.request_body import encode_body
from acp_server.models.retrier import ModelAttempt, Retrier
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.sse import SseDecoder, drain
from acp_server.models.token_estimate import estimate_request_tokens
from acp_server.turn.conversation import AssistantMessage, ToolCall
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelEvent, ModelRequest, ModelStop, ReceiveEvent, UsageReported

REQUEST_ERRORS = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    MalformedOpenAiEventError,
    OpenAiStreamError,
    ValueError,
)
"""All errors of a request: the transport's, and decoding errors of malformed data."""
CLOSE_SECONDS = 0.2
"""How long closing the response may take after the request has ended."""
TRAILING_USAGE_SECONDS = 2.0
"""How long to wait for the usage chunk, which may follow the end of an answer."""
EVENT_STREAM = "event-stream"
JSON = "application/json"

AnswerStream = ChatStream | ResponsesStream


@dataclass(frozen=True, slots=True)
class OpenAiApi:
    """One of the two API formats: its path, request builder, stream parser and rejections."""

    path: str
    build_body: Callable[[ModelRequest, RequestTarget], dict[str, JsonValue]]
    new_answer: Callable[[ReasoningSignature, Callable[[str], str]], AnswerStream]
    new_rejected_fields: Callable[[], RejectedFields]


CHAT = OpenAiApi(
    "chat/completions", build_chat_body, ChatStream, lambda: RejectedFields(CHAT_REJECTIONS)
)
RESPONSES = OpenAiApi(
    "responses", build_responses_body, ResponsesStream, lambda: RejectedFields(RESPONSES_REJECTIONS)
)


@dataclass(slots=True)
class OpenAiTarget:
    """A model at an endpoint, and the features that the endpoint rejects for it."""

    endpoint: OpenAiEndpoint
    model_id: str
    profile: EndpointProfile
    api: OpenAiApi = field(init=False)
    rejected: RejectedFields = field(init=False)

    def __post_init__(self) -> None:
        """Choose the API format; no rejections are known yet."""
        self.api = RESPONSES if self.profile.api_format == "responses" else CHAT
        self.rejected = self.api.new_rejected_fields()


class OpenAiModel:
    """Adapter of one model at an OpenAI-compatible endpoint."""

    def __init__(self, target: OpenAiTarget, family: ModelFamily, retry: RetryPolicy) -> None:
        self._target = target
        self._endpoint = target.endpoint
        self._family = family
        self._retry = retry

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Stream one answer; see `turn.ports.Model`.

        Raises:
            ModelFailedError: The endpoint rejected the request, or all retries failed.
            ModelInterruptedError: The stream broke after content had been received.
        """
        retrier = Retrier(self._endpoint.name, self._retry, self._target.rejected)
        signature = ReasoningSignature(
            self._target.profile.api_format, self._endpoint.name, self._target.model_id
        )

        async def attempt() -> ModelAttempt:
            answer = self._target.api.new_answer(signature, _CallIdAllocator(request).allocate)
            failure = await self._send_once(self._body(request, signature), answer, receive)
            # Many endpoints report no usage: estimate it, or the editor would show an empty
            # context window.
            if answer.stop is not None and not answer.has_usage:
                await receive(UsageReported(_estimate_usage(request, answer)))
            return ModelAttempt(answer, failure)

        return await retrier.run(attempt, receive)

    def _body(self, request: ModelRequest, signature: ReasoningSignature) -> bytes:
        target = self._target
        omitted = frozenset(target.rejected.fields)
        request_target = RequestTarget(
            target.model_id, self._family, target.profile, signature, omitted
        )
        body = target.api.build_body(request, request_target)
        return encode_body(body)

    async def _send_once(
        self, body: bytes, answer: AnswerStream, receive: ReceiveEvent
    ) -> ProviderFailure | None:
        """Send the request once; return the failure, if any."""
        client = self._endpoint.client
        headers = {"content-type": JSON, "accept": "text/event-stream"}
        try:
            request = client.build_request(
                "POST", self._target.api.path, content=body, headers=headers
            )
            response = await client.send(request, stream=True)
        except REQUEST_ERRORS as error:
            return classify_error(error, self._endpoint.name)
        try:
            return await self._consume(response, answer, receive)
        finally:
            # Shielded: on cancellation the response must still be closed, or the connection leaks
            # and the endpoint keeps generating. Bounded, so that cancelling stays fast.
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await response.aclose()

    async def _consume(
        self, response: httpx2.Response, answer: AnswerStream, receive: ReceiveEvent
    ) -> ProviderFailure | None:
        is_streamed = EVENT_STREAM in response.headers.get("content-type", "")
        if response.is_success and is_streamed:
            return await self._consume_stream(response, answer, receive)
        try:
            await response.aread()
            if not response.is_success:
                return classify_response(response, self._endpoint.name, self._endpoint.sign_in_hint)
            model_events = self._translate_complete(response, answer)
        except REQUEST_ERRORS as error:
            return classify_error(error, self._endpoint.name)
        for each in model_events or ():
            await receive(each)
        return self._not_streamed_failure(response) if model_events is None else None

    async def _consume_stream(
        self, response: httpx2.Response, answer: AnswerStream, receive: ReceiveEvent
    ) -> ProviderFailure | None:
        chunks, reader = aiter(response.aiter_bytes()), SseDecoder()
        while not answer.is_closed:
            try:
                # After the stop reason only usage may follow, and some endpoints keep the stream
                # open without sending it: wait for a limited time only.
                chunk = await (
                    anext(chunks) if answer.stop is None else _next_trailing_chunk(chunks)
                )
                events = reader.feed(chunk)
            except (StopAsyncIteration, TimeoutError):
                return None
            except REQUEST_ERRORS as error:
                return classify_error(error, self._endpoint.name)
            failure = await self._emit_events(events, answer, receive)
            if failure is not None:
                return failure
        await drain(chunks, REQUEST_ERRORS)
        return None

    async def _emit_events(
        self, events: Sequence[bytes], answer: AnswerStream, receive: ReceiveEvent
    ) -> ProviderFailure | None:
        """Translate events and pass them on, up to the end of the answer."""
        for event in events:
            try:
                model_events = tuple(answer.translate(event.decode(errors="replace")))
            except REQUEST_ERRORS as error:
                return classify_error(error, self._endpoint.name)
            for each in model_events:
                await receive(each)
            if answer.is_closed:
                break
        return None

    def _translate_complete(
        self, response: httpx2.Response, answer: AnswerStream
    ) -> tuple[ModelEvent, ...] | None:
        """Translate a complete answer, which some gateways send instead of a stream."""
        if JSON not in response.headers.get("content-type", ""):
            return None
        body: Object = as_object(response.json())
        return tuple(answer.translate_complete(body))

    def _not_streamed_failure(self, response: httpx2.Response) -> ProviderFailure:
        sent = response.headers.get("content-type", "nothing").partition(";")[0]
        reason = (
            f"{self._endpoint.name} sent {sent} instead of an event stream; check that the base "
            "URL is that of an API (it often ends in /v1)"
        )
        return ProviderFailure(reason, "request")


class _CallIdAllocator:
    """Allocates call ids that are unique in the conversation."""

    def __init__(self, request: ModelRequest) -> None:
        self._used_ids = set(_call_ids_in(request))

    def allocate(self, wire_id: str) -> str:
        """Return the endpoint's id, or a new one if it is empty or already used."""
        call_id = wire_id
        while not call_id or call_id in self._used_ids:
            call_id = f"call_{uuid4().hex[:24]}"
        self._used_ids.add(call_id)
        return call_id


def _call_ids_in(request: ModelRequest) -> Iterator[str]:
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            yield from (part.id for part in message.parts if isinstance(part, ToolCall))


def _estimate_usage(request: ModelRequest, answer: AnswerStream) -> Usage:
    """Estimate the usage of a request whose endpoint reports none."""
    output_tokens = estimate_tokens("x" * answer.character_count)
    return Usage(input_tokens=estimate_request_tokens(request), output_tokens=output_tokens)


async def _next_trailing_chunk(chunks: AsyncIterator[bytes]) -> bytes:
    """Return the next chunk after the end of an answer.

    Raises:
        TimeoutError: No chunk arrived within `TRAILING_USAGE_SECONDS`.
    """
    with anyio.fail_after(TRAILING_USAGE_SECONDS):
        return await anext(chunks)
