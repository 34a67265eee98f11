"""Minimal ACP client over pipes, so that a figure measures the agent and not the client.

It offers no file system and no terminal, allows every permission request, and parses a message only
as far as a figure needs it. Every wait has a timeout.
"""

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from pydantic import JsonValue

from tests.benchmarks.processes import kill_all, process_tree, tree_cpu_seconds, tree_memory

Message = dict[str, JsonValue]

TIMEOUT_SECONDS = 60.0
READ_BYTES = 1024 * 1024
SESSION = re.compile(rb'"sessionId":\s*"([^"]*)"')
MODEL_TEXTS = (b"Hello.", b"five words", b"Done.")
"""Texts of the benchmark's model. Agents may send text chunks of their own too."""


class AgentError(Exception):
    """The agent did not do as requested."""


class AgentRequestError(AgentError):
    """The agent answered with an error, for example because it requires a sign-in."""


class AgentTimeoutError(AgentError):
    """The agent sent nothing before the timeout."""


class AgentClosedError(AgentError):
    """The agent closed its output stream."""


@dataclass(slots=True)
class TimedTurn:
    """Timing and counters of one prompt.

    Times are readings of `time.perf_counter`.
    """

    number: int
    started_at: float
    first_text_at: float | None = None
    """Time of the first text chunk."""
    ended_at: float = 0.0
    updates: int = 0
    chunks: int = 0
    text_pieces: int = 0
    """Number of text pieces from the model, however the agent grouped them into chunks."""
    diffs: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    """For each diff: when it arrived, and the number of characters of its new text."""
    failed_calls: int = 0
    completed_calls: int = 0
    """Calls reported as completed before the model continued."""
    response: Message = field(default_factory=dict[str, JsonValue])

    @property
    def milliseconds(self) -> float:
        """Duration of the whole turn."""
        return (self.ended_at - self.started_at) * 1000

    @property
    def first_milliseconds(self) -> float:
        """Time to the first text chunk."""
        return ((self.first_text_at or self.ended_at) - self.started_at) * 1000


class MeasuredAgent:
    """One agent process. `call` and the methods based on it block until the response."""

    def __init__(
        self,
        command: Sequence[str],
        home: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if environment is None:
            inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            environment = {**inherited, "HERMES_HOME": str(home), "HOME": str(home)}
        self._stderr = (home / "stderr.txt").open("wb")
        self.started_at = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            cwd=home,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._id = 0
        self._unread = b""
        self._lines: list[bytes] = []
        self._responses: dict[int, Message] = {}
        self._turns: dict[bytes, TimedTurn] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        family = process_tree(self._process.pid)
        self.close_stdin()
        self.wait_for_exit(0.0 if kind else 3.0)
        kill_all(family)
        self._process.wait()
        self._stdout.close()
        self._stderr.close()

    def send_request(self, method: str, params: JsonValue) -> int:
        """Send a request and return its id."""
        self._id += 1
        self.send_message({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def send_message(self, message: JsonValue) -> None:
        """Send any JSON value as one line."""
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        """Send one line of raw bytes.

        Raises:
            AgentClosedError: the agent closed its input.
        """
        try:
            self._stdin.write(line + b"\n")
            self._stdin.flush()
        except OSError:
            raise AgentClosedError("the process is gone") from None

    def call(
        self, method: str, params: JsonValue, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> tuple[Message, int]:
        """Send a request; return its result and the number of messages that came before it.

        Raises:
            AgentError: the request was refused or not answered in time.
        """
        number = self.send_request(method, params)
        before = self._receive({number}, timeout_seconds)
        return _result(self._responses.pop(number)), before

    def initialize(self) -> Message:
        """Send `initialize`."""
        params: JsonValue = {"protocolVersion": 1, "clientCapabilities": {}}
        return self.call("initialize", params)[0]

    def new_session(self, cwd: Path) -> str:
        """Open a session and return its id."""
        result, _ = self.call("session/new", {"cwd": str(cwd), "mcpServers": []})
        return str(result["sessionId"])

    def prompt(self, session_id: str, text: str) -> int:
        """Run a turn; return the number of updates."""
        return self.run_turn(session_id, text).updates

    def run_turn(
        self, session_id: str, text: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> TimedTurn:
        """Run a turn to its end."""
        turn = self.start_turn(session_id, text)
        self.wait_for_turns([turn], timeout_seconds)
        return turn

    def start_turn(self, session_id: str, text: str) -> TimedTurn:
        """Send a prompt without waiting for its end."""
        prompt: JsonValue = [{"type": "text", "text": text}]
        began = time.perf_counter()
        number = self.send_request("session/prompt", {"sessionId": session_id, "prompt": prompt})
        turn = self._turns[session_id.encode()] = TimedTurn(number, began)
        return turn

    def record_session(self, session_id: str) -> TimedTurn:
        """Record the updates of a session without a prompt, for example while it is loaded."""
        turn = self._turns[session_id.encode()] = TimedTurn(0, time.perf_counter())
        return turn

    def kill(self) -> None:
        """Kill the agent immediately, as a power cut would."""
        self._process.kill()
        self._process.wait()

    def wait_for_turns(
        self, turns: Sequence[TimedTurn], timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """Wait until these turns have ended.

        Raises:
            AgentError: a turn was refused, or did not end in time.
        """
        self._receive({turn.number for turn in turns}, timeout_seconds)
        for turn in turns:
            turn.response = _result(self._responses.pop(turn.number))

    def wait_for_response(self, number: int, timeout_seconds: float) -> Message:
        """Wait for the response to a request, successful or not.

        Raises:
            AgentError: no response came in time.
        """
        self._receive({number}, timeout_seconds)
        return self._responses.pop(number)

    def process_messages(self, seconds: float) -> None:
        """Process incoming messages for this long and answer requests."""
        deadline = time.perf_counter() + seconds
        while self._take_line(deadline):
            continue

    def close_stdin(self) -> None:
        """Close the agent's stdin."""
        try:
            self._stdin.close()
        except OSError:
            return

    def wait_for_exit(self, timeout_seconds: float) -> int | None:
        """Return the exit code, or None if the process is still running after the timeout."""
        try:
            return self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None

    @property
    def pid(self) -> int:
        """Process id of the agent."""
        return self._process.pid

    @property
    def resident_mebibytes(self) -> float:
        """Resident memory of the agent and its children, in MiB."""
        return tree_memory(self.pid).resident

    @property
    def cpu_seconds(self) -> float:
        """CPU time spent by the agent and its children."""
        return tree_cpu_seconds(self.pid)

    def _receive(self, numbers: Collection[int], timeout_seconds: float) -> int:
        """Process messages until all these requests are answered; return the number of others."""
        deadline = time.perf_counter() + timeout_seconds
        count = 0
        while not all(number in self._responses for number in numbers):
            if not self._take_line(deadline):
                raise AgentTimeoutError(f"no answer within {timeout_seconds:.0f} s")
            count += 1
        return count - len(numbers)

    def _take_line(self, deadline: float) -> bool:
        """Handle the next message; return False if there was none before the deadline."""
        while not self._lines:
            left = max(deadline - time.perf_counter(), 0)
            if not select.select([self._stdout], [], [], left)[0]:
                return False
            data = os.read(self._stdout.fileno(), READ_BYTES)
            if not data:
                raise AgentClosedError("the process ended its stream")
            *lines, self._unread = (self._unread + data).split(b"\n")
            self._lines = lines[::-1]
        self._handle_line(self._lines.pop())
        return True

    def _handle_line(self, line: bytes) -> None:
        # most lines are updates, so they are recognised without parsing JSON
        head = line[:400]
        if b'"session/update"' in head or b'"session/update"' in line[-100:]:
            self._record_update(line)
        elif line.startswith(b"{"):
            message = cast("Message", json.loads(line))
            if "method" in message:
                self._answer(message)
            else:
                self._store_response(message)

    def _store_response(self, message: Message) -> None:
        now = time.perf_counter()
        number = message.get("id")
        if isinstance(number, int):
            self._responses[number] = message
            for turn in self._turns.values():
                if turn.number == number:
                    turn.ended_at = now

    def _record_update(self, line: bytes) -> None:
        """Count an update of a running turn."""
        found = SESSION.search(line)
        turn = self._turns.get(found[1]) if found else None
        if turn is None or turn.ended_at:  # updates after the response belong to no turn
            return
        turn.updates += 1
        if b"agent_message_chunk" in line:
            text_count = sum(line.count(text) for text in MODEL_TEXTS)
            if text_count:
                turn.chunks += 1
                turn.text_pieces += text_count
                turn.first_text_at = turn.first_text_at or time.perf_counter()
        elif b'"tool_call' in line:
            dense = line.replace(b": ", b":")
            turn.failed_calls += b'"status":"failed"' in dense
            turn.completed_calls += b'"status":"completed"' in dense and turn.first_text_at is None
            size = _diff_characters(line) if b'"diff"' in line else 0
            if size:
                turn.diffs.append((time.perf_counter(), size))

    def _answer(self, message: Message) -> None:
        """Allow permission requests; refuse methods that this client does not offer."""
        if "id" not in message:
            return
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        if message.get("method") == "session/request_permission":
            chosen = _allow(cast("Message", message["params"]))
            answer["result"] = {"outcome": {"outcome": "selected", "optionId": chosen}}
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        self.send_message(answer)


def _allow(params: Message) -> JsonValue:
    options = cast("list[Message]", params["options"])
    allowing = (each for each in options if each.get("kind") == "allow_once")
    return next(allowing, options[0])["optionId"]


def _diff_characters(line: bytes) -> int:
    params = cast("Message", json.loads(line)["params"])
    content = cast("Message", params["update"]).get("content")
    parts = cast("list[Message]", content) if isinstance(content, list) else []
    return sum(len(str(part.get("newText", ""))) for part in parts if part.get("type") == "diff")


def _result(message: Message) -> Message:
    if "result" not in message:
        raise AgentRequestError(_error_text(message.get("error")))
    return cast("Message", message["result"] or {})


def _error_text(error: JsonValue) -> str:
    if not isinstance(error, dict):
        return str(error)
    return f"{error.get('message')} ({error.get('code')})"
