"""The command as a user runs it: a process of its own, with a home of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.patience import PATIENCE_SECONDS
from tests.support.server_process import NO_KEYRING
from tests.support.warm_command import WITH_A_MODEL, CommandLine, warm_command


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command line came to."""

    exit_code: int
    stdout: str
    stderr: str


def command_line(*arguments: str) -> list[str]:
    """Return the command with these arguments."""
    return [sys.executable, "-m", "acp_server", *arguments]


def environment(home: Path, **variables: str) -> Mapping[str, str]:
    """Return an environment in which temporary files and configuration are the test's own."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG"}}  # noqa: TID251
    return {
        **kept,
        **NO_KEYRING,
        "HERMES_HOME": str(home),
        "TMPDIR": str(home),
        "TERM": "xterm",
        **variables,
    }


def run(home: Path, *arguments: str, given: str = "", **variables: str) -> Outcome:
    """Run a command line to its end, its output in files, its input what is given.

    The process is a fork of one that has imported the command before, where that makes no
    difference: variables for Python count only when it starts.
    """
    if sys.platform == "win32" or any(_is_for_python(name) for name in variables):
        return run_anew(home, *arguments, given=given, **variables)
    command = warm_command(*(WITH_A_MODEL if arguments[:1] == ("run",) else ()))
    line = CommandLine(arguments, environment(home, **variables), given)
    ended = command.run(line, PATIENCE_SECONDS)
    return Outcome(ended.exit_code, ended.stdout.decode(), ended.stderr.decode())


def run_anew(home: Path, *arguments: str, given: str = "", **variables: str) -> Outcome:
    """Run a command line to its end as a user does, in a process that begins with nothing."""
    done = subprocess.run(
        command_line(*arguments),
        env=environment(home, **variables),
        input=given,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def _is_for_python(name: str) -> bool:
    return name.startswith("PYTHON") and name not in NO_KEYRING
