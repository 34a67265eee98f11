"""Links that a turn replaced come back, whatever became of their targets."""

import shutil
from pathlib import Path

import pytest

from tests.checkpoints.scripts import PERMISSION_METHOD, entries, files_of, run_slash_command
from tests.tools.editor_session import allow, open_tool_editor
from tests.tools.typing_model import call

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


TURNS = {
    "files": ["rm -r link a.txt folder; mkdir link; echo new > link/deep.txt"],
    "empty directories": ["rm -r link a.txt folder; mkdir -p link/empty/deep link/other"],
    "target": ["rm link; rm a.txt; mv folder link"],
    "part of target": ["rm link; mkdir link; mv folder/deep.txt link/inner; rm -r folder a.txt"],
    "file turned": [
        "rm -r link a.txt folder; mkdir -p link/x a.txt/x folder; ln -s ../link folder/deep.txt"
    ],
}


@pytest.mark.parametrize(
    ("target", "commands"),
    [
        pytest.param(
            target,
            commands,
            id=f"{target}, {name}",
            # What a link leads to changes little: each turn has one target in the short form.
            marks=[] if number % 2 == place else [pytest.mark.full],
        )
        for place, target in enumerate(("folder", "a.txt"))
        for number, (name, commands) in enumerate(TURNS.items())
    ],
)
async def test_a_link_replaced_by_a_directory_comes_back_without_its_target(
    tmp_path: Path, target: str, commands: list[str]
) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        session.write_file("a.txt", "a\n")
        session.write_file("folder/deep.txt", "deep\n")
        (session.root / "link").symlink_to(target)
        before = files_of(entries(session.root))
        await session.run(*(call("terminal", command=command) for command in commands))
        after = files_of(entries(session.root))
        assert not (session.root / "link").is_symlink(), after
        output = await run_slash_command(session, "/undo")
        assert files_of(entries(session.root)) == before, output
        output = await run_slash_command(session, "/undo 1")
        assert files_of(entries(session.root)) == after, output
