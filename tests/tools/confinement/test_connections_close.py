"""A session that closes leaves no directory of its connections behind."""

from pathlib import Path

import anyio
import pytest

from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.connections import CommandConnections


async def refuse(origin: CommandOrigin, path: Path) -> bool:
    del origin, path
    return False


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_closing_removes_the_directory_also_when_it_is_cancelled(
    tmp_path: Path, *, is_cancelled: bool
) -> None:
    (tmp_path / "session").mkdir()
    async with anyio.create_task_group() as tasks:

        def spawn(task: TaskFunction) -> None:
            tasks.start_soon(task)

        connections = CommandConnections(lambda: tmp_path / "session", refuse, spawn)
        place = Path((await connections.register(None, has_own_network=True)).rpartition(":")[2])
        assert place.parent.is_dir()

        with anyio.CancelScope() as scope:
            if is_cancelled:
                scope.cancel()
            await connections.close()
        assert not place.parent.exists()


async def test_a_command_that_is_just_registered_leaves_none_either(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    async with anyio.create_task_group() as tasks:

        def spawn(task: TaskFunction) -> None:
            tasks.start_soon(task)

        async def register() -> None:
            await connections.register(None, has_own_network=True)

        connections = CommandConnections(lambda: tmp_path / "session", refuse, spawn)
        tasks.start_soon(register)
        await anyio.wait_all_tasks_blocked()
        await connections.close()

    names = [each.name async for each in anyio.Path(tmp_path).iterdir()]
    assert names == ["session"]
