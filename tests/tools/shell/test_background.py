from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from acp_server.session.ports.editor import TerminalExit
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.tools.shell.background import MAX_RUNNING, BackgroundCommands
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.recent_output import NewOutput, OutputExcerpt
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import NO_SUCH_FOLDER
from tests.tools.shell.command_session import (
    CommandSession,
    open_command_session,
    running_commands,
    wait_until_running,
)


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[tuple[BackgroundCommands, CommandSession]]:
    async with open_command_session(folder) as session:
        commands = BackgroundCommands(session.session, SavedOutputs(folder / ".outputs", "s1"))
        try:
            yield commands, session
        finally:
            await commands.close()


async def wait_for_output(commands: BackgroundCommands, command_id: str) -> str:
    """Poll until there is something new."""
    while not (text := commands.poll(command_id)[1].text):  # noqa: ASYNC110  nobody tells
        await anyio.sleep(0.005)
    return text


async def test_a_running_command_accepts_input_and_returns_output(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        cat = await commands.start("while read x; do echo got $x; done; exit 3", tmp_path)
        assert (cat.exit, cat.command[:5], cat.cwd) == (None, "while", tmp_path)
        await commands.write(cat.id, b"one\n")
        assert await wait_for_output(commands, cat.id) == "got one\n"
        await commands.write(cat.id, b"two\n")
        assert await wait_for_output(commands, cat.id) == "got two\n"
        commands.close_stdin(cat.id)
        ended = await commands.wait(cat.id, 5)
        assert (ended.exit, ended.total_lines) == (TerminalExit(code=3), 2)
        assert commands.log(cat.id) == OutputExcerpt(0, ("got one", "got two"), 2)
        assert commands.list() == [ended]
        assert commands.poll(cat.id) == (ended, NewOutput("", 0))


async def test_waiting_ends_at_the_timeout_while_the_command_continues(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, session):
        sleep = await commands.start("sleep 60", tmp_path)
        assert (await commands.wait(sleep.id, 0.05)).exit is None
        await wait_until_running(session.token, "sleep 60")


async def test_killing_a_command_kills_its_process_tree(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, session):
        tree = await commands.start("setsid sleep 61 & sleep 62 & echo up; sleep 63", tmp_path)
        other = await commands.start("sleep 64", tmp_path)
        await wait_for_output(commands, tree.id)
        assert (await commands.kill(tree.id)).exit == TerminalExit(signal="SIGTERM")
        await wait_until_running(session.token, "sleep 64")
        assert (await commands.kill(tree.id)).exit == TerminalExit(signal="SIGTERM")
        assert [command.exit is None for command in commands.list()] == [False, True]
        assert commands.poll(other.id)[0].exit is None


async def test_processes_left_by_an_ended_command_can_be_killed(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, session):
        parent = await commands.start("sleep 60 & echo up", tmp_path)
        assert (await commands.wait(parent.id, 5)).exit == TerminalExit(code=0)
        await wait_until_running(session.token, "sleep 60")
        assert (await commands.kill(parent.id)).exit == TerminalExit(code=0)
        assert running_commands(session.token) == []


async def test_closing_ends_everything_and_is_idempotent(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, session):
        await session.run("sleep 61 >/dev/null 2>&1 &")
        for number in range(3):
            await commands.start(f"trap '' TERM; sleep 62{number}; sleep 63", tmp_path)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await commands.close()
            await commands.close()
        assert running_commands(session.token) == []
        with pytest.raises(ShellError, match="the session is closed"):
            await commands.start("true", tmp_path)


async def test_an_unknown_command_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        with pytest.raises(ShellError, match="'proc_0'; known: there are none"):
            commands.poll("proc_0")
        sleep = await commands.start("sleep 60", tmp_path)
        with pytest.raises(ShellError, match=f"'proc_0'; known: {sleep.id}"):
            await commands.kill("proc_0")


async def test_writing_to_an_ended_command_is_an_error(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        ended = await commands.start("true", tmp_path)
        await commands.wait(ended.id, 5)
        with pytest.raises(ShellError, match="does not read its stdin any more"):
            await commands.write(ended.id, b"hello\n")


async def test_a_pending_write_ends_with_the_command(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        deaf = await commands.start("sleep 60", tmp_path)
        async with anyio.create_task_group() as tasks:

            async def write() -> None:
                with pytest.raises(ShellError, match="does not read its stdin any more"):
                    await commands.write(deaf.id, b"x" * 1_000_000)

            tasks.start_soon(write)
            await anyio.wait_all_tasks_blocked()
            await commands.kill(deaf.id)


async def test_the_number_of_concurrent_commands_is_limited(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        for _number in range(MAX_RUNNING):
            await commands.start("sleep 60", tmp_path)
        with pytest.raises(ShellError, match="kill one first"):
            await commands.start("sleep 60", tmp_path)
        await commands.kill(commands.list()[0].id)
        await commands.start("sleep 60", tmp_path)


async def test_a_command_that_cannot_be_started_leaves_no_trace(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        with pytest.raises(ShellError, match=NO_SUCH_FOLDER):
            await commands.start("true", tmp_path / "absent")
        assert commands.list() == []


async def test_closing_during_a_start_ends_that_command_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, session):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(commands.start, "sleep 60", tmp_path)
                tasks.start_soon(commands.close)
        assert running_commands(session.token) == []


async def test_endless_output_is_bounded(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        yes = await commands.start("yes | head -c 3000000", tmp_path)
        await commands.wait(yes.id, 10)
        state, new = commands.poll(yes.id)
        assert (len(new.text), new.lost_bytes) == (200_000, 2_800_000)
        assert state.total_lines == 1_500_000


SEEING: dict[str, Callable[[BackgroundCommands, str], Awaitable[object]]] = {
    "wait": lambda commands, name: commands.wait(name, 5),
    "kill": lambda commands, name: commands.kill(name),
}


@pytest.mark.parametrize("see", SEEING.values(), ids=SEEING.keys())
async def test_an_end_that_was_already_observed_is_not_reported(
    tmp_path: Path, see: Callable[[BackgroundCommands, str], Awaitable[object]]
) -> None:
    async with opened(tmp_path) as (commands, _):
        started = await commands.start("true", tmp_path)
        await see(commands, started.id)
        assert commands.take_newly_ended() == []


async def test_an_unobserved_end_is_reported_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (commands, _):
        started = await commands.start("exit 3", tmp_path)
        other = await commands.start("sleep 60", tmp_path)
        while not (ends := commands.take_newly_ended()):  # noqa: ASYNC110  nobody tells
            await anyio.sleep(0.005)
        assert [(end.id, end.exit) for end in ends] == [(started.id, TerminalExit(code=3))]
        assert commands.take_newly_ended() == []
        assert [each.id for each in commands.list()] == [started.id, other.id]
