"""A cancelled turn is answered at once; what it made is kept then, before the next change."""

from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup

from acp_server.checkpoints.files import FileImage
from acp_server.checkpoints.manager import BackgroundTask
from acp_server.checkpoints.turn_recorder import TouchedFile
from tests.checkpoints.manager_setup import HAS_GIT, CheckpointSetup, create_setup

pytestmark = pytest.mark.skipif(not HAS_GIT, reason="git is not installed")
SLOW_GIT = """#!/bin/sh
while [ -e "{folder}/held" ]; do sleep 0.02; done
[ -e "{folder}/slow" ] && sleep 0.08
PATH=/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin exec git "$@"
"""
"""Does nothing while it is held; what a snapshot asks of a slow one takes tenths of a second."""


def create_slow_git_setup(tasks: TaskGroup, folder: Path) -> CheckpointSetup:
    """Return a bench whose git is slow once there is a file that says so."""
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(SLOW_GIT.format(folder=folder))
    program.chmod(0o755)

    def spawn(task: BackgroundTask) -> None:
        tasks.start_soon(task)

    return create_setup(folder, path=f"{program.parent}:/usr/bin:/bin", spawn=spawn)


async def test_a_cancelled_turn_with_commands_ends_before_its_files_are_scanned(
    tmp_path: Path,
) -> None:
    async with anyio.create_task_group() as tasks:
        setup = create_slow_git_setup(tasks, tmp_path)
        path = setup.write_file("a.txt", "old\n")
        with anyio.CancelScope() as turn:
            async with setup.manager.turn("go"):
                await setup.manager.before_command()
                path.write_text("new\n")
                (tmp_path / "held").touch()
                turn.cancel()
                await anyio.sleep_forever()
        (tmp_path / "held").unlink()  # only now can the files be scanned
        old, new = FileImage("file", b"old\n", 0o644), FileImage("file", b"new\n", 0o644)
        editing = setup.manager.editing([TouchedFile(path, new)])
        async with setup.manager.turn("on"), editing:
            path.write_text("newer\n")
        (_, cancelled) = await setup.manager.records()
        assert cancelled.is_closed
        (change,) = cancelled.changes
        assert (change.path, change.before, change.after) == (str(path), old.version, new.version)


async def test_a_turn_cancelled_during_the_initial_scan_leaves_no_record(
    tmp_path: Path,
) -> None:
    async with anyio.create_task_group() as tasks:
        setup = create_slow_git_setup(tasks, tmp_path)
        path = setup.write_file("a.txt", "old\n")
        (tmp_path / "slow").touch()
        with anyio.move_on_after(0.1):
            async with setup.manager.turn("go"):
                await setup.manager.before_command()
        (tmp_path / "slow").unlink()
        async with setup.manager.turn("on"):
            await setup.manager.before_command()
            path.write_text("new\n")
        assert [record.origin.title for record in await setup.manager.records()] == ["on"]


async def test_a_cancel_during_the_final_scan_ends_only_the_wait(
    tmp_path: Path,
) -> None:
    async with anyio.create_task_group() as tasks:
        setup = create_slow_git_setup(tasks, tmp_path)
        path = setup.write_file("a.txt", "old\n")
        with anyio.CancelScope() as turn:
            async with setup.manager.turn("go"):
                await setup.manager.before_command()
                path.write_text("new\n")
                (tmp_path / "slow").touch()
                turn.deadline = anyio.current_time() + 0.1
        assert turn.cancelled_caught
        (record,) = await setup.manager.records()
        assert (record.is_closed, setup.changed_names(record)) == (True, {"a.txt"})
