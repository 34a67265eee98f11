"""Undo brings back every byte, whatever a turn has done, and never loses what came after it."""

import shutil
from pathlib import Path
from random import Random

import pytest

from tests.checkpoints.scripts import (
    PERMISSION_METHOD,
    describe,
    entries,
    faithful_answers,
    files_of,
    fill_workspace,
    random_calls,
    run_slash_command,
)
from tests.tools.editor_session import FILES, allow, open_tool_editor

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
SEEDS = [
    *(pytest.param(seed, id=f"script-{seed}") for seed in range(12)),
    *(pytest.param(seed, id=f"script-{seed}", marks=pytest.mark.full) for seed in range(12, 212)),
]


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_undo_restores_every_byte_and_can_itself_be_undone(
    tmp_path: Path, seed: int
) -> None:
    random = Random(seed)  # noqa: S311  a script of a test
    has_buffers = bool(seed % 2)
    answers = {PERMISSION_METHOD: allow(), **(faithful_answers() if has_buffers else {})}
    capabilities = FILES if has_buffers else None
    async with open_tool_editor(tmp_path, answers=answers, capabilities=capabilities) as room:
        fill_workspace(room.root, random)
        before = entries(room.root)
        first, second = random_calls(random), random_calls(random)
        await room.run(*first)
        middle = entries(room.root)
        await room.run(*second)
        after = entries(room.root)
        told = f"{describe(first)}\n--\n{describe(second)}"
        if files_of(after) != files_of(middle):
            said = await run_slash_command(room, "/undo")
            assert files_of(entries(room.root)) == files_of(middle), f"{told}\n{said}"
            said = await run_slash_command(room, "/undo 1")
            assert files_of(entries(room.root)) == files_of(after), f"{told}\n{said}"
            await run_slash_command(room, "/undo 1")
        if files_of(before) != files_of(middle):
            said = await run_slash_command(room, "/undo")
            assert files_of(entries(room.root)) == files_of(before), f"{told}\n{said}"
        assert (await run_slash_command(room, "/undo")).startswith("Every turn is undone already")
