"""Fork server for commands and servers: a process that has imported the code forks once for each.

Saves tests the imports, which would take most of their time. A fork has its own descriptors,
environment, process id and exit, like a user's process; tests of start-up, of the order of imports,
of memory and of the interpreter's own environment need a new process instead. The same holds for
tests of what the server prepares at its first use, such as validators, and of how the interpreter
ends. This module is both sides: run as a program, it is the fork server. The workers of a test run
share one: its imports take as long as a hundred tests.
"""

import atexit
import fcntl
import functools
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import NoReturn, TypeVar

from pydantic import BaseModel

from acp_server import cli
from acp_server.__main__ import main
from acp_server.command_files.discovery import command_places
from acp_server.models.anthropic.packages import open_entry_point
from acp_server.subagents.definitions import agent_places
from acp_server.tools.arguments import Arguments, model_schema_of
from prompt_engine.cache_control import add_cache_breakpoints
from prompt_engine.sources.workspace_manifests import project_tools
from prompt_engine.threats import scan
from prompt_engine.threats.skill_scanning import scan_skill_text
from tests.support.prepared_server import prepare_server

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
FORK_SERVER_MODULE = "tests.support.fork_server"
NUMBER_BYTES = 4
"""Size of each number: the length of a request, a process id, an exit code."""
READ_BYTES = 4096
SERVER_MODULES = (
    "acp_server.server.app",
    "acp_server.handlers.elicitation",
    "acp_server.handlers.permissions",
    "acp_server.handlers.user_questions",
    "acp_server.handlers.workspace",
    "acp_server.history.writer",
    "acp_server.mcp.binder",
    "acp_server.mcp.sdk_connector",
    "acp_server.session.prompting.directory_events",
    "acp_server.session.prompting.workspace_prompt",
    "acp_server.tools.deferred_toolset",
    "acp_server.tools.factory",
    "anyio._backends._asyncio",
    "anyio._core._signals",
    "anyio._core._subprocesses",
    "httpcore2",
    "httpcore2._async.http11",
    "jsonschema",
    "prompt_engine.threats.scanning",
    "tree_sitter_bash",
    "truststore",
)
"""Modules that servers, `run` and most commands import when they need them."""
PACKAGES = {"acp_server", "prompt_engine", "skills_store"}
NOT_IN_ADVANCE = {"current_environments", "running_installation"}
"""Cached functions whose value depends on the environment of the process."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Command line with its environment and input."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    stdin: str = ""
    """Text for stdin."""

    def encode(self) -> bytes:
        """Encode everything but the input, with the working directory, for the fork server."""
        return json.dumps([list(self.arguments), dict(self.environment), str(Path.cwd())]).encode()


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Exit code and output of a process."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class ForkedProcess:
    """A process of the fork server, with what tests use of `subprocess.Popen`."""

    def __init__(self, command: Sequence[str], status: socket.socket) -> None:
        """Take the socket on which the fork server sends the process id, then the exit code."""
        self.args = command
        self.returncode: int | None = None
        self._status = status
        self.pid = _receive_number(status)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the process and return its exit code; negative if a signal killed it.

        Raises:
            subprocess.TimeoutExpired: it did not end in time.
        """
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = _receive_number(self._status)
            except (TimeoutError, BlockingIOError):  # the latter if it does not wait at all
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """Starts processes of the command."""

    def __init__(self, address: Path) -> None:
        """Connect to the fork server at a socket; if there is none, start it first.

        It imports the commands and what they use.
        """
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX)
        self._process: subprocess.Popen[bytes] | None = None
        with _lock(address):
            try:
                self._socket.connect(str(address))
            except (FileNotFoundError, ConnectionRefusedError):
                self._process = _start(address)
                self._socket.connect(str(address))
        atexit.register(self.close)
        # wait until the imports are done, so that they count against no timeout
        _receive_number(self._socket)

    def start(self, line: CommandLine, streams: Sequence[int]) -> ForkedProcess:
        """Start a command line on three descriptors, which the caller keeps."""
        status, its = socket.socketpair()
        request = line.encode()
        with its:
            head = len(request).to_bytes(NUMBER_BYTES, "big")
            socket.send_fds(self._socket, [head], [*streams, its.fileno()])
        self._socket.sendall(request)
        return ForkedProcess(line.arguments, status)

    def run(self, line: CommandLine, timeout_seconds: float) -> ProcessResult:
        """Run a command line to its end.

        Raises:
            subprocess.TimeoutExpired: it did not end in time, and was killed.
        """
        with ExitStack() as files:
            stdin, stdout, stderr = (
                files.enter_context(tempfile.TemporaryFile()) for _ in range(3)
            )
            stdin.write(line.stdin.encode())
            stdin.seek(0)
            process = self.start(line, [stdin.fileno(), stdout.fileno(), stderr.fileno()])
            try:
                code = process.wait(timeout_seconds)
            finally:
                process.kill()
            stdout.seek(0)
            stderr.seek(0)
            # as a shell gives the exit code of a process that a signal killed
            return ProcessResult(code if code >= 0 else 128 - code, stdout.read(), stderr.read())

    def close(self) -> None:
        """Leave the fork server, which ends after all have left; what it started goes on."""
        self._socket.close()
        if self._process is not None:
            self._process.wait()


@dataclass(slots=True)
class QuickExit:
    """End of a fork without freeing what was imported.

    To free it would copy most pages that are shared with the fork server, which takes longer than
    most commands.
    """

    code: str | int | None = None
    """What the command exits with; anything but a number is left to the interpreter."""

    def end(self) -> None:
        """Exit, as the last function that runs at exit: threads and other functions have ended."""
        if isinstance(self.code, int):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)


QUICK_EXIT = QuickExit()


@functools.cache
def get_fork_server() -> ForkServer:
    """Return the fork server; it is reused until the tests end."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))  # noqa: TID251
    return ForkServer(Path(tempfile.gettempdir()) / f"fork-server-{run[:12]}")


@contextmanager
def _lock(address: Path) -> Generator[None]:
    """Keep the fork server at an address from being started twice, or ending meanwhile."""
    # One file for all runs: if each removed its own, two could hold a lock of the same name.
    with address.with_name(f"fork-servers-{os.getuid()}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start(address: Path) -> "subprocess.Popen[bytes]":
    """Start the fork server; connections wait until its imports are done."""
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        number = listener.fileno()
        return subprocess.Popen(
            [sys.executable, "-m", FORK_SERVER_MODULE, str(number), str(address)],
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
        )


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise EOFError
        received += more
    return received


def _receive_number(connection: socket.socket) -> int:
    return int.from_bytes(_receive_exactly(connection, NUMBER_BYTES), "big", signed=True)


def _serve(listener: socket.socket, address: Path) -> None:
    """Start command lines and send the process id and exit code of each until all clients ended."""
    ended, wakeup = socket.socketpair()
    wakeup.settimeout(0)
    signal.signal(signal.SIGCHLD, _handle_child_end)
    signal.set_wakeup_fd(wakeup.fileno())
    running: dict[int, socket.socket] = {}
    clients: list[socket.socket] = []
    while True:
        ready, _, _ = select.select([listener, ended, *clients], [], [])
        if ended in ready:
            ended.recv(READ_BYTES)
            _send_exit_codes(running)
        if listener in ready:
            client, _ = listener.accept()
            clients.append(client)
            _send_number(client, 0)
        for client in [each for each in clients if each in ready]:
            own = (listener, ended, wakeup, *clients, *running.values())
            if (started := _start_requested(client, own)) is not None:
                process_id, status = started
                running[process_id] = status
                _send_number(status, process_id)
                continue
            client.close()
            clients.remove(client)
            if not clients and _end_if_unused(listener, address):
                return


def _end_if_unused(listener: socket.socket, address: Path) -> bool:
    """Give up the address, unless somebody has connected meanwhile; return whether it did."""
    with _lock(address):
        if select.select([listener], [], [], 0)[0]:
            return False
        address.unlink()
        return True


def _start_requested(
    client: socket.socket, own: Sequence[socket.socket]
) -> tuple[int, socket.socket] | None:
    """Start what a client wants; return its process id and status socket; None if it has ended."""
    head, descriptors, _, _ = socket.recv_fds(client, NUMBER_BYTES, 4)
    if not head:
        return None
    request = json.loads(_receive_exactly(client, int.from_bytes(head, "big")))
    *streams, status_number = descriptors
    status = socket.socket(fileno=status_number)
    return _fork_command((*own, status), streams, request), status


def _handle_child_end(number: int, frame: object) -> None:
    """Do nothing: with a handler, the signal wakes `select`."""


def _fork_command(
    own: Sequence[socket.socket],
    streams: Sequence[int],
    request: tuple[Sequence[str], Mapping[str, str], str],
) -> int:
    """Fork the process of a command line, without the server's own sockets; return its id."""
    process_id = os.fork()
    if process_id == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in own:
            each.close()
        _run_command(streams, *request)
    for stream in streams:
        os.close(stream)
    return process_id


def _send_exit_codes(running: dict[int, socket.socket]) -> None:
    """Send the exit code of each process that has ended, and forget it."""
    while running:
        process_id, wait_status = os.waitpid(-1, os.WNOHANG)
        if process_id == 0:
            return
        with running.pop(process_id) as status:
            _send_number(status, os.waitstatus_to_exitcode(wait_status))


def _send_number(status: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # the test does not wait for the process
        status.sendall(number.to_bytes(NUMBER_BYTES, "big", signed=True))


def _run_command(
    streams: Sequence[int], arguments: Sequence[str], environment: Mapping[str, str], directory: str
) -> NoReturn:
    """Turn this fork into the process of a command line, run it and exit."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    encoding = environment.get("PYTHONIOENCODING")  # as a new interpreter obeys it
    sys.stdin = open(0, closefd=False, encoding=encoding)  # noqa: SIM115  it is there as long as we are
    sys.stdout = open(1, "w", closefd=False, encoding=encoding)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False, encoding=encoding)  # noqa: SIM115
    os.environ.clear()  # noqa: TID251
    os.environ.update(environment)  # noqa: TID251
    os.chdir(directory)
    sys.argv = ["acp-server", *arguments]
    prepare_server(arguments, _run_command)
    try:
        main()
    except SystemExit as exit_request:
        QUICK_EXIT.code = exit_request.code
        raise
    sys.exit()


def _import_all() -> None:
    """Import the commands and what they use, and prepare it."""
    for found in pkgutil.iter_modules(cli.__path__, f"{cli.__name__}."):
        import_module(found.name)
    for name in SERVER_MODULES:
        import_module(name)
    # as a server does it: the modules of the SDK that it does not use are two thirds of all
    open_entry_point(partial(add_cache_breakpoints, ttl="5m"))
    _prepare_models()
    _prepare_tables()
    gc.freeze()  # a collection in a fork would touch, and so copy, the shared pages


def _prepare_models() -> None:
    """Build what a server builds at first use: validators, schemas of tools, threat patterns."""
    for model in _subclasses_of(BaseModel):
        if model.__module__.startswith("acp_server.") and not model.__pydantic_complete__:
            model.model_rebuild()
    for arguments in _subclasses_of(Arguments):
        model_schema_of(arguments)
    scan("é", "context")  # a text beyond ASCII needs the patterns of all scripts
    scan("é", "mark")
    for is_program in (False, True):
        list(scan_skill_text("é", is_program=is_program))


def _prepare_tables() -> None:
    """Load the tables of the packages, and compile the constructors of their dataclasses."""
    command_places((), ROOT, ROOT)
    agent_places((), ROOT, ROOT)
    project_tools()
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] not in PACKAGES:
            continue
        members: dict[str, object] = {**vars(module)}
        for title, each in members.items():
            if getattr(each, "__module__", "") != name or title in NOT_IN_ADVANCE:
                continue
            if callable(each) and hasattr(each, "cache_info") and not signature(each).parameters:
                each()
            elif isinstance(each, type) and is_dataclass(each):
                with suppress(TypeError):  # most need arguments
                    each()


def _subclasses_of(kind: type[T]) -> Iterator[type[T]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses_of(each)


if __name__ == "__main__":
    atexit.register(QUICK_EXIT.end)  # functions run in reverse order: those of imports run before
    _import_all()
    _serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]))
    QUICK_EXIT.code = 0
