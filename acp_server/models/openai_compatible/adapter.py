"""Model port over the OpenAI API formats: one streamed request with retries and cancellation."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import anyio
import httpx2
from pydantic import JsonValue

from acp_server.models.failures import Fault
from acp_server.models.families import ModelFamily, estimate_tokens
from acp_server.models.openai_compatible.chat_request import ChatTarget, chat_body
from acp_server.models.openai_compatible.chat_stream import ChatStream
from acp_server.models.openai_compatible.endpoint import Endpoint
from acp_server.models.openai_compatible.endpoint_profile import (
    CHAT_REFUSALS,
    RESPONSES_REFUSALS,
    Quirks,
)
from acp_server.models.openai_compatible.failures import refusal, understand
from acp_server.models.openai_compatible.responses_request import responses_body
from acp_server.models.openai_compatible.responses_stream import ResponsesStream
from acp_server.models.openai_compatible.wire import (
    Object,
    StreamedError,
    StreamGarbageError,
    object_of,
)
from acp_server.models.reasoning_signature import Seal
from acp_server.models.rejected_fields import Omissions
from acp_server.models.request_body import written
from acp_server.models.retrier import Attempt, Patience
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.sse import EventReader, drain
from acp_server.models.token_estimate import estimate_request_tokens
from acp_server.turn.conversation import AssistantMessage, ToolCall
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelEvent, ModelRequest, ModelStop, Receive, UsageReported

FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, StreamGarbageError, StreamedError, ValueError)
"""All errors of a request: the transport's, and decoding errors of malformed data."""
CLOSE_SECONDS = 0.2
"""How long closing the response may take after the request has ended."""
AFTERWORD_SECONDS = 2.0
"""How long to wait for the usage chunk, which may follow the end of an answer."""
EVENT_STREAM = "event-stream"
JSON = "application/json"

Answer = ChatStream | ResponsesStream


@dataclass(frozen=True, slots=True)
class Form:
    """One of the two API formats: its path, request builder, stream parser and rejections."""

    path: str
    body: Callable[[ModelRequest, ChatTarget], dict[str, JsonValue]]
    answer: Callable[[Seal, Callable[[str], str]], Answer]
    refusals: Callable[[], Omissions]


CHAT = Form("chat/completions", chat_body, ChatStream, lambda: Omissions(CHAT_REFUSALS))
RESPONSES = Form(
    "responses", responses_body, ResponsesStream, lambda: Omissions(RESPONSES_REFUSALS)
)


@dataclass(slots=True)
class Target:
    """A model at an endpoint, and the features that the endpoint rejects for it."""

    endpoint: Endpoint
    model_id: str
    quirks: Quirks
    form: Form = field(init=False)
    omissions: Omissions = field(init=False)

    def __post_init__(self) -> None:
        """Choose the API format; no rejections are known yet."""
        self.form = RESPONSES if self.quirks.form == "responses" else CHAT
        self.omissions = self.form.refusals()


class OpenAiModel:
    """Adapter of one model at an OpenAI-compatible endpoint."""

    def __init__(self, target: Target, family: ModelFamily, retry: RetryPolicy) -> None:
        self._target = target
        self._endpoint = target.endpoint
        self._family = family
        self._retry = retry

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Stream one answer; see `turn.ports.Model`.

        Raises:
            ModelFailedError: The endpoint rejected the request, or all retries failed.
            ModelInterruptedError: The stream broke after content had been received.
        """
        patience = Patience(self._endpoint.name, self._retry, self._target.omissions)
        seal = Seal(self._target.quirks.form, self._endpoint.name, self._target.model_id)

        async def attempt() -> Attempt:
            answer = self._target.form.answer(seal, _CallIds(request).new)
            fault = await self._try(self._body(request, seal), answer, receive)
            # Many endpoints report no usage: estimate it, or the editor would show an empty
            # context window.
            if answer.stop is not None and not answer.has_usage:
                await receive(UsageReported(_estimated_usage(request, answer)))
            return Attempt(answer, fault)

        return await patience.ask(attempt, receive)

    def _body(self, request: ModelRequest, seal: Seal) -> bytes:
        target = self._target
        omitted = frozenset(target.omissions.fields)
        whom = ChatTarget(target.model_id, self._family, target.quirks, seal, omitted)
        body = target.form.body(request, whom)
        return written(body)

    async def _try(self, body: bytes, answer: Answer, receive: Receive) -> Fault | None:
        """Send the request once; return the failure, if any."""
        client = self._endpoint.client
        headers = {"content-type": JSON, "accept": "text/event-stream"}
        try:
            request = client.build_request(
                "POST", self._target.form.path, content=body, headers=headers
            )
            response = await client.send(request, stream=True)
        except FAILURES as error:
            return understand(error, self._endpoint.name)
        try:
            return await self._consume(response, answer, receive)
        finally:
            # Shielded: on cancellation the response must still be closed, or the connection leaks
            # and the endpoint keeps generating. Bounded, so that cancelling stays fast.
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await response.aclose()

    async def _consume(
        self, response: httpx2.Response, answer: Answer, receive: Receive
    ) -> Fault | None:
        is_streamed = EVENT_STREAM in response.headers.get("content-type", "")
        if response.is_success and is_streamed:
            return await self._consume_stream(response, answer, receive)
        try:
            await response.aread()
            if not response.is_success:
                return refusal(response, self._endpoint.name, self._endpoint.sign_in_again)
            meant = self._whole(response, answer)
        except FAILURES as error:
            return understand(error, self._endpoint.name)
        for each in meant or ():
            await receive(each)
        return self._not_streamed(response) if meant is None else None

    async def _consume_stream(
        self, response: httpx2.Response, answer: Answer, receive: Receive
    ) -> Fault | None:
        chunks, reader = aiter(response.aiter_bytes()), EventReader()
        while not answer.is_over:
            try:
                # After the stop reason only usage may follow, and some endpoints keep the stream
                # open without sending it: wait for a limited time only.
                chunk = await (anext(chunks) if answer.stop is None else _soon(chunks))
                events = reader.feed(chunk)
            except (StopAsyncIteration, TimeoutError):
                return None
            except FAILURES as error:
                return understand(error, self._endpoint.name)
            fault = await self._pass_on(events, answer, receive)
            if fault is not None:
                return fault
        await drain(chunks, FAILURES)
        return None

    async def _pass_on(
        self, events: Sequence[bytes], answer: Answer, receive: Receive
    ) -> Fault | None:
        """Translate events and pass them on, up to the end of the answer."""
        for event in events:
            try:
                meant = tuple(answer.translate(event.decode(errors="replace")))
            except FAILURES as error:
                return understand(error, self._endpoint.name)
            for each in meant:
                await receive(each)
            if answer.is_over:
                break
        return None

    def _whole(self, response: httpx2.Response, answer: Answer) -> tuple[ModelEvent, ...] | None:
        """Translate a complete answer, which some gateways send instead of a stream."""
        if JSON not in response.headers.get("content-type", ""):
            return None
        body: Object = object_of(response.json())
        return tuple(answer.translate_whole(body))

    def _not_streamed(self, response: httpx2.Response) -> Fault:
        sent = response.headers.get("content-type", "nothing").partition(";")[0]
        reason = (
            f"{self._endpoint.name} sent {sent} instead of an event stream; check that the base "
            "URL is that of an API (it often ends in /v1)"
        )
        return Fault(reason, "request")


class _CallIds:
    """Allocates call ids that are unique in the conversation."""

    def __init__(self, request: ModelRequest) -> None:
        self._taken = set(_ids_in(request))

    def new(self, wire_id: str) -> str:
        """Return the endpoint's id, or a new one if it is empty or already used."""
        call_id = wire_id
        while not call_id or call_id in self._taken:
            call_id = f"call_{uuid4().hex[:24]}"
        self._taken.add(call_id)
        return call_id


def _ids_in(request: ModelRequest) -> Iterator[str]:
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            yield from (part.id for part in message.parts if isinstance(part, ToolCall))


def _estimated_usage(request: ModelRequest, answer: Answer) -> Usage:
    """Estimate the usage of a request whose endpoint reports none."""
    spoken = estimate_tokens("x" * answer.characters)
    return Usage(input_tokens=estimate_request_tokens(request), output_tokens=spoken)


async def _soon(chunks: AsyncIterator[bytes]) -> bytes:
    """Return the next chunk after the end of an answer.

    Raises:
        TimeoutError: No chunk arrived within `TRAILING_USAGE_SECONDS`.
    """
    with anyio.fail_after(AFTERWORD_SECONDS):
        return await anext(chunks)
