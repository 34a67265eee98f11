"""Attempts through the real process: a scripted model makes calls in every mode, a user says no.

with start_attempts(home, attempts, sandbox="off") as live:
    for mode in MODES:
        result = live.run(attempts[0], mode)
        assert result.is_asked or result.has_failed
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import JsonValue

from acp_server.permissions.modes import Mode
from tests.support.editor import Object, is_update, json_at, prompt_params
from tests.support.server_process import ServerProcess, command_line, start_server

MODES: tuple[Mode, ...] = ("ask", "accept_edits", "plan")
SandboxMode: TypeAlias = Literal["off", "workspace"]


@dataclass(frozen=True, slots=True)
class LiveAttempt:
    """One tool call in a workspace."""

    name: str
    root: Path
    tool: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class LiveResult:
    """How the server answered one call."""

    questions: Sequence[Object]
    """The parameters of the permission requests."""
    messages: Sequence[Object]
    """All messages since the call, questions included."""
    status: str
    """The last status of the call."""

    @property
    def is_asked(self) -> bool:
        return bool(self.questions)

    @property
    def has_failed(self) -> bool:
        return self.status == "failed"

    def shows(self, text: str) -> bool:
        """Return whether a message contains a text, apart from the questions."""
        shown = [each for each in self.messages if each.get("method") == "session/update"]
        return text in json.dumps(shown, ensure_ascii=False)


@dataclass(slots=True)
class LiveAttempts:
    """A running server whose model makes the attempts."""

    server: ServerProcess
    names: Sequence[str]
    answer: str = "reject_once"
    _sessions: dict[Path, str] = field(default_factory=dict[Path, str])
    _modes: dict[str, Mode] = field(default_factory=dict[str, Mode])

    def run(self, attempt: LiveAttempt, mode: Mode) -> LiveResult:
        """Make an attempt; each workspace has one session."""
        session_id = self._sessions.get(attempt.root) or self.server.new_session(str(attempt.root))
        self._sessions[attempt.root] = session_id
        if self._modes.get(session_id) != mode:
            params: JsonValue = {"sessionId": session_id, "modeId": mode}
            assert "result" in self.server.call("session/set_mode", params)
            self._modes[session_id] = mode
        seen = len(self.server.messages)
        prompt = prompt_params(session_id, _prompt_of(self.names.index(attempt.name)))
        request_id = self.server.start_request("session/prompt", prompt)
        questions: list[Object] = []
        while True:
            message = self.server.receive()
            if message.get("method") == "session/request_permission":
                params = message["params"]
                assert isinstance(params, dict)
                questions.append(params)
                self._reply(message)
            elif "method" not in message and message["id"] == request_id:
                break
        messages = self.server.messages[seen:]
        return LiveResult(questions, messages, _last_status(messages))

    def _reply(self, question: Object) -> None:
        outcome: JsonValue = {"outcome": {"outcome": "selected", "optionId": self.answer}}
        self.server.send({"jsonrpc": "2.0", "id": question["id"], "result": outcome})


@contextmanager
def start_attempts(
    home: Path,
    attempts: Sequence[LiveAttempt],
    sandbox: SandboxMode,
    variables: Mapping[str, str] | None = None,
    *,
    new_interpreter: bool = False,
    prefix: Sequence[str] = (),
) -> Generator[LiveAttempts]:
    """Start a server whose model makes each attempt at a prompt of its own.

    Tests of the process itself ask for a new interpreter. `prefix` is a command that runs it.
    """
    home.mkdir(parents=True, exist_ok=True)
    names = [attempt.name for attempt in attempts]
    assert len(set(names)) == len(names)
    script = "\n\n".join(_block(number, each) for number, each in enumerate(attempts))
    command = [*prefix, *command_line(home, script, ("--sandbox", sandbox))]
    with start_server(
        home, command=command, variables=variables, new_interpreter=new_interpreter
    ) as server:
        server.initialize()
        yield LiveAttempts(server, names)


def _prompt_of(number: int) -> str:
    return f"attempt {number}."


def _block(number: int, attempt: LiveAttempt) -> str:
    arguments = [f"  {name}: {json.dumps(value)}" for name, value in attempt.arguments.items()]
    head = (f"prompt: {_prompt_of(number)}", f"call: {attempt.tool}")
    return "\n".join((*head, *arguments, "step:", "say: done"))


def _last_status(messages: Sequence[Object]) -> str:
    updates = [json_at(each, "params", "update") for each in messages if is_update(each)]
    statuses = [
        str(each["status"]) for each in updates if isinstance(each, dict) and each.get("status")
    ]
    return statuses[-1] if statuses else ""
