"""Model port over the OpenAI API formats: one streamed request with retries and cancellation."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import httpx2
from pydantic import JsonValue

from acp_server.models.call_ids import call_id_allocator, with_unique_call_ids
from acp_server.models.failures import ProviderFailure
from acp_server.models.families import ModelFamily
from acp_server.models.openai_compatible.answer_stream import AnswerStream
from acp_server.models.openai_compatible.chat_request import RequestTarget, build_chat_body
from acp_server.models.openai_compatible.chat_stream import ChatStream
from acp_server.models.openai_compatible.endpoint import OpenAiEndpoint
from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from acp_server.models.openai_compatible.failures import classify_error, classify_response
from acp_server.models.openai_compatible.responses_request import build_responses_body
from acp_server.models.openai_compatible.responses_stream import ResponsesStream
from acp_server.models.openai_compatible.wire import MalformedOpenAiEventError, OpenAiStreamError
from acp_server.models.reasoning_signature import ReasoningSignature
from acp_server.models.rejected_fields import RejectedFields
from acp_server.models.request_body import encode_body
from acp_server.models.retrier import ModelAttempt, Retrier
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.sse import forward_events
from acp_server.models.token_estimate import estimate_tokens, prompt_tokens
from acp_server.text.json_values import as_object
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelRequest, ModelStop, ReceiveEvent, UsageReported

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
EVENT_STREAM = "event-stream"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class OpenAiApi:
    """One of the two API formats: its path, request builder, stream parser and rejections."""

    path: str
    build_body: Callable[[ModelRequest, RequestTarget], dict[str, JsonValue]]
    new_answer: Callable[[ReasoningSignature, Callable[[str], str]], AnswerStream]
    rejections: Mapping[str, str]


_REJECTIONS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("rejections.toml").read_text("utf-8")
)
_CHAT_REJECTIONS = _REJECTIONS["chat"] | _REJECTIONS["media"]
_RESPONSES_REJECTIONS = _REJECTIONS["responses"] | _REJECTIONS["media"]
CHAT = OpenAiApi("chat/completions", build_chat_body, ChatStream, _CHAT_REJECTIONS)
RESPONSES = OpenAiApi("responses", build_responses_body, ResponsesStream, _RESPONSES_REJECTIONS)


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
        self.rejected = RejectedFields(self.api.rejections)


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
        request = replace(request, messages=with_unique_call_ids(request.messages))
        retrier = Retrier(self._endpoint.name, self._retry, self._target.rejected)
        signature = ReasoningSignature(
            self._target.profile.api_format, self._endpoint.name, self._target.model_id
        )

        async def attempt() -> ModelAttempt:
            answer = self._target.api.new_answer(signature, call_id_allocator(request).allocate)
            omitted = frozenset(self._target.rejected.fields)
            target = RequestTarget(
                self._target.model_id, self._family, self._target.profile, signature, omitted
            )
            body = encode_body(self._target.api.build_body(request, target))
            failure = await self._send_once(body, answer, receive)
            # Many endpoints report no usage: estimate it, or the editor would show an empty
            # context window.
            if answer.stop is not None and not answer.has_usage:
                output_tokens = estimate_tokens(
                    "x" * answer.character_count, self._family.tokenizer
                )
                input_tokens = prompt_tokens(request, self._family)
                await receive(UsageReported(Usage(input_tokens, output_tokens)))
            return ModelAttempt(answer, failure)

        return await retrier.run(attempt, receive)

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
        name, sent = self._endpoint.name, response.headers.get("content-type", "nothing")
        if response.is_success and EVENT_STREAM in sent:
            chunks = aiter(response.aiter_bytes())
            error = await forward_events(
                chunks,
                answer,
                lambda data: answer.translate(data.decode(errors="replace")),
                receive,
                REQUEST_ERRORS,
            )
            return None if error is None else classify_error(error, name)
        try:
            await response.aread()
            if not response.is_success:
                return classify_response(response, name, self._endpoint.sign_in_hint)
            if JSON not in sent:
                reason = (
                    f"{name} sent {sent.partition(';')[0]} instead of an event stream; check that "
                    "the base URL is that of an API (it often ends in /v1)"
                )
                return ProviderFailure(reason, "request")
            # A complete answer, which some gateways send instead of a stream.
            model_events = tuple(answer.translate_complete(as_object(response.json())))
        except REQUEST_ERRORS as error:
            return classify_error(error, name)
        for each in model_events:
            await receive(each)
        return None
