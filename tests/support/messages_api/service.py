"""Messages API without HTTP: answers requests from a script and records them.

`POST /v1/messages`, `POST /v1/messages/count_tokens`, `GET /v1/models` and `GET /v1/models/ID`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.messages_api.cache import PromptCache
from tests.support.messages_api.content_blocks import ContentBlockBuilder, IdSequence
from tests.support.messages_api.endpoint import MessagesServerConfig
from tests.support.messages_api.failures import (
    JSON,
    DroppedConnection,
    HttpFailure,
    to_failure,
    too_large,
)
from tests.support.messages_api.models_api import get_model, list_models
from tests.support.messages_api.parsed_request import (
    Object,
    ParsedHeaders,
    ParsedRequest,
    parse_headers,
    parse_json,
    parse_request,
)
from tests.support.messages_api.prefix import PrefixPart, prefix_parts
from tests.support.messages_api.records import (
    HttpRequest,
    RecordedRequest,
    RequestVerdict,
    SendState,
    redact_keys,
)
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.response_steps import Abort, ResponsePlan, ResponseStep, Wait, Write
from tests.support.messages_api.responses import AssistantResponse, build_answer, build_message
from tests.support.messages_api.rules import check_request
from tests.support.messages_api.script import Script, ScriptedReply, ScriptPlayer
from tests.support.messages_api.shapes import CountRequest, MessagesRequest
from tests.support.messages_api.signatures import ThinkingSigner
from tests.support.messages_api.thinking_history import (
    DroppedThinking,
    ThinkingHistory,
    input_transformations,
)
from tests.support.token_count import count_tokens

UNSCRIPTED_MESSAGE = "The script of the test says nothing about this request."
WARM_UP_REPLY = ScriptedReply(stop_reason="max_tokens")
"""Reply to a cache warm-up, `max_tokens: 0`."""


@dataclass(frozen=True, slots=True)
class _RequestOutcome:
    """Response with the facts to record."""

    answer: ResponsePlan
    verdict: RequestVerdict = "answered"
    message: str = ""
    spoken: AssistantResponse | None = None
    drops: tuple[DroppedThinking, ...] = ()


@dataclass(frozen=True, slots=True)
class _AcceptedPrompt:
    """Valid request with its prefix parts."""

    request: ParsedRequest
    pieces: list[PrefixPart]
    drops: tuple[DroppedThinking, ...]

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)


class MessagesService:
    """Messages API of one endpoint."""

    form = "messages"
    model_path = "/v1/messages"

    def __init__(self, script: Script, endpoint: MessagesServerConfig) -> None:
        self.endpoint = endpoint
        self.player = ScriptPlayer(script)
        self.cache = PromptCache()
        self.requests: list[RecordedRequest] = []
        self._identifiers = IdSequence()
        signer = ThinkingSigner()
        self._history = ThinkingHistory(signer)
        self._composer = ContentBlockBuilder(signer, self._identifiers)

    def advance_time(self, seconds: float) -> None:
        """Advance the clock of the prompt cache."""
        self.cache.advanced_seconds += seconds

    def respond(self, request: HttpRequest) -> tuple[ResponsePlan, SendState]:
        """Return the response to a request, and the state to update as it is sent."""
        path = unquote(urlsplit(request.target).path)
        request_id = self._identifiers.next("req")
        body: Object = {}
        try:
            if request.body is None:
                outcome = _failure_outcome(too_large(), request_id)
            else:
                headers = parse_headers(request.headers, self.endpoint)
                body = parse_json(request.body) if request.method == "POST" else {}
                outcome = self._handler(request, path)(body, headers, request_id)
        except MessagesApiRefusal as refusal:
            answer = _failure_answer(to_failure(refusal), request_id)
            outcome = _RequestOutcome(answer, "refused", refusal.message)
        record = _make_record(request, path, body, outcome)
        self.requests.append(record)
        return outcome.answer, record.send_state

    def _handler(
        self, request: HttpRequest, path: str
    ) -> Callable[[Object, ParsedHeaders, str], _RequestOutcome]:
        match request.method, path:
            case "POST", "/v1/messages":
                return self._create
            case "POST", "/v1/messages/count_tokens":
                return self._count
            case "GET", _ if self.endpoint.lists_models and path.startswith("/v1/models"):
                query = parse_qs(urlsplit(request.target).query)
                return lambda _body, _headers, request_id: _ok_outcome(
                    self._models(path, query), request_id
                )
            case _:
                raise MessagesApiRefusal("Not Found", 404, "not_found_error")

    def _models(self, path: str, query: dict[str, list[str]]) -> Object:
        name = path.removeprefix("/v1/models").removeprefix("/")
        families = self.endpoint.served_specs
        if name:
            return get_model(families, name)
        return list_models(families, query, has_capabilities=self.endpoint.lists_capabilities)

    def _count(self, body: Object, headers: ParsedHeaders, request_id: str) -> _RequestOutcome:
        prompt = self._prompt(body, CountRequest, headers)
        return _ok_outcome({"input_tokens": prompt.tokens}, request_id)

    def _create(self, body: Object, headers: ParsedHeaders, request_id: str) -> _RequestOutcome:
        prompt = self._prompt(body, MessagesRequest, headers)
        window = prompt.request.model_spec.window_tokens
        if prompt.tokens > window:
            raise MessagesApiRefusal(
                f"prompt is too long: {prompt.tokens} tokens > {window} maximum"
            )
        request = prompt.request.messages_request
        answer_tokens = request.max_tokens if request is not None else 0
        is_limited = self.endpoint.context_window is not None
        if is_limited and prompt.tokens + answer_tokens > window:
            raise MessagesApiRefusal(
                f"input length and `max_tokens` exceed context limit: {prompt.tokens} + "
                f"{answer_tokens} > {window}, decrease input length or `max_tokens` and try again"
            )
        match self._next_turn(prompt.request):
            case None:
                refused = _failure_outcome(
                    to_failure(MessagesApiRefusal(UNSCRIPTED_MESSAGE)), request_id
                )
                return replace(refused, verdict="unscripted", message=UNSCRIPTED_MESSAGE)
            case ScriptedReply() as reply:
                return self._answer_with(prompt, reply, request_id)
            case HttpFailure() as failure:
                return _failure_outcome(failure, request_id)
            case DroppedConnection(after_seconds):
                before: tuple[ResponseStep, ...] = (Wait(after_seconds), Abort())
                return _RequestOutcome(ResponsePlan(None, (), (), before), "failed")

    def _next_turn(
        self, ask: ParsedRequest
    ) -> ScriptedReply | HttpFailure | DroppedConnection | None:
        is_warming = ask.messages_request is not None and ask.messages_request.max_tokens == 0
        return WARM_UP_REPLY if is_warming else self.player.play(ask)

    def _prompt(
        self, body: Object, shape: type[CountRequest], headers: ParsedHeaders
    ) -> _AcceptedPrompt:
        ask = parse_request(body, shape, headers, self.endpoint)
        messages = ask.request.messages
        is_resumed = bool(messages) and self._history.is_paused(messages[-1].content)
        ask = replace(ask, is_continuation=is_resumed)
        check_request(ask)
        drops = self._history.check(ask)
        pieces = prefix_parts(ask.request, {drop.path for drop in drops})
        if self.endpoint.context_window is not None:
            pieces = [replace(each, tokens=count_tokens(each.value)) for each in pieces]
        return _AcceptedPrompt(ask, pieces, drops)

    def _answer_with(
        self, prompt: _AcceptedPrompt, reply: ScriptedReply, request_id: str
    ) -> _RequestOutcome:
        ask = prompt.request
        position = self._history.position_after(ask, prompt.drops)
        content = tuple(self._composer.compose(ask, reply, position))
        if self.endpoint.context_window is not None:
            content = tuple(replace(each, tokens=count_tokens(each.complete)) for each in content)
        is_paused = reply.stop_reason == "pause_turn"
        self._history.remember([each.block for each in content], is_paused=is_paused)
        usage, store = self.cache.account(ask, prompt.pieces)
        extra = input_transformations(ask, prompt.drops)
        message_id = self._identifiers.next("msg")
        spoken = AssistantResponse(
            message_id, ask.model_spec.id, reply, content, usage, extra, ask.request.speed
        )
        is_streamed = ask.messages_request is not None and ask.messages_request.stream
        answer = build_answer(spoken, request_id, is_streamed=is_streamed)
        # like the API, store prefixes only when the response starts: until then a concurrent
        # request must not read them
        return _RequestOutcome(replace(answer, on_start=store), spoken=spoken, drops=prompt.drops)


def _ok_outcome(value: Object, request_id: str) -> _RequestOutcome:
    headers = (("content-type", JSON), ("request-id", request_id))
    return _RequestOutcome(ResponsePlan(200, headers, (Write(json.dumps(value).encode()),)))


def _failure_outcome(failure: HttpFailure, request_id: str) -> _RequestOutcome:
    return _RequestOutcome(_failure_answer(failure, request_id), "failed", failure.message)


def _failure_answer(failure: HttpFailure, request_id: str) -> ResponsePlan:
    headers = [("content-type", failure.content_type), ("request-id", request_id)]
    headers += failure.headers
    body = (Write(failure.body_for(request_id)),)
    return ResponsePlan(failure.status, tuple(headers), body, (Wait(failure.delay_seconds),))


def _make_record(
    request: HttpRequest, path: str, body: Object, outcome: _RequestOutcome
) -> RecordedRequest:
    return RecordedRequest(
        method=request.method,
        path=path,
        headers=redact_keys(request.headers),
        body=body,
        verdict=outcome.verdict,
        status=outcome.answer.status,
        message=outcome.message,
        usage=outcome.spoken.usage if outcome.spoken else None,
        answer=build_message(outcome.spoken) if outcome.spoken else None,
        dropped_thinking=outcome.drops,
    )
