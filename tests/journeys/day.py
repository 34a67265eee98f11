"""Whole working days: a real server process, a strict endpoint, a model that reacts, a user.

    with open_day(tmp_path) as day:
        session = day.open_session(repository)
        session.prompt("Why does the test fail?", find_the_cause)
        day.kill()
        day.start()
        session.load()
        session.prompt("Now mend it.", mend)

Every prompt comes with the program that plays the model (`model_seat`). The user answers by
`day.user.policy` (`user`). When the context exits, the server must end cleanly, and each of its
requests must have been valid; `prefix_breaks` says where a session did not go on from the request
before, which costs the provider's cache. The figures of a day are logged:
`pytest -n 0 --log-cli-level info tests/journeys` shows them.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import yaml
from pydantic import JsonValue

from tests.journeys.model_seat import ModelSeat, WriteProgram
from tests.journeys.report import ReportRow, format_report, sum_usages
from tests.journeys.shown_request import ApiForm, continues, prefix_parts, read_request
from tests.journeys.user import User
from tests.sessions.merged_updates import merge_updates
from tests.support.editor import Object, is_update, json_at, prompt_params
from tests.support.messages_api import (
    KEY,
    FakeApiServerInThread,
    MessagesServerConfig,
    ParsedRequest,
    RecordedRequest,
    ScriptedTurn,
    messages_api_in_thread,
)
from tests.support.openai_api import (
    OpenAiRequest,
    OpenAiServerConfig,
    ServedModel,
    openai_api_in_thread,
)
from tests.support.server_process import ServerProcess, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.02
"""How often other things than output are looked for, while the server says nothing."""
MODELS: Mapping[ApiForm, tuple[str, str]] = {
    "messages": ("claude-opus-5-5", "claude-sonnet-5-5"),
    "chat": ("gpt-5.1", "gpt-4.1"),
    "responses": ("gpt-5.1", "gpt-4.1"),
}
"""The model that a day begins with, and another."""
API_MODES: Mapping[ApiForm, str] = {
    "messages": "anthropic_messages",
    "chat": "chat_completions",
    "responses": "codex_responses",
}
TOO_LONG = (
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the context window",
)
CLIENT: Object = {
    "protocolVersion": 1,
    "clientCapabilities": {
        "session": {"compaction": {}, "notices": {}},
        "elicitation": {"form": {}},
    },
}


@dataclass(frozen=True, slots=True)
class DayConfig:
    """What a day is played with."""

    form: ApiForm = "messages"
    window_tokens: int = 200_000
    """Longer requests are refused as the provider refuses them."""
    configured_window_tokens: int | None = None
    """The window in the server's settings, if it is not the real one. The endpoint may refuse
    requests for their length then."""
    mode: str = "ask"
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The server's settings besides the model."""
    options: tuple[str, ...] = ()
    """More options of the command line."""
    stderr: Literal["empty", "any"] = "empty"
    """What the server may write to stderr."""


@contextmanager
def open_day(home: Path, config: DayConfig | None = None) -> Generator["Day"]:
    """Start an endpoint and a server in `home`; at the end, stop them and check the day."""
    with serve_model(config := config or DayConfig()) as (seat, api):
        day = Day(home / "home", config, seat, api)
        try:
            with day.running():
                yield day
                day.stop()
            day.check()
        finally:
            logger.info("%s\n%s", config, day.report())


@contextmanager
def serve_model(config: DayConfig) -> Generator[tuple[ModelSeat, FakeApiServerInThread]]:
    """Serve the models of a day in the API form of its configuration."""
    seat, window = ModelSeat(), config.window_tokens
    asked: list[FakeApiServerInThread] = []

    def answer(body: Object) -> ScriptedTurn:
        # requests are recorded once they are answered, so the count is this request's number
        return seat.answer(len(asked[0].model_requests), read_request(config.form, body))

    def answer_messages(request: ParsedRequest) -> ScriptedTurn:
        return answer(request.request.model_dump(mode="json", exclude_none=True))

    def answer_openai(request: OpenAiRequest) -> ScriptedTurn:
        return answer(request.body)

    with ExitStack() as servers:
        if config.form == "messages":
            endpoint = MessagesServerConfig(context_window=window)
            asked.append(servers.enter_context(messages_api_in_thread(answer_messages, endpoint)))
        else:
            first, other = MODELS[config.form]
            models = (ServedModel(first, can_reason=True), ServedModel(other))
            openai = OpenAiServerConfig(config.form, models=models, context_window=window)
            asked.append(servers.enter_context(openai_api_in_thread(answer_openai, openai)))
        yield seat, asked[0]


class Day:
    """A server process and its user, from morning to evening."""

    def __init__(
        self, home: Path, config: DayConfig, seat: ModelSeat, api: FakeApiServerInThread
    ) -> None:
        self.home = home
        self.config = config
        self.seat = seat
        self.api = api
        self.user = User()
        self.rows: list[ReportRow] = []
        self.sessions: list[DaySession] = []
        self._server: ServerProcess | None = None
        self._process = ExitStack()
        self._seen = 0
        self._write_settings()

    # The server's life.

    @contextmanager
    def running(self) -> Generator[None]:
        """Run the server; whatever happens, no process is left."""
        with self._process:
            self.start()
            yield

    def start(self) -> None:
        """Start the server, after the first time again."""
        with self.action("start"):
            command = [sys.executable, "-m", "acp_server", "serve", "--mode", self.config.mode]
            command += self.config.options
            # the interpreter of the tests is `python3` in the commands of the model
            path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"}
            server = start_server(self.home, command=command, variables=path)
            self._server = self._process.enter_context(server)
            self._seen = 0
            assert "result" in self._server.call("initialize", CLIENT)

    def stop(self) -> None:
        """Stop the server as an editor does, and check that it ends cleanly."""
        with self.action("stop"):
            self.server.close_stdin()
            exit_code = self.server.wait()
            stderr = self.server.stderr() if self.config.stderr == "empty" else ""
            assert (exit_code, stderr) == (0, "")
        self._end_process()

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        with self.action("kill -9"):
            self.server.process.kill()
            self.server.process.wait()
        self._end_process()

    def _end_process(self) -> None:
        self._server = None
        self._process.close()
        for session in self.sessions:
            session.is_open = False

    @property
    def server(self) -> ServerProcess:
        """The running server."""
        assert self._server is not None, "no server runs"
        return self._server

    def _write_settings(self) -> None:
        model: JsonValue = {
            "provider": "custom",
            "default": MODELS[self.config.form][0],
            "base_url": self.api.url,
            "api_key": KEY,
            "api_mode": API_MODES[self.config.form],
            "context_length": self.config.configured_window_tokens or self.config.window_tokens,
        }
        # reviews begin by the clock; a day that wants them turns them on
        quiet: Object = {"skills": {"review_writes": "off"}}
        settings = {**quiet, "model": model, **self.config.settings}
        folder = self.home / "acp"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    # What the user does.

    def open_session(self, workspace: Path, name: str = "session") -> "DaySession":
        """Open a session; its name tells it from others in the report."""
        result = self.request("session/new", {"cwd": str(workspace), "mcpServers": []})
        session = DaySession(self, workspace, name, str(json_at(result, "sessionId")))
        self.sessions.append(session)
        return session

    def request(self, method: str, params: JsonValue) -> JsonValue:
        """Send a request and return its result, answering the server's questions meanwhile."""
        return self.finish(self.server.start_request(method, params), method)

    def finish(self, number: int, name: str) -> JsonValue:
        """Wait for the response to a request and return its result."""
        found: list[Object] = []
        seen = 0

        def is_answered() -> bool:
            nonlocal seen
            new = self.server.messages[seen:]
            seen += len(new)
            found.extend(each for each in new if "method" not in each and each["id"] == number)
            return bool(found)

        self.attend(is_answered)
        assert "result" in found[0], f"{name} failed: {found[0]}"
        return found[0]["result"]

    def attend(self, is_done: Callable[[], bool]) -> None:
        """Receive messages and answer questions until something is so."""
        deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
        while not is_done():
            if self.seat.failure is not None:
                raise self.seat.failure
            assert time.monotonic() < deadline, "waited in vain"
            if not self.server.has_output(POLL_SECONDS):
                continue
            message = self.server.receive()
            if "method" in message and "id" in message:
                answer = self.user.respond(message)
                if answer is not None:
                    self.server.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
            deadline = time.monotonic() + HANG_TIMEOUT_SECONDS

    @contextmanager
    def action(self, name: str) -> Generator[None]:
        """Count what happens in this context as one row of the report."""
        requests, questions = len(self.api.model_requests), len(self.user.questions)
        started_at = time.monotonic()
        try:
            yield
        finally:
            made = self.api.model_requests[requests:]
            usages = [each.usage for each in made if each.usage is not None]
            self.rows.append(
                ReportRow(
                    name,
                    len(made),
                    sum_usages([usage.input for usage in usages]),
                    sum(usage.output for usage in usages),
                    len(self.user.questions) - questions,
                    time.monotonic() - started_at,
                )
            )

    # What came of it.

    def report(self) -> str:
        """Return the figures of the day as a table."""
        return format_report(self.rows)

    def check(self) -> None:
        """Check that no program was at a loss, and that the endpoint accepted every request."""
        if self.seat.failure is not None:
            raise self.seat.failure
        may_be_too_long = self.config.configured_window_tokens is not None
        for number, request in enumerate(self.api.model_requests):
            is_too_long = any(words in request.message for words in TOO_LONG)
            is_valid = request.verdict == "answered" or (may_be_too_long and is_too_long)
            assert is_valid, f"request {number}: {request.message}"

    def requests_of(self, session: str) -> list[tuple[int, RecordedRequest]]:
        """Return the requests of a session, with their numbers."""
        requests = self.api.model_requests
        return [
            (n, requests[n]) for n, name in sorted(self.seat.sessions.items()) if name == session
        ]


@dataclass(slots=True)
class DaySession:
    """A session as its user sees it."""

    day: Day
    workspace: Path
    name: str
    id: str
    is_open: bool = True

    def prompt(self, text: str, program: WriteProgram) -> str:
        """Send a prompt, play the model, and return the text that the turn ends with."""
        with self.day.action(f"{self.name}: {text}"):
            before = len(self.updates)
            result = self.day.finish(self.start_prompt(text, program), text)
            assert json_at(result, "stopReason") == "end_turn", result
        return _last_message(self.updates[before:])

    def start_prompt(self, text: str, program: WriteProgram) -> int:
        """Send a prompt without waiting; `day.finish` waits for it."""
        assert self.is_open, "load the session first"
        self.day.seat.play(text, program, self.name)
        return self.day.server.start_request("session/prompt", prompt_params(self.id, text))

    def prompt_until(self, is_so: Callable[[], bool], text: str, program: WriteProgram) -> None:
        """Send a prompt and wait until something is so while its turn runs."""
        with self.day.action(f"{self.name}: {text}"):
            self.start_prompt(text, program)
            self.day.attend(is_so)

    def command(self, text: str) -> str:
        """Send a slash command, which asks no model, and return what it says."""
        before = len(self.updates)
        self.day.request("session/prompt", prompt_params(self.id, text))
        return _last_message(self.updates[before:])

    def load(self) -> list[Object]:
        """Load the session in a restarted server, and return what is shown of it."""
        with self.day.action(f"{self.name}: load"):
            before = len(self.updates)
            params: Object = {"sessionId": self.id, "cwd": str(self.workspace), "mcpServers": []}
            self.day.request("session/load", params)
            self.is_open = True
        return merge_updates(self.updates[before:])

    def set_mode(self, mode: str) -> None:
        """Choose a permission mode."""
        self.day.request("session/set_mode", {"sessionId": self.id, "modeId": mode})

    def set_model(self, model: str) -> None:
        """Choose another model."""
        option: Object = {"sessionId": self.id, "configId": "model", "value": model}
        self.day.request("session/set_config_option", option)

    @property
    def updates(self) -> list[JsonValue]:
        """The updates of this session that the running server sent."""
        return [
            json_at(each, "params", "update")
            for each in self.day.server.messages
            if is_update(each) and json_at(each, "params", "sessionId") == self.id
        ]

    @property
    def transcript(self) -> list[Object]:
        """What the running server showed of this session."""
        return merge_updates(self.updates)

    @property
    def prefix_breaks(self) -> list[int]:
        """Which requests of this session, counted from 0, did not begin with the one before."""
        form, before = self.day.config.form, list[str]()
        breaks: list[int] = []
        for index, (number, request) in enumerate(self.day.requests_of(self.name)):
            parts = prefix_parts(form, request.body)
            if not continues(before, parts):
                breaks.append(index)
            # the question for a summary is never sent again, what stands before it may be
            before = before if number in self.day.seat.summaries else parts
        return breaks


def _last_message(updates: list[JsonValue]) -> str:
    messages = [each for each in merge_updates(updates) if each["is"] == "agent_message_chunk"]
    return str(messages[-1]["text"]) if messages else ""
