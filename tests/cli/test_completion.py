import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import environment, run
from tests.support.case_table import named_case
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SHELLS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_script_invokes_the_program_with_an_argument(
    shell: str, tmp_path: Path
) -> None:
    outcome = run(tmp_path, "completion", shell)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert "_ACP_SERVER_COMPLETE=" in outcome.stdout
    calls = [line for line in outcome.stdout.splitlines() if f"={shell}_complete" in line]
    assert len(calls) == 1
    assert " completion)" in calls[0]  # with no argument it would serve, and wait for ever


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_script_has_valid_syntax(shell: str, tmp_path: Path) -> None:
    program, *flags = SHELLS[shell]
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {shell} here")
    script = run(tmp_path, "completion", shell).stdout
    done = subprocess.run(
        [found, *flags], input=script, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


COMPLETED = {
    "acp-server d": ["demo", "doctor"],
    "acp-server serve --lo": ["--log-level", "--log-file"],
    "acp-server conf": ["config"],
    "acp-server config ": ["show", "edit", "set", "check", "schema"],
    "acp-server doctor --b": ["--bundle"],
    "acp-server completion ": ["bash", "fish", "zsh"],
}
"""By what was typed: the words that are offered."""
COMPLETED_BY_BASH = ("acp-server serve --lo", "acp-server completion ")
"""Those that bash itself asks for: each is the start of an interpreter."""


def test_commands_options_and_arguments_are_completed(tmp_path: Path) -> None:
    for typed, words in COMPLETED.items():
        with named_case(typed):
            asked = {"_ACP_SERVER_COMPLETE": "bash_complete", "COMP_WORDS": typed}
            asked["COMP_CWORD"] = str(typed.count(" "))
            offered = run(tmp_path, "completion", **asked).stdout.split()
            assert sorted(offered) == sorted(f"plain,{word}" for word in words)


def test_bash_completes_options_and_arguments(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = tmp_path / "acp-server"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m acp_server "$@"\n')
    program.chmod(0o700)
    lines = ["source <(acp-server completion bash)"]
    for typed in COMPLETED_BY_BASH:
        words = typed.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        lines += [
            f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}",
            "_acp_server_completion acp-server",
            """printf '%s ' "${COMPREPLY[@]}"; echo; COMPREPLY=()""",
        ]
    path = f"{tmp_path}:{environment(tmp_path)['PATH']}"
    done = subprocess.run(
        [bash, "--norc", "-c", "\n".join(lines)],
        env=environment(tmp_path, PATH=path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_TIMEOUT_SECONDS * len(lines),  # starts the command three times
        check=False,
    )
    offered = [sorted(line.split()) for line in done.stdout.splitlines()]
    assert offered == [sorted(COMPLETED[typed]) for typed in COMPLETED_BY_BASH], done.stderr
