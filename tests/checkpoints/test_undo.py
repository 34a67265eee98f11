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
SHORT_SEEDS = (1, 2)
"""One with the buffers of an editor, and one without."""
SEEDS = [
    pytest.param(seed, id=f"script-{seed}", marks=[] if seed in SHORT_SEEDS else [pytest.mark.full])
    for seed in range(212)
]


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_undo_restores_every_byte_and_can_itself_be_undone(
    tmp_path: Path, seed: int
) -> None:
    random = Random(seed)  # noqa: S311  a script of a test
    has_buffers = bool(seed % 2)
    answers = {PERMISSION_METHOD: allow(), **(faithful_answers() if has_buffers else {})}
    capabilities = FILES if has_buffers else None
    async with open_tool_editor(tmp_path, answers=answers, capabilities=capabilities) as session:
        fill_workspace(session.root, random)
        before = entries(session.root)
        first, second = random_calls(random), random_calls(random)
        await session.run(*first)
        middle = entries(session.root)
        await session.run(*second)
        after = entries(session.root)
        calls_text = f"{describe(first)}\n--\n{describe(second)}"
        if files_of(after) != files_of(middle):
            output = await run_slash_command(session, "/undo")
            assert files_of(entries(session.root)) == files_of(middle), f"{calls_text}\n{output}"
            output = await run_slash_command(session, "/undo 1")
            assert files_of(entries(session.root)) == files_of(after), f"{calls_text}\n{output}"
            await run_slash_command(session, "/undo 1")
        if files_of(before) != files_of(middle):
            output = await run_slash_command(session, "/undo")
            assert files_of(entries(session.root)) == files_of(before), f"{calls_text}\n{output}"
        assert (await run_slash_command(session, "/undo")).startswith(
            "Every turn is undone already"
        )
