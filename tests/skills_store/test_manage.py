"""The six actions: what is on the disk afterwards, what is said, what is refused."""

import os
from pathlib import Path

import pytest

from skills_store.calls import ManageCall, ManageResult
from skills_store.changes import SkillFileDiff
from skills_store.errors import (
    AmbiguousSkillError,
    InvalidSkillError,
    MissingSkillFileError,
    SkillNotFoundError,
)
from skills_store.write_errors import (
    InvalidCallError,
    InvalidContentError,
    InvalidSuccessorError,
    NameTakenError,
    PatchRefusedError,
)
from tests.skills_store.skill_home import (
    SkillHome,
    files_in,
    names_of,
    skill_document,
    visible_files,
    write_skill,
)
from tests.support.user_texts import OLD_STRING_MATCHED


@pytest.fixture
def skill_home(tmp_path: Path) -> SkillHome:
    return SkillHome(tmp_path)


def create(name: str = "brew", category: str | None = None) -> ManageCall:
    return ManageCall("create", name, content=skill_document(name), category=category)


def test_a_plan_shows_the_change_and_writes_nothing(skill_home: SkillHome) -> None:
    change = skill_home.editor.plan(create(category="kitchen"))
    path = skill_home.skills / "kitchen" / "brew" / "SKILL.md"
    assert change.diffs == (SkillFileDiff(path, None, skill_document("brew")),)
    assert change.paths == (path,)
    assert files_in(skill_home.home) == {}


def test_a_created_skill_is_in_its_category_and_owned_by_the_agent(skill_home: SkillHome) -> None:
    done = skill_home.apply(create(category="kitchen"))
    folder = skill_home.skills / "kitchen" / "brew"
    assert done == ManageResult(f"Created the skill 'brew' in {folder}.")
    assert visible_files(skill_home.skills) == {
        "kitchen/brew/SKILL.md": skill_document("brew").encode()
    }
    record = skill_home.editor.usage.record("brew")
    assert record is not None
    assert (record.created_by, record.patch_count) == ("agent", 0)


def test_a_skill_created_by_the_user_is_not_owned_by_the_agent(skill_home: SkillHome) -> None:
    skill_home.apply(ManageCall("create", "brew", content=skill_document("brew"), origin="user"))
    record = skill_home.editor.usage.record("brew")
    assert record is not None
    assert record.created_by == "user"


@pytest.mark.parametrize("place", ["home", "workspace", "agents", "external", "bundled"])
def test_a_name_used_in_any_root_is_taken(skill_home: SkillHome, place: str) -> None:
    root = {
        "home": skill_home.skills,
        "workspace": skill_home.workspace,
        "agents": skill_home.find_agents,
        "external": skill_home.external,
        "bundled": skill_home.bundled,
    }[place]
    folder = write_skill(root, "other/brew")
    with pytest.raises(NameTakenError) as caught:
        skill_home.editor.plan(create())
    assert (caught.value.name, caught.value.folder) == ("brew", folder)


def test_a_name_that_differs_only_in_case_is_taken(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "Brew")
    with pytest.raises(NameTakenError):
        skill_home.editor.plan(create())


def test_the_name_of_an_unloadable_skill_is_taken(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "x/brew", "no frontmatter")
    with pytest.raises(NameTakenError):
        skill_home.editor.plan(create())


def test_an_empty_directory_does_not_take_the_name(skill_home: SkillHome) -> None:
    (skill_home.skills / "brew").mkdir()
    skill_home.apply(create())
    assert visible_files(skill_home.skills) == {"brew/SKILL.md": skill_document("brew").encode()}


def test_a_patch_reports_its_location_and_matching_strategy(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", skill_document("brew", "1. Boil  water.\n2. Wait.\n"))
    call = ManageCall("patch", "brew", old_string="Boil water.", new_string="Heat water.")
    done = skill_home.apply(call)
    assert done == ManageResult(
        f"Patched SKILL.md of 'brew' at line 8; {OLD_STRING_MATCHED} spacing."
    )
    text = skill_document("brew", "1. Heat  water.\n2. Wait.\n")
    assert visible_files(skill_home.skills) == {"brew/SKILL.md": text.encode()}
    record = skill_home.editor.usage.record("brew")
    assert record is not None
    assert (record.patch_count, record.created_by) == (1, None)


def test_a_patch_may_replace_all_matches(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", skill_document("brew", "tea, tea\n"))
    call = ManageCall("patch", "brew", old_string="tea", new_string="coffee", replace_all=True)
    assert skill_home.apply(call).message.startswith("Patched SKILL.md of 'brew' in 2 places")


def test_a_patch_without_a_match_shows_the_closest_lines(skill_home: SkillHome) -> None:
    write_skill(
        skill_home.skills, "brew", skill_document("brew", "1. Boil the water.\n2. Wait a bit.\n")
    )
    call = ManageCall("patch", "brew", old_string="1. Boil  some water!", new_string="x")
    with pytest.raises(PatchRefusedError) as caught:
        skill_home.editor.plan(call)
    assert str(caught.value) == (
        "SKILL.md was not changed. The old text is not in the file. The nearest is at lines 8-8. "
        "Copy it exactly:\n8|1. Boil the water.\n"
        'Line 8: the file has " the water.", the old text "  some water!".'
    )


def test_the_closest_lines_are_shown_even_without_a_common_word(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", references__a_dot_md="alpha beta\n\nDo  it.\nlast\n")
    call = ManageCall(
        "patch", "brew", old_string="D0 1t.", new_string="x", file_path="references/a.md"
    )
    with pytest.raises(
        PatchRefusedError, match=r"The nearest is at lines 3-3. Copy it exactly:\n3\|Do  it\.\n"
    ):
        skill_home.editor.plan(call)


def test_an_ambiguous_patch_lists_the_matching_lines(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", skill_document("brew", "tea\ntea\n"))
    call = ManageCall("patch", "brew", old_string="tea", new_string="x")
    with pytest.raises(PatchRefusedError, match=r"2 times \(lines 8, 9\)"):
        skill_home.editor.plan(call)


def test_an_edit_writes_the_whole_document(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", references__a_dot_md="kept")
    text = skill_document("brew", "Other.\n")
    done = skill_home.apply(ManageCall("edit", "brew", content=text))
    assert done == ManageResult("Rewrote SKILL.md of 'brew'.")
    assert visible_files(skill_home.skills) == {
        "brew/SKILL.md": text.encode(),
        "brew/references/a.md": b"kept",
    }


@pytest.mark.parametrize(
    ("broken", "part"),
    [
        pytest.param("no frontmatter at all", "not valid", id="no frontmatter"),
        pytest.param("---\nname: brew\n---\nx\n", "description", id="no description"),
        pytest.param("---\nname: other\ndescription: d\n---\nx\n", "'brew'", id="another name"),
        pytest.param("---\nname: [\n---\nx\n", "not valid", id="broken yaml"),
        pytest.param(
            f"---\nname: brew\ndescription: {'d' * 1025}\n---\nx\n", "1025", id="long description"
        ),
        pytest.param(skill_document("brew", "x" * 100_000), "100000", id="too long"),
        pytest.param(
            "---\nname: brew\ndescription: d\nversion: 1\n---\nx\n", "metadata", id="extra field"
        ),
    ],
)
def test_no_action_can_produce_a_broken_document(
    skill_home: SkillHome, broken: str, part: str
) -> None:
    write_skill(skill_home.skills, "brew")
    calls = [
        ManageCall("edit", "brew", content=broken),
        ManageCall("patch", "brew", old_string=skill_document("brew"), new_string=broken),
        ManageCall(
            "patch",
            "brew",
            file_path="SKILL.md",
            old_string=skill_document("brew"),
            new_string=broken,
        ),
    ]
    for call in calls:
        with pytest.raises(InvalidSkillError, match=part):
            skill_home.editor.plan(call)
    (skill_home.skills / "brew" / "SKILL.md").unlink()
    with pytest.raises(InvalidSkillError, match=part):
        skill_home.editor.plan(ManageCall("create", "brew", content=broken))


def test_a_nonconforming_document_can_be_patched_but_not_made_worse(skill_home: SkillHome) -> None:
    loose = "---\nname: Brew It\ndescription: d\nversion: 1\ntags: [a, b]\n---\nBoil.\n"
    write_skill(skill_home.skills, "brew_it", loose)
    skill_home.apply(ManageCall("patch", "brew_it", old_string="Boil.", new_string="Heat."))
    call = ManageCall(
        "patch", "brew_it", old_string="version: 1", new_string="version: 1\nauthor: me"
    )
    with pytest.raises(InvalidSkillError, match="'author'"):
        skill_home.editor.plan(call)


def test_an_unloadable_document_can_be_repaired(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", "---\nname: brew\nversion: 1\n---\nBoil.\n")
    call = ManageCall(
        "patch", "brew", old_string="name: brew", new_string="name: brew\ndescription: Tea"
    )
    skill_home.apply(call)
    assert [skill.name for skill in skill_home.editor.catalog.list_skills()] == ["brew"]


def test_an_oversized_document_may_become_shorter(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", skill_document("brew", "x" * 100_100 + "\ntail\n"))
    skill_home.apply(ManageCall("patch", "brew", old_string="tail", new_string="t"))
    with pytest.raises(InvalidSkillError, match="more than 100000"):
        skill_home.editor.plan(
            ManageCall("patch", "brew", old_string="\nt\n", new_string="\ntail\n")
        )


def test_a_written_file_asks_for_a_reference_until_one_exists(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", skill_document("brew", "See references/a.md.\n"))
    done = skill_home.apply(
        ManageCall("write_file", "brew", file_path="references/a.md", file_content="a")
    )
    assert done == ManageResult("Wrote references/a.md of 'brew'.")
    done = skill_home.apply(
        ManageCall("write_file", "brew", file_path="scripts/b.sh", file_content="b")
    )
    assert "add a one-line pointer" in done.message


def test_a_script_with_a_shebang_is_executable(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew")
    call = ManageCall(
        "write_file", "brew", file_path="scripts/a.sh", file_content="#!/bin/sh\necho hi\n"
    )
    skill_home.apply(call)
    assert os.access(skill_home.skills / "brew/scripts/a.sh", os.X_OK)


def test_removing_a_file_removes_its_empty_directory(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", references__a_dot_md="a", scripts__b_dot_sh="b")
    done = skill_home.apply(ManageCall("remove_file", "brew", file_path="references/a.md"))
    assert done == ManageResult("Removed references/a.md of 'brew'.")
    assert names_of((skill_home.skills / "brew").iterdir()) == ["SKILL.md", "scripts"]


def test_a_missing_file_is_answered_with_the_existing_ones(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", references__a_dot_md="a")
    for action in ("remove_file", "patch"):
        call = ManageCall(
            action, "brew", file_path="references/b.md", old_string="a", new_string="b"
        )
        with pytest.raises(MissingSkillFileError) as caught:
            skill_home.editor.plan(call)
        assert caught.value.available == ("references/a.md",)


def test_a_file_may_be_at_most_one_mebibyte(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew")
    most = "x" * 1024 * 1024
    skill_home.apply(ManageCall("write_file", "brew", file_path="assets/a", file_content=most))
    call = ManageCall("write_file", "brew", file_path="assets/a", file_content=f"{most}x")
    with pytest.raises(InvalidContentError, match="1048577 bytes"):
        skill_home.editor.plan(call)


def test_an_unpaired_surrogate_is_rejected(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew")
    call = ManageCall("write_file", "brew", file_path="assets/a", file_content="a\ud83d")
    with pytest.raises(InvalidContentError, match="position 1"):
        skill_home.editor.plan(call)


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (ManageCall("create", "new"), "content"),
        (ManageCall("edit", "brew"), "content"),
        (ManageCall("patch", "brew", new_string="a"), "old_string"),
        (ManageCall("patch", "brew", old_string="a"), "new_string"),
        (ManageCall("write_file", "brew", file_content="a"), "file_path"),
        (ManageCall("write_file", "brew", file_path="assets/a"), "file_content"),
        (ManageCall("remove_file", "brew"), "file_path"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.action,
)
def test_a_missing_argument_is_named(skill_home: SkillHome, call: ManageCall, missing: str) -> None:
    write_skill(skill_home.skills, "brew")
    with pytest.raises(InvalidCallError, match=f"{call.action} needs the argument {missing}"):
        skill_home.editor.plan(call)


@pytest.mark.parametrize(
    "call",
    [
        ManageCall("edit", "brew", content=skill_document("brew")),
        ManageCall("write_file", "brew", file_path="assets/a", file_content="a"),
    ],
    ids=lambda call: call.action,
)
def test_a_change_without_effect_is_rejected(skill_home: SkillHome, call: ManageCall) -> None:
    write_skill(skill_home.skills, "brew", assets__a="a")
    with pytest.raises(InvalidCallError, match="Nothing was changed"):
        skill_home.editor.plan(call)


def test_a_missing_skill_is_answered_with_similar_names(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew")
    with pytest.raises(SkillNotFoundError) as caught:
        skill_home.editor.plan(ManageCall("edit", "brow", content="x"))
    assert caught.value.similar == ("brew",)


def test_the_category_distinguishes_skills_of_the_same_name(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "a/brew")
    write_skill(skill_home.skills, "b/brew")
    with pytest.raises(AmbiguousSkillError) as caught:
        skill_home.editor.plan(ManageCall("edit", "brew", content=skill_document("brew", "x\n")))
    assert caught.value.choices == ("a/brew", "b/brew")
    skill_home.apply(ManageCall("edit", "b/brew", content=skill_document("brew", "x\n")))
    assert visible_files(skill_home.skills) == {
        "a/brew/SKILL.md": skill_document("brew").encode(),
        "b/brew/SKILL.md": skill_document("brew", "x\n").encode(),
    }


@pytest.mark.parametrize(
    "successor", ["brew", "Brew", "nothing", "../tea", ".archive/tea", "tea/SKILL.md"]
)
def test_a_deleted_skill_needs_a_valid_successor(skill_home: SkillHome, successor: str) -> None:
    write_skill(skill_home.skills, "brew")
    write_skill(skill_home.bundled, "tea")
    with pytest.raises(InvalidSuccessorError):
        skill_home.editor.plan(ManageCall("delete", "brew", absorbed_into=successor))


@pytest.mark.parametrize("successor", ["tea", ""])
def test_a_deleted_skill_may_be_absorbed_by_another_or_none(
    skill_home: SkillHome, successor: str
) -> None:
    write_skill(skill_home.skills, "brew")
    write_skill(skill_home.bundled, "tea")
    skill_home.apply(ManageCall("delete", "brew", absorbed_into=successor))
    entry = skill_home.editor.archive.find("brew")
    assert entry is not None
    assert entry.absorbed_into == successor
