"""Patches of skills match as tolerantly as edits of code, and no more: the same tables, on disk.

The cases are those of the patcher's own tests. Here each goes through a skill's file, so that what
stands between (bytes, line ends, checks of the document) is seen to change none of them.
"""

from pathlib import Path
from typing import cast

import pytest

from skills_store.calls import ManageCall
from skills_store.write_errors import PatchRefusedError
from tests.patching.test_near_misses import (
    test_near_matches_that_differ_in_meaning_are_not_replaced as near_misses,
)
from tests.patching.test_tolerance import CASES, Case
from tests.skills_store.skill_home import SkillHome, files_in, skill_document, write_skill
from tests.support.user_texts import OLD_STRING_MATCHED

FILE = "references/case.md"
(TABLE,) = cast("list[pytest.Mark]", vars(near_misses)["pytestmark"])
NEAR_MISSES = TABLE.args[1]


@pytest.fixture
def skill_home(tmp_path: Path) -> SkillHome:
    skill_home = SkillHome(tmp_path)
    write_skill(skill_home.skills, "brew", references__case_dot_md="")
    return skill_home


def test_the_tables_have_enough_cases() -> None:
    assert len(CASES) >= 60
    assert len(NEAR_MISSES) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.strategy}: {case.id}")
def test_equivalent_text_is_patched_and_the_strategy_reported(
    skill_home: SkillHome, case: Case
) -> None:
    path = skill_home.skills / "brew" / FILE
    path.write_bytes(case.text.encode())
    call = ManageCall("patch", "brew", old_string=case.old, new_string=case.new, file_path=FILE)
    done = skill_home.apply(call)
    assert path.read_bytes() == case.result.encode()
    assert done.message.endswith(f"{OLD_STRING_MATCHED} {case.strategy}.")


@pytest.mark.parametrize(("text", "old"), NEAR_MISSES)
def test_different_text_is_not_patched(skill_home: SkillHome, text: str, old: str) -> None:
    path = skill_home.skills / "brew" / FILE
    path.write_bytes(text.encode())
    before = files_in(skill_home.folder)
    call = ManageCall("patch", "brew", old_string=old, new_string="x", file_path=FILE)
    with pytest.raises(PatchRefusedError, match="not in the file"):
        skill_home.apply(call)
    assert files_in(skill_home.folder) == before


@pytest.mark.parametrize(
    ("body", "old", "new", "result", "strategy"),
    [
        pytest.param("1. a\n", "1. a", "1. b", "1. b\n", "exact", id="exact"),
        pytest.param("1. a  \n2. b\n", "1. a\n2. b", "1. a\n2. c", "1. a  \n2. c\n", "end blanks"),
        pytest.param("   - a\n   - b\n", "- a\n- b", "- a\n- c", "   - a\n   - c\n", "indentation"),
        pytest.param("it\u2019s a\n", "it's a", "it's b", "it\u2019s b\n", "look-alikes"),
        pytest.param("a\r\nb\r\n", "a\nb", "a\nc", "a\r\nc\r\n", "end blanks"),
        pytest.param("a\nb\n", "a\\nb", "a\\nc", "a\nc\n", "escapes"),
    ],
)
def test_the_document_is_patched_tolerantly_too(
    skill_home: SkillHome, *, body: str, old: str, new: str, result: str, strategy: str
) -> None:
    path = skill_home.skills / "brew" / "SKILL.md"
    path.write_bytes(skill_document("brew", body).encode())
    done = skill_home.apply(ManageCall("patch", "brew", old_string=old, new_string=new))
    assert path.read_bytes() == skill_document("brew", result).encode()
    assert done.message.endswith(f"{OLD_STRING_MATCHED} {strategy}.")


def test_a_file_that_is_not_text_is_not_patched(skill_home: SkillHome) -> None:
    (skill_home.skills / "brew" / FILE).write_bytes(b"a\xff")
    call = ManageCall("patch", "brew", old_string="a", new_string="b", file_path=FILE)
    with pytest.raises(ValueError, match="no UTF-8"):
        skill_home.editor.plan(call)
