"""What is kept goes when it is too old or too much; what is still needed stays."""

import os
import time
from pathlib import Path

import pytest

from acp_server.checkpoints.config import CheckpointConfig
from tests.checkpoints.manager_setup import HAS_GIT, CheckpointSetup, create_setup

pytestmark = pytest.mark.skipif(not HAS_GIT, reason="git is not installed")


def backdate(setup: CheckpointSetup) -> None:
    """Make all objects as old as they must be to be cleared away."""
    long_ago = time.time() - 86_400
    for path in setup.config_home.glob("acp/checkpoints/*/git/objects/??/*"):
        os.utime(path, (long_ago, long_ago))


async def record_two(setup: CheckpointSetup) -> None:
    path = setup.write_file("a.txt", "zero\n")
    for text in ("one\n", "two\n"):
        await setup.run_command(lambda text=text: path.write_text(text))


async def test_expired_records_are_pruned_with_their_blobs(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    await record_two(setup)
    states = [each.changes[0].before for each in await setup.manager.records()]
    old = create_setup(tmp_path, CheckpointConfig(keep_days=1e-9))
    backdate(old)
    await old.manager.prune()
    assert await old.manager.records() == []
    assert len([*setup.config_home.glob("acp/checkpoints/*/git/objects/??/*")]) == 1
    assert len(states) == 2
    assert (setup.notices, old.notices) == ([], [])


async def test_pruning_keeps_indexed_blobs_so_that_the_next_turn_can_be_undone(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path, CheckpointConfig(keep_days=1e-9))
    await record_two(setup)
    backdate(setup)
    await setup.manager.prune()
    record = await setup.run_command((setup.root / "a.txt").unlink)
    assert record is not None
    before = record.changes[0].before
    assert before is not None
    assert await setup.manager.read(before.blob) == b"two\n"


async def test_the_oldest_records_are_pruned_first_when_space_is_exceeded(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    path = setup.write_file("a.bin", b"")
    for _ in range(3):
        await setup.run_command(lambda: path.write_bytes(os.urandom(40_000)))
    newest = (await setup.manager.records())[0]
    small = create_setup(tmp_path, CheckpointConfig(max_total_mb=0.09))
    await small.manager.prune()
    assert [each.id for each in await small.manager.records()] == [newest.id]


async def test_a_file_over_the_size_limit_is_omitted_and_named(tmp_path: Path) -> None:
    setup = create_setup(tmp_path, CheckpointConfig(max_total_mb=0.01))
    small, large = (
        setup.write_file("small", "text\n"),
        setup.write_file("large", os.urandom(20_000)),
    )

    def change() -> None:
        small.write_text("other\n")
        large.write_text("other\n")

    record = await setup.run_command(change)
    assert setup.changed_names(record) == {"small"}
    assert setup.omitted(record) == {"large": "checkpoints would take more than 0.01 MB"}
