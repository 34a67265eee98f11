"""The command as a user runs it, in a process with a test home."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from tests.support.fork_server import CommandLine, ForkedProcess, get_fork_server
from tests.support.server_process import NO_KEYRING
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class CliResult:
    """Exit code and output of a command line."""

    exit_code: int
    stdout: str
    stderr: str


def command_line(*arguments: str) -> list[str]:
    """Return the command with these arguments."""
    return [sys.executable, "-m", "acp_server", *arguments]


def environment(home: Path, **variables: str) -> Mapping[str, str]:
    """Return an environment whose configuration and temporary files are in a test directory."""
    base = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG"}}  # noqa: TID251
    return {
        **base,
        **NO_KEYRING,
        "HERMES_HOME": str(home),
        "TMPDIR": str(home),
        "TERM": "xterm",
        **variables,
    }


def run(home: Path, *arguments: str, stdin: str = "", **variables: str) -> CliResult:
    """Run a command line to its end, with `given` as its input.

    Uses the fork server, which saves the imports, except for variables that configure Python:
    they take effect only when an interpreter starts.
    """
    if sys.platform == "win32" or any(_configures_python(name) for name in variables):
        return run_in_new_process(home, *arguments, stdin=stdin, **variables)
    command = get_fork_server()
    line = CommandLine(arguments, environment(home, **variables), stdin)
    ended = command.run(line, HANG_TIMEOUT_SECONDS)
    return CliResult(ended.exit_code, ended.stdout.decode(), ended.stderr.decode())


@contextmanager
def start(
    home: Path, *arguments: str, **variables: str
) -> Generator[tuple[ForkedProcess, BufferedReader]]:
    """Start a command line without input, as a fork; yield it with its output.

    At the end of the context it is killed, if it still runs.
    """
    with (
        open(os.devnull, "rb") as nothing,  # noqa: PTH123
        start_on(nothing.fileno(), home, *arguments, **variables) as started,
    ):
        yield started


@contextmanager
def start_on(
    stdin: int, home: Path, /, *arguments: str, **variables: str
) -> Generator[tuple[ForkedProcess, BufferedReader]]:
    """Do the same with a descriptor for its input, which may be a terminal."""
    reads, writes = os.pipe()
    with open(reads, "rb") as output:  # noqa: PTH123
        try:
            line = CommandLine(arguments, environment(home, **variables))
            process = get_fork_server().start(line, [stdin, writes, 2])
        finally:
            os.close(writes)
        try:
            yield process, output
        finally:
            process.kill()
            process.wait()


def run_in_new_process(home: Path, *arguments: str, stdin: str = "", **variables: str) -> CliResult:
    """Run a command line to its end in a new process, as a user does."""
    done = subprocess.run(
        command_line(*arguments),
        env=environment(home, **variables),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_TIMEOUT_SECONDS,
        check=False,
    )
    return CliResult(done.returncode, done.stdout, done.stderr)


def _configures_python(name: str) -> bool:
    return name.startswith("PYTHON") and name not in {*NO_KEYRING, "PYTHONIOENCODING"}
