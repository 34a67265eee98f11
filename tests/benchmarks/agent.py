"""A bare ACP client over pipes, as small as a client can be, so that it measures the agent."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import psutil
from pydantic import JsonValue

Message = dict[str, JsonValue]


class RefusedError(Exception):
    """The agent answered with an error, such as one that asks to sign in."""


class Agent:
    """One agent process; every call is answered before it returns."""

    def __init__(self, command: Sequence[str], home: Path) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"HERMES_HOME": str(home), "HOME": str(home)}
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=10)

    def call(self, method: str, params: JsonValue) -> tuple[Message, int]:
        """Send a request; return its result and how many messages came before it."""
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        for before, line in enumerate(self._process.stdout):
            if b'"id"' in line:
                message = cast("Message", json.loads(line))
                if message.get("id") == self._id and "method" not in message:
                    return _result(message), before
        raise EOFError(method)

    def initialize(self) -> Message:
        """Greet the agent."""
        params: JsonValue = {"protocolVersion": 1, "clientCapabilities": {}}
        return self.call("initialize", params)[0]

    def new_session(self, cwd: Path) -> str:
        """Open a session and return its id."""
        result, _ = self.call("session/new", {"cwd": str(cwd), "mcpServers": []})
        return str(result["sessionId"])

    def prompt(self, session_id: str, text: str) -> int:
        """Run a turn; return how many updates it sent."""
        prompt: JsonValue = [{"type": "text", "text": text}]
        return self.call("session/prompt", {"sessionId": session_id, "prompt": prompt})[1]

    @property
    def resident_mebibytes(self) -> float:
        """The resident memory of the agent and its children."""
        root = psutil.Process(self._process.pid)
        family = [root, *root.children(recursive=True)]
        return sum(process.memory_info().rss for process in family) / 2**20

    @property
    def cpu_seconds(self) -> float:
        """The processor time spent by the agent itself."""
        times = psutil.Process(self._process.pid).cpu_times()
        return times.user + times.system


def _result(message: Message) -> Message:
    if "result" not in message:
        raise RefusedError(message.get("error"))
    return cast("Message", message["result"])
