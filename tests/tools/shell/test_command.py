from pathlib import Path

import anyio
import pytest

from acp_server.session.ports.editor import TerminalExit
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.session import CommandResult
from tests.support.user_texts import NO_SUCH_FOLDER, NOT_A_FOLDER
from tests.tools.shell.command_session import (
    CommandOutcome,
    open_command_session,
    wait_until_running,
)


def ended(code: int, output: str) -> CommandOutcome:
    return CommandOutcome(CommandResult(TerminalExit(code=code), timed_out=False), output)


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        pytest.param("echo hello", ended(0, "hello\n"), id="output"),
        pytest.param("exit 3", ended(3, ""), id="a code"),
        pytest.param("[[ -n $BASH ]] && echo $#", ended(0, "0\n"), id="a bash"),
        pytest.param(
            "for i in 1 2; do echo $i; echo -$i >&2; done", ended(0, "1\n-1\n2\n-2\n"), id="order"
        ),
        pytest.param("printf 'ä\\n\\0'", ended(0, "ä\n\0"), id="any bytes"),
        pytest.param("exec >&- 2>&-; sleep 0.05; exit 4", ended(4, ""), id="closed output"),
        pytest.param("", ended(0, ""), id="an empty command"),
        pytest.param("echo 'one\ntwo'\necho three", ended(0, "one\ntwo\nthree\n"), id="lines"),
        pytest.param("(exit 7) | true", ended(0, ""), id="a pipeline"),
    ],
)
async def test_a_command_runs_to_completion(
    tmp_path: Path, command: str, outcome: CommandOutcome
) -> None:
    async with open_command_session(tmp_path) as session:
        assert await session.run(command) == outcome


async def test_death_by_a_signal_is_reported(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        outcome = await session.run("kill -KILL $$")
    assert outcome == CommandOutcome(
        CommandResult(TerminalExit(signal="SIGKILL"), timed_out=False), ""
    )


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        pytest.param("read x; echo $?:$x", 0, "1:", id="read"),
        pytest.param("read x </dev/tty", 1, "/dev/tty", id="a password prompt"),
        pytest.param("cat", 0, "", id="cat"),
        pytest.param("python3 -S -c 'input()'", 1, "EOFError", id="python"),
        pytest.param("git init -q . && git commit --allow-empty", 1, "empty commit", id="git"),
        pytest.param("tty", 1, "not a tty", id="tty"),
    ],
)
async def test_no_command_waits_for_user_input(
    tmp_path: Path, command: str, code: int, said: str
) -> None:
    variables = {
        f"GIT_{who}_{what}": "a@b.c"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    async with open_command_session(tmp_path, variables) as session:
        outcome = await session.run(command)
    assert outcome.ended == CommandResult(TerminalExit(code=code), timed_out=False)
    assert said in outcome.output


async def test_no_state_carries_over_to_the_next_command(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as shell:
        await shell.run("cd /; export LEFT=1; left() { echo 1; }; umask 0; set -e; alias ls=false")
        after = 'test . -ef "$HOME" && echo home; echo [$LEFT]; type left || echo none; echo $-'
        outcome = await shell.run(f"exec 2>/dev/null; {after}")
    assert outcome == ended(0, "home\n[]\nnone\nhpBc\n")


async def test_concurrent_commands_do_not_mix_output(tmp_path: Path) -> None:
    outputs: dict[str, str] = {}
    async with open_command_session(tmp_path) as session, anyio.create_task_group() as tasks:

        async def run(word: str) -> None:
            loop = f"for i in $(seq 2000); do echo {word} || exit; done"
            outputs[word] = (await session.run(loop)).output

        for word in ("one", "two", "three"):
            tasks.start_soon(run, word)
    assert outputs == {word: f"{word}\n" * 2000 for word in ("one", "two", "three")}


async def test_an_error_in_the_output_consumer_ends_the_command(tmp_path: Path) -> None:
    def refuse(chunk: bytes) -> None:
        raise LookupError(chunk)

    async with open_command_session(tmp_path) as session:
        with pytest.raises(LookupError, match="hello"):
            await session.session.run("echo hello; sleep 60", tmp_path, refuse, 10)
        await wait_until_running(session.token)


@pytest.mark.parametrize(
    ("command", "folder", "reason"),
    [
        pytest.param("true", "absent", NO_SUCH_FOLDER, id="no folder"),
        pytest.param("true", "file", NOT_A_FOLDER, id="a file"),
        pytest.param("#" * 5_000_000, ".", "too long for this system (5,000,000 bytes", id="long"),
        pytest.param("echo \0", ".", "cannot be passed to a shell", id="a NUL"),
        pytest.param("echo \ud800", ".", "cannot be passed to a shell", id="half a character"),
    ],
)
async def test_a_failed_start_is_explained(
    tmp_path: Path, command: str, folder: str, reason: str
) -> None:
    (tmp_path / "file").touch()

    def take(chunk: bytes) -> None:
        raise AssertionError(chunk)

    async with open_command_session(tmp_path) as session:
        with pytest.raises(ShellError) as caught:
            await session.session.run(command, tmp_path / folder, take, 10)
    assert reason in caught.value.reason


async def test_sh_is_used_without_bash(tmp_path: Path) -> None:
    async with open_command_session(tmp_path, {"PATH": str(tmp_path)}) as session:
        outcome = await session.run("echo $0")
    assert outcome == ended(0, "/bin/sh\n")
