"""Node: runs attempts on the machine it is on, and reports each.

An attempt is a worktree, the `setup` command, `acp-server run`, the files of the check, and the
`check` command. Secrets come from the node's own environment. Blocking; an engine calls it from
threads.
"""

import base64
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import BinaryIO, cast

from pydantic import JsonValue

from acp_server.config import settings
from acp_server.config.profiles import DEFAULT_PROFILE, PROFILE_VARIABLE
from acp_server.fleet.agent_homes import make_agent_home
from acp_server.fleet.attempts import Attempt, AttemptReport, NodeFacts
from acp_server.fleet.git import FleetGit, FleetGitError
from acp_server.fleet.process_guard import ProcessGuard
from acp_server.fleet.results import UnitCheck
from acp_server.fleet.transcripts import read_transcript
from acp_server.fleet.unit import CheckFile, Unit
from acp_server.fleet.workspaces import AttemptWorkspace, WorkspaceFactory, sweep_dead_workspaces
from acp_server.headless.run.sanitizing import OutputSanitizer, collect_secrets, secret_names
from acp_server.startup.isolation import isolated_server
from acp_server.version import __version__

TERMINATE_SECONDS = 8.0
"""Time for a terminated run to print its result before it is killed."""
CONTAINER_MEMORY = Path("/sys/fs/cgroup/memory.max")
LOG_TAIL_BYTES = 200_000
CHECK_OUTPUT_CHARACTERS = 20_000
CHECKED_OUTCOMES = frozenset({"done", "denied", "findings", "timeout", "budget"})
"""Outcomes after which the check runs: the agent has worked."""
MIN_FREE_BYTES = 500_000_000
GUARDED_SHELL = (
    *("/bin/sh", "-c", 'read -r go && [ "$go" = go ] && exec </dev/null && exec /bin/sh -c "$1"'),
    "sh",
)
"""Shell that begins its command once the guard knows it: it ends if we die before that."""
Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class UnitSource:
    """Repository on the node that a unit's worktree is made of, and its uncommitted changes."""

    repository: Path
    changes: bytes = b""


_Place = tuple[Path, Mapping[str, str]]
"""Working directory and environment of a process."""
FindSource = Callable[[Unit], UnitSource]
"""Provides the repository of a unit; may raise `FleetGitError` or `OSError`."""


class SetupFailedError(Exception):
    """The `setup` command failed; the text says how."""


@dataclass(slots=True)
class _RunningAttempt:
    """Attempt that runs now, and its process."""

    cancelled: Event = field(default_factory=Event)
    process: subprocess.Popen[bytes] | None = None
    has_agent: bool = False
    """Whether its agent has begun."""
    lock: Lock = field(default_factory=Lock)


class FleetNode:
    """Runs attempts in this process's threads. Thread-safe."""

    def __init__(self, find_source: FindSource, command: Sequence[str] = ()) -> None:
        """Run `command`, by default `acp-server run -`, for each attempt."""
        self.name = platform.node()
        self._find_source = find_source
        self._command = tuple(command) or isolated_server("run", "-")
        self._environment = settings.child_environment({})
        secrets = {*settings.load({}).secret_variables, *secret_names(self._environment)}
        self._plain_environment = {
            key: value for key, value in self._environment.items() if key not in secrets
        }
        self.guard = ProcessGuard()
        """Ends the processes of this node, if this process dies."""
        self.git = FleetGit(self._plain_environment, self.guard)
        self._workspaces = WorkspaceFactory(self.git)
        self._cleaner = OutputSanitizer(collect_secrets(self._environment))
        self._running: dict[str, _RunningAttempt] = {}
        sweep_dead_workspaces()

    def run(self, attempt: Attempt) -> AttemptReport:
        """Run an attempt to its end and report it; failures are in the report."""
        started = time.monotonic()
        running = self._running.setdefault(attempt.handle, _RunningAttempt())
        unit = attempt.unit
        report = AttemptReport(attempt.handle, self.name, __version__)
        try:
            source = self._find_source(unit)
            with self._workspaces.create(
                attempt.handle, unit, source.repository, source.changes
            ) as workspace:
                report = self._run_in(workspace, attempt, running)
        except SetupFailedError as error:
            report = replace(report, problem=str(error), has_failed_setup=True)
        except (FleetGitError, OSError) as error:
            report = replace(report, problem=f"no workspace on {self.name}: {error}")
        finally:
            self._running.pop(attempt.handle, None)
        return replace(
            report,
            seconds=time.monotonic() - started,
            is_cancelled=running.cancelled.is_set(),
            has_agent=running.has_agent,
        )

    def cancel(self, handle: str) -> None:
        """End an attempt; its report follows, with the work done so far."""
        running = self._running.get(handle)
        if running is None:
            return
        running.cancelled.set()
        with running.lock:
            if running.process is not None and running.process.poll() is None:
                running.process.terminate()
                Thread(target=_kill_later, args=(running.process,), daemon=True).start()

    def facts(self, slots: int = 1) -> NodeFacts:
        """Return the facts of this node."""
        try:
            git, problem = self.git.run(Path.cwd(), "--version").removeprefix("git version "), ""
        except FleetGitError as error:
            git, problem = "", str(error)
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if free < MIN_FREE_BYTES:
            problem = f"only {free // 1_000_000} MB are free in {tempfile.gettempdir()}"
        return NodeFacts(self.name, __version__, git, free, slots, problem)

    def close(self) -> None:
        """End all processes and remove the directories of this node."""
        for handle in [*self._running]:
            self.cancel(handle)
        self.guard.close()
        self._workspaces.close()

    def _run_in(
        self, workspace: AttemptWorkspace, attempt: Attempt, running: _RunningAttempt
    ) -> AttemptReport:
        unit = attempt.unit
        with ExitStack() as stack:
            log_file = Path(attempt.log) if attempt.log else workspace.directory / "log"
            # A retry adds to the log of the first attempt.
            log = stack.enter_context(log_file.open("wb" if attempt.number == 1 else "ab"))
            if unit.setup:
                done = self._run_shell(unit.setup, workspace, unit, running)
                if done.exit_code != 0:
                    reason = f"setup failed with code {done.exit_code}: {done.output[-2000:]}"
                    raise SetupFailedError(reason)
            patch = workspace.directory / "changes.patch"
            transcript = workspace.directory / "transcript.jsonl"
            command = (
                *self._command,
                *unit.options,
                *_write_inputs(unit, workspace.directory),
                *("--cwd", str(workspace.working_directory)),
                *("--format", "json", "--no-github", "--patch", str(patch)),
                *("--transcript", str(transcript), "--parent", str(os.getpid())),
            )
            home = make_agent_home(workspace.directory, settings.hermes_home(self._environment))
            # The home is that of the profile already.
            own = {"HERMES_HOME": str(home), PROFILE_VARIABLE: DEFAULT_PROFILE}
            place = (workspace.working_directory, {**self._environment, **own})
            output, code = self._run_process(command, unit.prompt, log, running, place)
            result = parse_result(output)
            check = None
            if unit.check and result is not None and result.get("outcome") in CHECKED_OUTCOMES:
                for each in unit.check_files:
                    _place_check_file(workspace.tree, each)
                check = self._run_shell(unit.check, workspace, unit, running)
            return AttemptReport(
                attempt.handle,
                self.name,
                __version__,
                result,
                code,
                check=check,
                patch=patch.read_bytes() if patch.is_file() else b"",
                log=b"" if attempt.log else _read_tail(log_file),
                transcript=read_transcript(transcript, self._cleaner.plain(unit.prompt)),
            )

    def _run_process(
        self,
        command: Sequence[str],
        prompt: str,
        log: BinaryIO,
        running: _RunningAttempt,
        place: _Place,
    ) -> tuple[bytes, int]:
        """Run the agent; return its stdout and exit code."""
        with self._start(command, running, subprocess.PIPE, log, place) as process:
            running.has_agent = True
            try:
                output, _ = process.communicate(prompt.encode(errors="replace"))
            finally:
                self.guard.remove(process.pid)
        return output, process.returncode

    def _run_shell(
        self, command: str, workspace: AttemptWorkspace, unit: Unit, running: _RunningAttempt
    ) -> UnitCheck:
        """Run a command of the task file's author, with its time limit."""
        missing = [name for name in unit.variables if name not in self._environment]
        if missing:
            return UnitCheck(None, 0.0, f"{self.name} has no variable {', '.join(missing)}")
        named = {name: self._environment[name] for name in unit.variables}
        started = time.monotonic()
        code: int | None = None
        output_file = workspace.directory / "command.out"
        place = (workspace.working_directory, {**self._plain_environment, **named})
        with (
            output_file.open("w+b") as output,
            self._start((*GUARDED_SHELL, command), running, output, output, place) as process,
        ):
            assert process.stdin is not None  # noqa: S101  a pipe
            with suppress(BrokenPipeError):
                process.stdin.write(b"go\n")
                process.stdin.close()
            try:
                code = process.wait(unit.check_seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                # The whole group: a test server that the check has started must not live on.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                self.guard.remove(process.pid)
        text = _read_tail(output_file).decode(errors="replace")
        if code is None:
            text += f"\n(ended after {unit.check_seconds:g} seconds)"
        shown = OutputSanitizer((*self._cleaner.secrets, *collect_secrets(named))).plain(text)
        return UnitCheck(code, time.monotonic() - started, shown[-CHECK_OUTPUT_CHARACTERS:])

    def _start(
        self,
        command: Sequence[str],
        running: _RunningAttempt,
        stdout: BinaryIO | int,
        stderr: BinaryIO,
        place: _Place,
    ) -> subprocess.Popen[bytes]:
        """Start a process that ends with this one, in a directory with an environment.

        Its session is its own: Ctrl-C in our terminal must reach the driver alone, which lets
        running attempts end.
        """
        directory, environment = place
        with running.lock:
            if running.cancelled.is_set():
                raise OSError("the attempt was cancelled")
            process = subprocess.Popen(  # noqa: S603  the server, or a command of the task file
                command,
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                cwd=directory,
                env=environment,
                start_new_session=True,
            )
            running.process = process
        try:
            self.guard.add(process.pid)
        except OSError:
            process.kill()
            process.wait()
            raise
        return process


def machine_processors() -> int:
    """Return the number of processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or of the container that this process is in."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        memory = min(memory, int(CONTAINER_MEMORY.read_text("utf-8")))
    return memory


def parse_result(output: bytes) -> Json | None:
    """Return the result that `acp-server run` has printed, or None."""
    try:
        value = cast("JsonValue", json.loads(output))
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("type") == "result" else None


def _write_inputs(unit: Unit, directory: Path) -> list[str]:
    """Write the files that options name; return these options."""
    options: list[str] = []
    for each in unit.inputs:
        path = directory / Path(each.name).name
        path.write_text(each.text, encoding="utf-8")
        options += (each.option, str(path))
    return options


def _place_check_file(tree: Path, file: CheckFile) -> None:
    """Write a file of the check, in place of anything that the agent has put there.

    A link that the agent has made must not lead the write out of the worktree.
    """
    parent = tree
    *folders, name = Path(file.path).parts
    for folder in folders:
        parent = parent / folder
        if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
            parent.unlink()
        parent.mkdir(exist_ok=True)
    target = parent / name
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    mode = 0o755 if file.is_executable else 0o644
    with os.fdopen(os.open(target, flags, mode), "wb") as written:
        written.write(base64.b64decode(file.content))


def _read_tail(file: Path) -> bytes:
    with file.open("rb") as read:
        size = read.seek(0, os.SEEK_END)
        read.seek(max(0, size - LOG_TAIL_BYTES))
        return read.read()


def _kill_later(process: subprocess.Popen[bytes]) -> None:
    """Kill a process group that does not end after it was terminated."""
    try:
        process.wait(TERMINATE_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
