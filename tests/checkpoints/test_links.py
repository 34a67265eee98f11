"""Links that a turn replaced come back, whatever became of their targets."""

import shutil
from pathlib import Path

import pytest

from tests.checkpoints.scripts import PERMISSION_METHOD, entries, files_of, run_slash_command
from tests.support.case_table import named_case
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
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


SOME_TURNS: dict[str, list[str]] = {
    target: [name for number, name in enumerate(TURNS) if number % 2 == place]
    for place, target in enumerate(("folder", "a.txt"))
}
"""What a link leads to changes little: each turn has one target in the short form."""


@pytest.mark.parametrize(
    ("target", "names"),
    [
        *SOME_TURNS.items(),
        *(pytest.param(target, [*TURNS], marks=pytest.mark.full) for target in SOME_TURNS),
    ],
    ids=[*SOME_TURNS, *(f"{target}, all" for target in SOME_TURNS)],
)
async def test_a_link_replaced_by_a_directory_comes_back_without_its_target(
    tmp_path: Path, target: str, names: list[str]
) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        for name in names:
            with named_case(name):
                await replace_link(session, target, TURNS[name])
            clear(session.root)


async def replace_link(session: ToolEditorSession, target: str, commands: list[str]) -> None:
    """Have a turn replace a link, undo it, and undo the undo."""
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


def clear(folder: Path) -> None:
    """Remove all that is in a folder."""
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()
