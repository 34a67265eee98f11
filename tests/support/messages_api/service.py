"""Messages API without HTTP: answers requests from a script and records them.

`POST /v1/messages`, `POST /v1/messages/count_tokens`, `GET /v1/models` and `GET /v1/models/ID`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.messages_api.cache import PromptCache
from tests.support.messages_api.content_blocks import Composer, Identifiers
from tests.support.messages_api.endpoint import Endpoint
from tests.support.messages_api.failures import JSON, Failure, Vanish, failure_of, too_large
from tests.support.messages_api.models_api import one_model, page_of_models
from tests.support.messages_api.parsed_request import (
    Ask,
    Headers,
    Object,
    read_ask,
    read_headers,
    read_json,
)
from tests.support.messages_api.prefix import Piece, pieces
from tests.support.messages_api.records import (
    HttpRequest,
    RecordedRequest,
    Sending,
    Verdict,
    without_keys,
)
from tests.support.messages_api.refusals import Refusal
from tests.support.messages_api.response_steps import Abort, Answer, Step, Wait, Write
from tests.support.messages_api.responses import Spoken, answer_of, message_of
from tests.support.messages_api.rules import check
from tests.support.messages_api.script import Player, Reply, Script
from tests.support.messages_api.shapes import CountRequest, MessagesRequest
from tests.support.messages_api.signatures import Notary
from tests.support.messages_api.thinking_history import Drop, History, transformations

UNSCRIPTED = "The script of the test says nothing about this request."
WARMED = Reply(stop_reason="max_tokens")
"""Reply to a cache warm-up, `max_tokens: 0`."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Response with the facts to record."""

    answer: Answer
    verdict: Verdict = "answered"
    message: str = ""
    spoken: Spoken | None = None
    drops: tuple[Drop, ...] = ()


@dataclass(frozen=True, slots=True)
class _Prompt:
    """Valid request with its prefix parts."""

    ask: Ask
    pieces: list[Piece]
    drops: tuple[Drop, ...]

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)


class Service:
    """Messages API of one endpoint."""

    form = "messages"
    ask_path = "/v1/messages"

    def __init__(self, script: Script, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.player = Player(script)
        self.cache = PromptCache()
        self.requests: list[RecordedRequest] = []
        self._identifiers = Identifiers()
        notary = Notary()
        self._history = History(notary)
        self._composer = Composer(notary, self._identifiers)

    def pass_time(self, seconds: float) -> None:
        """Advance the clock of the prompt cache."""
        self.cache.passed_seconds += seconds

    def respond(self, request: HttpRequest) -> tuple[Answer, Sending]:
        """Return the response to a request, and the state to update as it is sent."""
        path = unquote(urlsplit(request.target).path)
        request_id = self._identifiers.next("req")
        body: Object = {}
        try:
            if request.body is None:
                outcome = _failed(too_large(), request_id)
            else:
                headers = read_headers(request.headers, self.endpoint)
                body = read_json(request.body) if request.method == "POST" else {}
                outcome = self._handler(request, path)(body, headers, request_id)
        except Refusal as refusal:
            answer = _failure_answer(failure_of(refusal), request_id)
            outcome = _Outcome(answer, "refused", refusal.message)
        record = _record(request, path, body, outcome)
        self.requests.append(record)
        return outcome.answer, record.sending

    def _handler(
        self, request: HttpRequest, path: str
    ) -> Callable[[Object, Headers, str], _Outcome]:
        match request.method, path:
            case "POST", "/v1/messages":
                return self._create
            case "POST", "/v1/messages/count_tokens":
                return self._count
            case "GET", _ if self.endpoint.lists_models and path.startswith("/v1/models"):
                query = parse_qs(urlsplit(request.target).query)
                return lambda _body, _headers, request_id: _answered(
                    self._models(path, query), request_id
                )
            case _:
                raise Refusal("Not Found", 404, "not_found_error")

    def _models(self, path: str, query: dict[str, list[str]]) -> Object:
        name = path.removeprefix("/v1/models").removeprefix("/")
        families = self.endpoint.families
        return one_model(families, name) if name else page_of_models(families, query)

    def _count(self, body: Object, headers: Headers, request_id: str) -> _Outcome:
        prompt = self._prompt(body, CountRequest, headers)
        return _answered({"input_tokens": prompt.tokens}, request_id)

    def _create(self, body: Object, headers: Headers, request_id: str) -> _Outcome:
        prompt = self._prompt(body, MessagesRequest, headers)
        window = prompt.ask.family.window_tokens
        if prompt.tokens > window:
            raise Refusal(f"prompt is too long: {prompt.tokens} tokens > {window} maximum")
        match self._turn(prompt.ask):
            case None:
                refused = _failed(failure_of(Refusal(UNSCRIPTED)), request_id)
                return replace(refused, verdict="unscripted", message=UNSCRIPTED)
            case Reply() as said:
                return self._speak(prompt, said, request_id)
            case Failure() as failure:
                return _failed(failure, request_id)
            case Vanish(after_seconds):
                before: tuple[Step, ...] = (Wait(after_seconds), Abort())
                return _Outcome(Answer(None, (), (), before), "failed")

    def _turn(self, ask: Ask) -> Reply | Failure | Vanish | None:
        is_warming = ask.creation is not None and ask.creation.max_tokens == 0
        return WARMED if is_warming else self.player.play(ask)

    def _prompt(self, body: Object, shape: type[CountRequest], headers: Headers) -> _Prompt:
        ask = read_ask(body, shape, headers, self.endpoint)
        messages = ask.request.messages
        is_resumed = bool(messages) and self._history.is_paused(messages[-1].content)
        ask = replace(ask, is_resumed=is_resumed)
        check(ask)
        drops = self._history.check(ask)
        return _Prompt(ask, pieces(ask.request, {drop.path for drop in drops}), drops)

    def _speak(self, prompt: _Prompt, said: Reply, request_id: str) -> _Outcome:
        ask = prompt.ask
        place = self._history.place_after(ask, prompt.drops)
        content = tuple(self._composer.compose(ask, said, place))
        is_paused = said.stop_reason == "pause_turn"
        self._history.remember([each.block for each in content], is_paused=is_paused)
        usage, store = self.cache.account(ask, prompt.pieces)
        extra = transformations(ask, prompt.drops)
        message_id = self._identifiers.next("msg")
        spoken = Spoken(message_id, ask.family.id, said, content, usage, extra)
        is_streamed = ask.creation is not None and ask.creation.stream
        answer = answer_of(spoken, request_id, is_streamed=is_streamed)
        # like the API, store prefixes only when the response starts: until then a concurrent
        # request must not read them
        return _Outcome(replace(answer, when_begun=store), spoken=spoken, drops=prompt.drops)


def _answered(value: Object, request_id: str) -> _Outcome:
    headers = (("content-type", JSON), ("request-id", request_id))
    return _Outcome(Answer(200, headers, (Write(json.dumps(value).encode()),)))


def _failed(failure: Failure, request_id: str) -> _Outcome:
    return _Outcome(_failure_answer(failure, request_id), "failed", failure.message)


def _failure_answer(failure: Failure, request_id: str) -> Answer:
    headers = [("content-type", failure.content_type), ("request-id", request_id)]
    if failure.retry_after_seconds is not None:
        headers.append(("retry-after", f"{failure.retry_after_seconds:g}"))
    body = (Write(failure.body_for(request_id)),)
    return Answer(failure.status, tuple(headers), body, (Wait(failure.after_seconds),))


def _record(request: HttpRequest, path: str, body: Object, outcome: _Outcome) -> RecordedRequest:
    return RecordedRequest(
        method=request.method,
        path=path,
        headers=without_keys(request.headers),
        body=body,
        verdict=outcome.verdict,
        status=outcome.answer.status,
        message=outcome.message,
        usage=outcome.spoken.usage if outcome.spoken else None,
        answer=message_of(outcome.spoken) if outcome.spoken else None,
        dropped_thinking=outcome.drops,
    )
