"""OpenAI service without HTTP: answers requests from a script and records them."""

import json
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue

from tests.support.messages_api.failures import JSON, Failure, Vanish
from tests.support.messages_api.records import (
    HttpRequest,
    RecordedRequest,
    Sending,
    Verdict,
    without_keys,
)
from tests.support.messages_api.response_steps import Abort, Answer, Hold, Step, Wait, Write
from tests.support.messages_api.script import Reply, Turn, reply
from tests.support.messages_api.server import (
    MessagesApi,
    MessagesApiInThread,
    serving,
    serving_in_thread,
)
from tests.support.openai_api.chat_responses import ChatAnswers, data
from tests.support.openai_api.chat_rules import ChatRequest, ChatRules, User
from tests.support.openai_api.endpoint import Endpoint
from tests.support.openai_api.refusals import Object, Refusal
from tests.support.openai_api.responses_responses import ResponsesAnswers
from tests.support.openai_api.responses_rules import (
    FunctionCallOutput,
    ResponsesRequest,
    ResponsesRules,
)

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
UNSCRIPTED = "The script of the test says nothing about this request."
EVENT_STREAM = "text/event-stream; charset=utf-8"
DEFAULT = Endpoint()


@dataclass(frozen=True, slots=True)
class OpenAiAsk:
    """Request to a model, as a script's function receives it."""

    body: Object
    said_last: str
    """Text of the last message or function call output."""


Responder = Callable[[OpenAiAsk], Turn]
Script = Sequence[Turn | Responder] | Responder


class Player:
    """Plays a script turn by turn; a single function answers every request."""

    def __init__(self, script: Script) -> None:
        self._one = script if callable(script) else None
        self._turns: list[Turn | Callable[..., Turn]] = []
        if not callable(script):
            self._turns += script

    @property
    def unplayed(self) -> int:
        """Number of turns that no request has played yet."""
        return len(self._turns)

    def add(self, *turns: Turn | Callable[..., Turn]) -> None:
        """Append turns to the script."""
        self._turns += turns

    def play(self, ask: OpenAiAsk) -> Reply | Failure | Vanish | None:
        """Return the next turn, or None at the end of the script."""
        turn = self._turns.pop(0) if self._turns else self._one
        said = turn(ask) if callable(turn) else turn
        return reply(said) if isinstance(said, str) else said


@dataclass(frozen=True, slots=True)
class StreamedError:
    """Fault that replaces an event and all later ones with an error."""

    at_event: int
    code: JsonValue = "server_error"
    message: str = "The server had an error"

    def apply(self, steps: Sequence[Step]) -> list[Step]:
        """Return the steps with the error, in the shape that both API forms share."""
        places = [i for i, step in enumerate(steps) if isinstance(step, Write) and step.is_event]
        error: JsonValue = {"message": self.message, "code": self.code}
        index = places[self.at_event] if self.at_event < len(places) else len(steps)
        return [*steps[:index], data({"type": "error", "error": error})]


class OpenAiService:
    """Chat completions or Responses service of one endpoint."""

    def __init__(self, script: Script, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.form = endpoint.form
        self.ask_path = endpoint.root + PATHS[endpoint.form]
        self.player = Player(script)
        self.requests: list[RecordedRequest] = []
        self._chat = ChatAnswers(endpoint, ChatRules(endpoint))
        self._responses = ResponsesAnswers(endpoint, ResponsesRules(endpoint))

    def pass_time(self, seconds: float) -> None:
        """Do nothing: this service has no prompt cache."""

    def respond(self, request: HttpRequest) -> tuple[Answer, Sending]:
        """Return the response to a request, and the state to update as it is sent."""
        path = unquote(urlsplit(request.target).path)
        body: Object = {}
        verdict: Verdict = "answered"
        message = ""
        try:
            if request.body is None:
                raise Refusal("Request entity too large", 413)
            self._check_key(request)
            body = _json(request.body) if request.method == "POST" else {}
            answer, verdict, message = self._answer(request.method, path, body)
        except Refusal as refusal:
            answer, verdict, message = _failed(refusal.failure), "refused", refusal.message
        record = RecordedRequest(
            request.method,
            path,
            without_keys(request.headers),
            body,
            verdict,
            answer.status,
            message,
        )
        self.requests.append(record)
        return answer, record.sending

    def _check_key(self, request: HttpRequest) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.endpoint.keys is None and given:
            raise Refusal("a key was sent to a server that wants none", 400)
        if self.endpoint.keys is not None and given not in self.endpoint.keys:
            told = f"Incorrect API key provided: {given[:3]}***."
            raise Refusal(told, 401, code="invalid_api_key")

    def _answer(self, method: str, path: str, body: Object) -> tuple[Answer, Verdict, str]:
        if (method, path) == ("GET", f"{self.endpoint.root}/v1/models"):
            listed: list[JsonValue] = [
                {"id": model.id, "object": "model", "owned_by": "tests", **model.extra}
                for model in self.endpoint.models
            ]
            return _sent(JSON, [Write(json.dumps({"data": listed}).encode())]), "answered", ""
        if (method, path) != ("POST", self.ask_path):
            raise Refusal(f"Invalid URL ({method} {path})", 404)
        return self._created(body)

    def _created(self, body: Object) -> tuple[Answer, Verdict, str]:
        is_chat = self.form == "chat"
        rules = self._chat.rules if is_chat else self._responses.rules
        request = rules.check(body)
        said = self.player.play(OpenAiAsk(body, _said_last(request)))
        match said:
            case None:
                return _failed(Refusal(UNSCRIPTED).failure), "unscripted", UNSCRIPTED
            case Failure():
                return _failed(said), "failed", said.message
            case Vanish(after_seconds):
                before: tuple[Step, ...] = (Wait(after_seconds), Abort())
                return Answer(None, (), (), before), "failed", ""
            case Reply():
                return self._spoken(said, request), "answered", ""

    def _spoken(self, said: Reply, request: ChatRequest | ResponsesRequest) -> Answer:
        if not self.endpoint.streams or not request.stream:
            answers = self._chat if isinstance(request, ChatRequest) else self._responses
            return _sent(JSON, [Write(json.dumps(answers.whole(said, request.model)).encode())])
        if isinstance(request, ChatRequest):
            options = request.stream_options
            wants_usage = options is not None and options.include_usage
            steps = self._chat.steps(said, request.model, wants_usage=wants_usage)
        else:
            is_sealed = bool(request.include)
            steps = self._responses.steps(said, request.model, is_sealed=is_sealed)
        for fault in said.faults:
            steps = fault.apply(steps)
        answer = _sent(said.content_type or EVENT_STREAM, steps)
        before: list[Step] = [Wait(said.head_delay_seconds)] if said.head_delay_seconds else []
        if said.head_gate is not None:
            before.append(Hold(said.head_gate))
        return replace(answer, before=tuple(before), is_chunked=True)


def _said_last(request: ChatRequest | ResponsesRequest) -> str:
    last = request.messages[-1] if isinstance(request, ChatRequest) else request.input[-1]
    if isinstance(last, FunctionCallOutput):
        return last.output
    content = getattr(last, "content", "")
    if isinstance(content, str):
        return content
    assert isinstance(last, User) or content
    return "\n".join(str(getattr(part, "text", "")) for part in content)


def _json(body: bytes) -> Object:
    try:
        value: JsonValue = json.loads(body)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Refusal("We could not parse the JSON body of your request.") from None
    if not isinstance(value, dict):
        raise Refusal("We could not parse the JSON body of your request.")
    return value


def _sent(content_type: str, steps: Sequence[Step]) -> Answer:
    return Answer(200, (("content-type", content_type),), tuple(steps))


def _failed(failure: Failure) -> Answer:
    headers = [("content-type", failure.content_type)]
    if failure.retry_after_seconds is not None:
        headers.append(("retry-after", f"{failure.retry_after_seconds:g}"))
    body = (Write(failure.body_for("req")),)
    return Answer(failure.status, tuple(headers), body, (Wait(failure.after_seconds),))


def failure(status: int, message: str, code: str | None = None) -> Failure:
    """Return an error response in the format of the OpenAI API."""
    return Refusal(message, status, code=code).failure


@asynccontextmanager
async def openai_api(
    script: Script = (), endpoint: Endpoint = DEFAULT
) -> AsyncGenerator[MessagesApi]:
    """Serve an endpoint in this event loop until the context exits."""
    async with serving(OpenAiService(script, endpoint)) as api:
        yield api


@contextmanager
def openai_api_in_thread(
    script: Script = (), endpoint: Endpoint = DEFAULT
) -> Generator[MessagesApiInThread]:
    """Serve an endpoint in a thread until the context exits, for clients in other processes."""
    with serving_in_thread(OpenAiService(script, endpoint)) as api:
        yield api
