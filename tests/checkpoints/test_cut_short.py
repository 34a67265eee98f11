"""Turns that never came to their end: their process was killed, or git could not be had."""

from pathlib import Path

import anyio
import pytest

from acp_server.checkpoints.files import Original
from acp_server.checkpoints.records import Change
from acp_server.checkpoints.turn_recorder import Touched
from tests.checkpoints.manager_setup import HAS_GIT, bench_in
from tests.support.timeouts import PATIENCE_SECONDS


@pytest.mark.skipif(not HAS_GIT, reason="git is not installed")
async def test_what_a_killed_turn_has_changed_is_told_by_comparing_and_is_not_certain(
    tmp_path: Path,
) -> None:
    bench = bench_in(tmp_path)
    path = bench.put("a.txt", "old\n")
    turn = bench.keeper.turn("go", 0, str)
    await turn.__aenter__()  # and never left, as by a process that is killed
    await bench.keeper.before_command()
    path.write_text("new\n")
    other = bench_in(tmp_path).keeper
    (record,) = await other.records()
    (change,) = (await other.completed(record)).changes
    before, after = Original("file", b"old\n", 0o644), Original("file", b"new\n", 0o644)
    assert change == Change(str(path), before.state, after.state, is_after_known=False)


async def test_edits_are_kept_without_git(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, path=str(tmp_path))
    path = bench.put("a.txt", "old\n")
    before, after = Original("file", b"old\n", 0o644), Original("file", b"new\n", 0o644)
    async with bench.keeper.turn("go", 0, str):
        async with bench.keeper.editing([Touched(path, before)]):
            path.write_text("new\n")
        await bench.keeper.after_edit([Touched(path, after)])
    (record,) = await bench.keeper.records()
    assert record.changes == (Change(str(path), before.state, after.state),)
    assert await bench.keeper.read(before.state.blob) == b"old\n"
    assert bench.told == []


async def test_a_store_that_cannot_be_written_is_told_once_and_holds_nobody_up(
    tmp_path: Path,
) -> None:
    bench = bench_in(tmp_path)
    path = bench.put("a.txt", "old\n")
    (bench.own / "acp").write_text("a file where a folder is wanted")
    for _ in range(2):
        with anyio.fail_after(PATIENCE_SECONDS):
            async with bench.keeper.turn("go", 0, str):
                async with bench.keeper.editing([Touched(path, None)]):
                    path.write_text("new\n")
                await bench.keeper.before_command()
    assert len(bench.told) == 1
    assert bench.told[0].startswith("Not all changes from now on can be undone")
