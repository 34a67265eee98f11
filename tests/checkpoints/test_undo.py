"""Undo brings back every byte, whatever a turn has done, and never loses what came after it."""

import shutil
from pathlib import Path
from random import Random

import pytest

from tests.checkpoints.scripts import (
    ASKING,
    described,
    entries,
    faithful_answers,
    files_of,
    furnish,
    say,
    script,
)
from tests.tools.editor_session import FILES, allowed, open_workroom

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
SEEDS = [
    *(pytest.param(seed, id=f"script-{seed}") for seed in range(12)),
    *(pytest.param(seed, id=f"script-{seed}", marks=pytest.mark.full) for seed in range(12, 212)),
]


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_undo_brings_back_every_byte_and_can_itself_be_undone(
    tmp_path: Path, seed: int
) -> None:
    random = Random(seed)  # noqa: S311  a script of a test
    has_buffers = bool(seed % 2)
    answers = {ASKING: allowed(), **(faithful_answers() if has_buffers else {})}
    capabilities = FILES if has_buffers else None
    async with open_workroom(tmp_path, answers=answers, capabilities=capabilities) as room:
        furnish(room.root, random)
        before = entries(room.root)
        first, second = script(random), script(random)
        await room.run(*first)
        middle = entries(room.root)
        await room.run(*second)
        after = entries(room.root)
        told = f"{described(first)}\n--\n{described(second)}"
        if files_of(after) != files_of(middle):
            said = await say(room, "/undo")
            assert files_of(entries(room.root)) == files_of(middle), f"{told}\n{said}"
            said = await say(room, "/undo 1")
            assert files_of(entries(room.root)) == files_of(after), f"{told}\n{said}"
            await say(room, "/undo 1")
        if files_of(before) != files_of(middle):
            said = await say(room, "/undo")
            assert files_of(entries(room.root)) == files_of(before), f"{told}\n{said}"
        assert (await say(room, "/undo")).startswith("There is nothing to undo")
