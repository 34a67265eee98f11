"""Commands of a real server: nothing that it started outlives it, and no flood hurts it."""

import secrets
import signal
import statistics
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from pydantic import JsonValue

from tests.support.editor import Object, json_at
from tests.support.server_process import ServerProcess, command_line, start_server
from tests.support.timeouts import finishes_within

SOON_SECONDS = 2.0
CANCEL_SECONDS = 0.3
QUICK_SECONDS = 0.05
CALM_PROMPTS = 20
MOST_TIMES_CALM = 10
"""How much more work a prompt may be while another command floods, on a machine that is slow."""
MOST_GROWTH_BYTES = 30_000_000
LIVE: JsonValue = {"_meta": {"terminal_output": True}}

SLEEPS = "sleep 300.{n} & setsid sleep 300.{n} & echo up; sleep 300.{n}"
STUBBORN = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 300.{n}' & echo up; sleep 300.{n}"
COMMANDS = {"three sleeps": SLEEPS, "one that ignores TERM": STUBBORN}
commands = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
BOTH = f"({STUBBORN.replace('echo up', ':')}) & {SLEEPS}"
BOTH_PROCESSES = 6
"""Least number of processes that run this command."""

SCRIPT = """\
prompt: command
call: terminal
  command: |
    {command}
step:
say: over

prompt: warm up
call: terminal
  command: "true"
step:
say: warm

prompt: background
call: terminal
  background: true
  command: |
    {command}
step:
say: started

prompt: *
say: Hello!
"""


class Token:
    """Tells the processes of one test from all others: they sleep for so many seconds."""

    def __init__(self) -> None:
        self._number = str(secrets.randbelow(10**9)).zfill(9)

    def command(self, pattern: str) -> str:
        return pattern.replace("{n}", self._number)

    def register(self) -> list[int]:
        """Return the ids of all processes that have it in their command line."""
        name = f"300.{self._number}"
        if Path("/proc/self/cmdline").exists():  # a zombie has none
            return [int(each.parent.name) for each in _command_lines_with(name.encode())]
        found = psutil.process_iter(["cmdline", "status"])
        return [
            process.pid
            for process in found
            if any(name in word for word in process.info["cmdline"] or ())
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ]

    def gone_within(self, seconds: float) -> bool:
        """Whether nothing is left, at the latest after so long; see `finishes_within`."""
        return finishes_within(seconds, lambda: not self.register())


def _command_lines_with(name: bytes) -> Generator[Path]:
    """Yield the files of all command lines with a name; tests look again and again."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            if name in file.read_bytes():
                yield file


@contextmanager
def serving(home: Path, command: str) -> Generator[ServerProcess]:
    """Start a server that may do everything."""
    script = SCRIPT.replace("{command}", command)
    line = command_line(home, script, ["--mode", "bypass"])
    with start_server(home, command=line) as server:
        server.call("initialize", {"protocolVersion": 1, "clientCapabilities": LIVE})
        yield server


@pytest.fixture
def token() -> Generator[Token]:
    new_token = Token()
    yield new_token
    for process_id in new_token.register():
        psutil.Process(process_id).kill()


def run_up(server: ServerProcess, session_id: str) -> int:
    """Have the command run; return the prompt's id once it has printed."""
    request_id = server.start_prompt(session_id, "command")
    while "up\n" not in _printed(server.receive_update()):
        pass
    return request_id


def _printed(message: Object) -> str:
    update = json_at(message, "params", "update")
    meta = update.get("_meta") if isinstance(update, dict) else None
    output = meta.get("terminal_output") if isinstance(meta, dict) else None
    return str(json_at(output, "data")) if output else ""


def kill(server: ServerProcess) -> None:
    server.process.kill()


def hang_up(server: ServerProcess) -> None:
    server.close_stdin()


def terminate(server: ServerProcess) -> None:
    server.process.terminate()


@pytest.mark.parametrize(
    ("leave", "exit_code"),
    [(kill, -signal.SIGKILL), (hang_up, 0), (terminate, 0)],
    ids=["kill -9", "stdin closed", "SIGTERM"],
)
def test_no_process_outlives_the_server(
    tmp_path: Path,
    token: Token,
    leave: Callable[[ServerProcess], None],
    exit_code: int,
) -> None:
    with serving(tmp_path, token.command(BOTH)) as server:
        session = server.new_session(str(tmp_path))
        server.prompt(session, "background")
        run_up(server, session)
        assert finishes_within(SOON_SECONDS, lambda: len(token.register()) >= 2 * BOTH_PROCESSES)
        leave(server)
        assert finishes_within(
            SOON_SECONDS, lambda: server.wait(0) is not None and not token.register()
        )
        assert server.wait() == exit_code
        assert server.stderr() == ""


@commands
def test_a_cancel_is_answered_at_once_and_ends_running_commands(
    tmp_path: Path, token: Token, command: str
) -> None:
    with serving(tmp_path, token.command(command)) as server:
        session_id = server.new_session(str(tmp_path))
        request_id = run_up(server, session_id)
        cancel: JsonValue = {"sessionId": session_id}
        server.send({"jsonrpc": "2.0", "method": "session/cancel", "params": cancel})
        assert finishes_within(CANCEL_SECONDS, lambda: _is_answered_now(server, request_id))
        answer = next(m for m in server.messages if _answers(m, request_id))
        assert answer["result"] == {"stopReason": "cancelled"}
        assert server.prompt(session_id)["result"] == {"stopReason": "end_turn"}
        assert token.gone_within(SOON_SECONDS)


@pytest.mark.parametrize(
    "megabytes", [5, pytest.param(100, marks=pytest.mark.full)], ids=["5 MB", "100 MB"]
)
def test_a_flood_of_output_uses_little_memory_and_delays_no_request(
    tmp_path: Path, megabytes: int
) -> None:
    line = "yes 'a line like any other' | head -c 1000000"
    command = f"echo up; for n in $(seq {megabytes}); do {line}; sleep 0.02; done; echo last"
    with serving(tmp_path, command) as server:
        flooded, other = (server.new_session(str(tmp_path)) for _ in range(2))
        server.prompt(flooded, "warm up")  # all that commands need is imported
        server.prompt(other)
        calm = statistics.median(_prompt_cpu(server, other) for _ in range(CALM_PROMPTS))
        before, received = server.memory_bytes(), len(server.messages)
        request_id = run_up(server, flooded)
        times, most = list[float](), before
        while not _is_answered(server, request_id):
            times.append(_prompt_cpu(server, other))
            most = max(most, server.memory_bytes())
        updates = [each for each in server.messages[received:] if "params" in each]
        assert "".join(map(_printed, updates)).endswith("last\n")
        assert len(times) > megabytes
        assert most - before < MOST_GROWTH_BYTES
        assert statistics.median(times) < max(QUICK_SECONDS, MOST_TIMES_CALM * calm)
        assert max(times) < max(SOON_SECONDS, MOST_TIMES_CALM * MOST_TIMES_CALM * calm)


def _prompt_cpu(server: ServerProcess, session_id: str) -> float:
    """Return the processor time in seconds that the server works until a prompt is answered.

    It works for the flood too: what is measured is how much of it comes before the answer.
    """
    before = server.cpu_seconds()
    server.prompt(session_id)
    return server.cpu_seconds() - before


def _is_answered_now(server: ServerProcess, request_id: int) -> bool:
    while server.has_output():
        server.receive()
    return _is_answered(server, request_id)


def _is_answered(server: ServerProcess, request_id: int) -> bool:
    return any(_answers(message, request_id) for message in server.messages)


def _answers(message: Object, request_id: int) -> bool:
    return message.get("id") == request_id and "method" not in message
