"""A workspace's folder of skills becomes a link right before any call that a change makes."""

from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from skills_store.calls import ManageCall
from skills_store.errors import SkillError
from tests.skills_store.skill_home import SkillHome, files_in, skill_document, write_skill
from tests.support.system_calls import run_before_call

CALLS = [
    ManageCall("edit", "brew", content=skill_document("brew", "x\n")),
    # a file of a folder that is there makes some of the calls of the next one
    pytest.param(
        ManageCall("write_file", "brew", file_path="references/b.md", file_content="x"),
        marks=pytest.mark.full,
    ),
    ManageCall("write_file", "brew", file_path="scripts/deep/b.md", file_content="x"),
    ManageCall("remove_file", "brew", file_path="references/a.md"),
]


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("level", ["brew", "skills"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.action)
def test_a_directory_swapped_for_a_link_gives_no_access(
    tmp_path: Path, call: ManageCall, level: str, stride: int
) -> None:
    for calls in count(0, stride):
        skill_home = SkillHome(tmp_path / str(calls))
        inside, outside = skill_home.workspace, skill_home.folder / "outside"
        for folder in (inside, outside):
            write_skill(folder, "brew", references__a_dot_md="a")
        before = files_in(outside)
        folder = inside / "brew" if level == "brew" else inside

        def swap(folder: Path = folder, to: Path = outside) -> None:
            folder.rename(folder.with_name("was"))
            folder.symlink_to(to / folder.name if folder.name == "brew" else to)

        change = skill_home.editor.plan(call)
        with run_before_call(calls, swap) as trap, suppress(SkillError, OSError):
            skill_home.editor.commit(change)
        assert files_in(outside) == before
        if not trap.has_fired:
            return
