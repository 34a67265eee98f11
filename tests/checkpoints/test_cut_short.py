"""Turns that never came to their end: their process was killed, or git could not be had."""

from pathlib import Path

import anyio
import pytest

from acp_server.checkpoints.files import FileImage
from acp_server.checkpoints.records import RecordedChange
from acp_server.checkpoints.turn_recorder import TouchedFile
from tests.checkpoints.manager_setup import HAS_GIT, create_setup
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


@pytest.mark.skipif(not HAS_GIT, reason="git is not installed")
async def test_changes_of_a_killed_turn_are_found_by_comparison_and_marked_uncertain(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path)
    path = setup.write_file("a.txt", "old\n")
    turn = setup.manager.turn("go")
    await turn.__aenter__()  # and never left, as by a process that is killed
    await setup.manager.before_command()
    path.write_text("new\n")
    other = create_setup(tmp_path).manager
    (record,) = await other.records()
    (change,) = (await other.complete(record)).changes
    before, after = FileImage("file", b"old\n", 0o644), FileImage("file", b"new\n", 0o644)
    assert change == RecordedChange(
        str(path), before.version, after.version, is_after_known=False, is_own=False
    )


async def test_edits_are_recorded_without_git(tmp_path: Path) -> None:
    setup = create_setup(tmp_path, path=str(tmp_path))
    path = setup.write_file("a.txt", "old\n")
    before, after = FileImage("file", b"old\n", 0o644), FileImage("file", b"new\n", 0o644)
    async with setup.manager.turn("go"):
        async with setup.manager.editing([TouchedFile(path, before)]):
            path.write_text("new\n")
        await setup.manager.after_edit([TouchedFile(path, after)])
    (record,) = await setup.manager.records()
    assert record.changes == (RecordedChange(str(path), before.version, after.version),)
    assert await setup.manager.read(before.version.blob) == b"old\n"
    assert setup.notices == []


async def test_an_unwritable_store_is_reported_once_and_blocks_nothing(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path)
    path = setup.write_file("a.txt", "old\n")
    (setup.config_home / "acp").write_text("a file where a folder is wanted")
    for _ in range(2):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with setup.manager.turn("go"):
                async with setup.manager.editing([TouchedFile(path, None)]):
                    path.write_text("new\n")
                await setup.manager.before_command()
    assert len(setup.notices) == 1
    assert setup.notices[0].startswith("Not all changes from now on can be undone")
