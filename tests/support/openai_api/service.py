"""OpenAI service without HTTP: answers requests from a script and records them."""

import json
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue

from acp_server.text.json_values import as_list
from tests.support.messages_api.cache import ApiUsage, InputUsage
from tests.support.messages_api.failures import JSON, DroppedConnection, HttpFailure
from tests.support.messages_api.records import (
    HttpRequest,
    RecordedRequest,
    RequestVerdict,
    SendState,
    redact_keys,
)
from tests.support.messages_api.response_steps import (
    Abort,
    ResponsePlan,
    ResponseStep,
    Wait,
    WaitForGate,
    Write,
)
from tests.support.messages_api.script import ScriptedReply, ScriptedTurn, reply
from tests.support.messages_api.server import (
    FakeApiServer,
    FakeApiServerInThread,
    serve_api,
    serve_api_in_thread,
)
from tests.support.openai_api.chat_responses import ChatResponseBuilder, ReportedUsage, sse_data
from tests.support.openai_api.chat_rules import ChatRequest, ChatRules, UserChatMessage
from tests.support.openai_api.endpoint import OpenAiServerConfig
from tests.support.openai_api.refusals import Object, OpenAiRefusal
from tests.support.openai_api.responses_responses import ResponsesResponseBuilder
from tests.support.openai_api.responses_rules import (
    FunctionCallOutput,
    ResponsesRequest,
    ResponsesRules,
)
from tests.support.token_count import SharedPrefixes, count_tokens

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
UNSCRIPTED_MESSAGE = "The script of the test says nothing about this request."
EVENT_STREAM = "text/event-stream; charset=utf-8"
DEFAULT_ENDPOINT = OpenAiServerConfig()


@dataclass(frozen=True, slots=True)
class OpenAiRequest:
    """Request to a model, as a script's function receives it."""

    body: Object
    last_text: str
    """Text of the last message or function call output."""


Responder = Callable[[OpenAiRequest], ScriptedTurn]
Script = Sequence[ScriptedTurn | Responder] | Responder


class OpenAiScriptPlayer:
    """Plays a script turn by turn; a single function answers every request."""

    def __init__(self, script: Script) -> None:
        self._responder = script if callable(script) else None
        self._turns: list[ScriptedTurn | Callable[..., ScriptedTurn]] = []
        if not callable(script):
            self._turns += script

    @property
    def remaining_turns(self) -> int:
        """Number of turns that no request has played yet."""
        return len(self._turns)

    def add(self, *turns: ScriptedTurn | Callable[..., ScriptedTurn]) -> None:
        """Append turns to the script."""
        self._turns += turns

    def play(
        self, request: OpenAiRequest
    ) -> ScriptedReply | HttpFailure | DroppedConnection | None:
        """Return the next turn, or None at the end of the script."""
        turn = self._turns.pop(0) if self._turns else self._responder
        outcome = turn(request) if callable(turn) else turn
        return reply(outcome) if isinstance(outcome, str) else outcome


@dataclass(frozen=True, slots=True)
class StreamedError:
    """Fault that replaces an event and all later ones with an error."""

    at_event: int
    code: JsonValue = "server_error"
    message: str = "The server had an error"

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        """Return the steps with the error, in the shape that both API forms share."""
        indexes = [i for i, step in enumerate(steps) if isinstance(step, Write) and step.is_event]
        error: JsonValue = {"message": self.message, "code": self.code}
        index = indexes[self.at_event] if self.at_event < len(indexes) else len(steps)
        return [*steps[:index], sse_data({"type": "error", "error": error})]


class OpenAiService:
    """Chat completions or Responses service of one endpoint."""

    def __init__(self, script: Script, endpoint: OpenAiServerConfig) -> None:
        self.endpoint = endpoint
        self.form = endpoint.form
        self.model_path = endpoint.root + PATHS[endpoint.form]
        self.player = OpenAiScriptPlayer(script)
        self.requests: list[RecordedRequest] = []
        self._usage = ReportedUsage(endpoint.context_window is not None)
        self._answered_usage: ApiUsage | None = None
        self._prefixes = SharedPrefixes()
        self._chat = ChatResponseBuilder(endpoint, ChatRules(endpoint), self._usage)
        self._responses = ResponsesResponseBuilder(endpoint, ResponsesRules(endpoint), self._usage)

    def advance_time(self, seconds: float) -> None:
        """Do nothing: this service has no prompt cache."""

    def respond(self, request: HttpRequest) -> tuple[ResponsePlan, SendState]:
        """Return the response to a request, and the state to update as it is sent."""
        path = unquote(urlsplit(request.target).path)
        body: Object = {}
        self._answered_usage = None
        verdict: RequestVerdict = "answered"
        message = ""
        try:
            if request.body is None:
                raise OpenAiRefusal("Request entity too large", 413)
            self._check_key(request)
            body = _json(request.body) if request.method == "POST" else {}
            answer, verdict, message = self._answer(request.method, path, body)
        except OpenAiRefusal as refusal:
            answer, verdict, message = _failure_answer(refusal.failure), "refused", refusal.message
        record = RecordedRequest(
            request.method,
            path,
            redact_keys(request.headers),
            body,
            verdict,
            answer.status,
            message,
            self._answered_usage,
        )
        self.requests.append(record)
        return answer, record.send_state

    def _check_key(self, request: HttpRequest) -> None:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.endpoint.keys is None and key:
            raise OpenAiRefusal("a key was sent to a server that wants none", 400)
        if self.endpoint.keys is not None and key not in self.endpoint.keys:
            message = f"Incorrect API key provided: {key[:3]}***."
            raise OpenAiRefusal(message, 401, code="invalid_api_key")

    def _answer(
        self, method: str, path: str, body: Object
    ) -> tuple[ResponsePlan, RequestVerdict, str]:
        if (method, path) == ("GET", f"{self.endpoint.root}/v1/models"):
            listed: list[JsonValue] = [
                {"id": model.id, "object": "model", "owned_by": "tests", **model.extra}
                for model in self.endpoint.models
            ]
            return _ok_answer(JSON, [Write(json.dumps({"data": listed}).encode())]), "answered", ""
        if (method, path) != ("POST", self.model_path):
            raise OpenAiRefusal(f"Invalid URL ({method} {path})", 404)
        return self._create(body)

    def _create(self, body: Object) -> tuple[ResponsePlan, RequestVerdict, str]:
        is_chat = self.form == "chat"
        rules = self._chat.rules if is_chat else self._responses.rules
        request = rules.check(body)
        self._measure(request, body)
        outcome = self.player.play(OpenAiRequest(body, _last_text(request)))
        match outcome:
            case None:
                return (
                    _failure_answer(OpenAiRefusal(UNSCRIPTED_MESSAGE).failure),
                    "unscripted",
                    UNSCRIPTED_MESSAGE,
                )
            case HttpFailure():
                return _failure_answer(outcome), "failed", outcome.message
            case DroppedConnection(after_seconds):
                before: tuple[ResponseStep, ...] = (Wait(after_seconds), Abort())
                return ResponsePlan(None, (), (), before), "failed", ""
            case ScriptedReply():
                if self._usage.is_counted:
                    cached = self._usage.cached
                    input_usage = InputUsage(self._usage.prompt - cached, cached)
                    self._answered_usage = ApiUsage(input_usage, self._usage.output(outcome))
                return self._answer_with(outcome, request), "answered", ""

    def _measure(self, request: ChatRequest | ResponsesRequest, body: Object) -> None:
        """Count a request's tokens for the usage of its answer.

        Raises:
            OpenAiRefusal: It does not fit the context window.
        """
        window = self.endpoint.context_window
        if window is None:
            return
        parts = [*as_list(body.get("tools")), body.get("instructions", "")]
        parts += as_list(body.get("messages") or body.get("input"))
        tokens = sum(map(count_tokens, parts))
        if isinstance(request, ChatRequest):
            limit = request.max_completion_tokens or request.max_tokens or 0
            asked = f"your messages resulted in {tokens} tokens"
            if limit:
                split = f"{tokens} in the messages, {limit} in the completion"
                asked = f"you requested {tokens + limit} tokens ({split})"
            message = (
                f"This model's maximum context length is {window} tokens. However, {asked}. Please "
                "reduce the length of the messages."
            )
        else:
            limit = 0
            message = (
                "Your input exceeds the context window of this model. Please adjust your input and "
                "try again."
            )
        if tokens + limit > window:
            raise OpenAiRefusal(message, code="context_length_exceeded")
        self._usage.prompt, self._usage.cached = tokens, self._prefixes.count_shared(parts)

    def _answer_with(
        self, scripted: ScriptedReply, request: ChatRequest | ResponsesRequest
    ) -> ResponsePlan:
        if not self.endpoint.streams or not request.stream:
            answers = self._chat if isinstance(request, ChatRequest) else self._responses
            return _ok_answer(
                JSON,
                [Write(json.dumps(answers.complete_response(scripted, request.model)).encode())],
            )
        if isinstance(request, ChatRequest):
            options = request.stream_options
            wants_usage = options is not None and options.include_usage
            steps = self._chat.stream_steps(scripted, request.model, wants_usage=wants_usage)
        else:
            is_encrypted = bool(request.include)
            steps = self._responses.stream_steps(scripted, request.model, is_encrypted=is_encrypted)
        for fault in scripted.faults:
            steps = fault.apply(steps)
        answer = _ok_answer(scripted.content_type or EVENT_STREAM, steps)
        before: list[ResponseStep] = (
            [Wait(scripted.head_delay_seconds)] if scripted.head_delay_seconds else []
        )
        if scripted.head_gate is not None:
            before.append(WaitForGate(scripted.head_gate))
        return replace(answer, before_head=tuple(before), is_chunked=True)


def _last_text(request: ChatRequest | ResponsesRequest) -> str:
    last = request.messages[-1] if isinstance(request, ChatRequest) else request.input[-1]
    if isinstance(last, FunctionCallOutput):
        return last.output
    content = getattr(last, "content", "")
    if isinstance(content, str):
        return content
    assert isinstance(last, UserChatMessage) or content
    return "\n".join(str(getattr(part, "text", "")) for part in content)


def _json(body: bytes) -> Object:
    try:
        value: JsonValue = json.loads(body)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise OpenAiRefusal("We could not parse the JSON body of your request.") from None
    if not isinstance(value, dict):
        raise OpenAiRefusal("We could not parse the JSON body of your request.")
    return value


def _ok_answer(content_type: str, steps: Sequence[ResponseStep]) -> ResponsePlan:
    return ResponsePlan(200, (("content-type", content_type),), tuple(steps))


def _failure_answer(failure: HttpFailure) -> ResponsePlan:
    headers = [("content-type", failure.content_type)]
    headers += failure.headers
    body = (Write(failure.body_for("req")),)
    return ResponsePlan(failure.status, tuple(headers), body, (Wait(failure.delay_seconds),))


def make_failure(status: int, message: str, code: str | None = None) -> HttpFailure:
    """Return an error response in the format of the OpenAI API."""
    return OpenAiRefusal(message, status, code=code).failure


@asynccontextmanager
async def openai_api(
    script: Script = (), endpoint: OpenAiServerConfig = DEFAULT_ENDPOINT
) -> AsyncGenerator[FakeApiServer]:
    """Serve an endpoint in this event loop until the context exits."""
    async with serve_api(OpenAiService(script, endpoint)) as api:
        yield api


@contextmanager
def openai_api_in_thread(
    script: Script = (), endpoint: OpenAiServerConfig = DEFAULT_ENDPOINT
) -> Generator[FakeApiServerInThread]:
    """Serve an endpoint in a thread until the context exits, for clients in other processes."""
    with serve_api_in_thread(OpenAiService(script, endpoint)) as api:
        yield api
