"""Who may change which skill, and where the change is made."""

from dataclasses import replace
from pathlib import Path

import pytest

from skills_store.calls import ManageCall
from skills_store.changes import SkillFileDiff
from skills_store.errors import SkillError
from skills_store.ownership import ChangeOrigin, Owner, owner_of, read_installed_names
from skills_store.write_errors import (
    BackgroundChangeError,
    NameTakenError,
    PinnedSkillError,
    ReadOnlySkillError,
    StaleChangeError,
)
from tests.skills_store.skill_home import (
    SkillHome,
    files_in,
    skill_document,
    visible_files,
    write_skill,
)

OWNERS: tuple[Owner, ...] = (
    "user",
    "agent",
    "bundled",
    "hub",
    "installed",
    "workspace",
    "external",
    "plugin",
)
BODY = skill_document("brew", "x\n")


@pytest.fixture
def skill_home(tmp_path: Path) -> SkillHome:
    return SkillHome(tmp_path)


def give(skill_home: SkillHome, owner: Owner) -> Path:
    """Put a skill `brew` on the disk that belongs to `owner`, and return its folder."""
    elsewhere = {
        "workspace": skill_home.workspace,
        "external": skill_home.external,
        "plugin": skill_home.plugin,
    }
    files = {"references__a_dot_md": "a"}
    folder = write_skill(elsewhere.get(owner, skill_home.skills), "kitchen/brew", None, **files)
    editor = skill_home.editor
    match owner:
        case "agent":
            editor.usage.record_creation("brew", "agent")
        case "bundled":
            editor.home.bundled_manifest.write_text("other:12\nbrew:0a1b\n")
        case "hub":
            editor.home.hub_lock.parent.mkdir()
            editor.home.hub_lock.write_text('{"version": 1, "installed": {"brew": {}}}')
        case "installed":
            editor.home.installed.parent.mkdir(exist_ok=True)
            editor.home.installed.write_text('{"installed": {"brew": {"source": "x"}}}')
        case _:
            pass
    return folder


def name_of(owner: Owner) -> str:
    return "tools:brew" if owner == "plugin" else "brew"


def calls_on(name: str) -> list[ManageCall]:
    """Return a call of each action that changes an existing skill."""
    return [
        ManageCall("edit", name, content=BODY),
        ManageCall("patch", name, old_string="Do it.", new_string="x"),
        ManageCall("patch", name, file_path="references/a.md", old_string="a", new_string="b"),
        ManageCall("write_file", name, file_path="assets/a", file_content="a"),
        ManageCall("remove_file", name, file_path="references/a.md"),
        ManageCall("delete", name),
    ]


@pytest.mark.parametrize("owner", OWNERS)
def test_the_owner_is_determined(skill_home: SkillHome, owner: Owner) -> None:
    give(skill_home, owner)
    skill = skill_home.editor.catalog.find(name_of(owner))
    assert (
        owner_of(skill, read_installed_names(skill_home.editor.home), skill_home.editor.usage)
        == owner
    )


def test_an_agent_made_skill_listed_as_bundled_is_not_owned_by_the_agent(
    skill_home: SkillHome,
) -> None:
    give(skill_home, "bundled")
    skill_home.editor.usage.record_creation("brew", "agent")
    skill = skill_home.editor.catalog.find("brew")
    assert (
        owner_of(skill, read_installed_names(skill_home.editor.home), skill_home.editor.usage)
        == "bundled"
    )


def test_unreadable_manifests_are_ignored(skill_home: SkillHome) -> None:
    give(skill_home, "hub")
    skill_home.editor.home.hub_lock.write_text("{")
    skill_home.editor.home.bundled_manifest.write_bytes(b"\xff\n:\n\n")
    skill = skill_home.editor.catalog.find("brew")
    assert (
        owner_of(skill, read_installed_names(skill_home.editor.home), skill_home.editor.usage)
        == "user"
    )


@pytest.mark.parametrize("origin", ["review", "curator"])
@pytest.mark.parametrize("owner", [owner for owner in OWNERS if owner not in {"user", "agent"}])
def test_background_changes_do_not_touch_skills_of_others(
    skill_home: SkillHome, owner: Owner, origin: ChangeOrigin
) -> None:
    give(skill_home, owner)
    before = files_in(skill_home.folder)
    for call in calls_on(name_of(owner)):
        with pytest.raises(BackgroundChangeError) as caught:
            skill_home.apply(replace(call, origin=origin))
        assert caught.value.owner == owner
    assert files_in(skill_home.folder).keys() - before.keys() <= {"home/acp/skills.lock"}


@pytest.mark.parametrize("origin", ["review", "curator"])
def test_background_changes_do_not_touch_pinned_skills(
    skill_home: SkillHome, origin: ChangeOrigin
) -> None:
    give(skill_home, "agent")
    skill_home.editor.usage.pin("brew")
    for call in calls_on("brew"):
        with pytest.raises(PinnedSkillError, match="acp-server skills unpin brew"):
            skill_home.apply(replace(call, origin=origin))


@pytest.mark.parametrize("origin", ["review", "curator"])
def test_a_pin_set_after_planning_is_respected(skill_home: SkillHome, origin: ChangeOrigin) -> None:
    give(skill_home, "agent")
    changes = [skill_home.editor.plan(replace(call, origin=origin)) for call in calls_on("brew")]
    skill_home.editor.usage.pin("brew")
    for change in changes:
        with pytest.raises(PinnedSkillError):
            skill_home.editor.commit(change)


@pytest.mark.parametrize("origin", ["turn", "user"])
def test_a_pinned_skill_can_be_changed_on_request_but_never_deleted(
    skill_home: SkillHome, origin: ChangeOrigin
) -> None:
    give(skill_home, "user")
    skill_home.editor.usage.pin("brew")
    *changes, deletion = [replace(call, origin=origin) for call in calls_on("brew")]
    skill_home.apply(changes[0])
    with pytest.raises(PinnedSkillError, match=r"is not deleted.*acp-server skills unpin brew"):
        skill_home.apply(deletion)
    skill_home.editor.usage.unpin("brew")
    skill_home.apply(deletion)


def test_background_runs_archive_only_agent_made_skills(skill_home: SkillHome) -> None:
    give(skill_home, "user")
    with pytest.raises(BackgroundChangeError):
        skill_home.apply(ManageCall("delete", "brew", origin="curator"))
    skill_home.apply(ManageCall("patch", "brew", old_string="Do", new_string="x", origin="review"))
    skill_home.editor.usage.record_creation("brew", "agent")
    skill_home.apply(ManageCall("delete", "brew", origin="curator"))


@pytest.mark.parametrize("owner", ["bundled", "hub", "installed"])
def test_third_party_skills_in_the_users_directory_are_changed_with_a_notice(
    skill_home: SkillHome, owner: Owner
) -> None:
    give(skill_home, owner)
    done = skill_home.apply(ManageCall("edit", "brew", content=BODY))
    assert done.message.endswith(f"It was {owner} and differs from what it came as now.")
    assert visible_files(skill_home.skills)["kitchen/brew/SKILL.md"] == BODY.encode()


@pytest.mark.parametrize("place", ["external", "bundled"])
def test_a_third_party_skill_is_copied_before_a_change(skill_home: SkillHome, place: str) -> None:
    root = skill_home.external if place == "external" else skill_home.bundled
    folder = write_skill(root, "kitchen/brew", None, scripts__a_dot_sh="a")
    (folder / "scripts" / "a.sh").chmod(0o555)
    folder.chmod(0o555)
    before = files_in(root)
    change = skill_home.editor.plan(ManageCall("edit", "brew", content=BODY))
    target = skill_home.skills / "kitchen" / "brew"
    assert change.diffs == (SkillFileDiff(target / "SKILL.md", skill_document("brew"), BODY),)
    done = skill_home.editor.commit(change)
    assert f"it was copied to {target}" in done.message
    assert files_in(root) == before
    assert visible_files(skill_home.skills) == {
        "kitchen/brew/SKILL.md": BODY.encode(),
        "kitchen/brew/scripts/a.sh": b"a",
    }
    assert (target / "scripts" / "a.sh").stat().st_mode & 0o777 == 0o755
    assert skill_home.editor.catalog.find("brew").folder == target


def test_a_file_is_removed_only_from_the_copy(skill_home: SkillHome) -> None:
    write_skill(skill_home.bundled, "brew", None, references__a_dot_md="a")
    skill_home.apply(ManageCall("remove_file", "brew", file_path="references/a.md"))
    assert visible_files(skill_home.skills) == {"brew/SKILL.md": skill_document("brew").encode()}
    assert "brew/references/a.md" in files_in(skill_home.bundled)


def test_a_copy_goes_into_a_category_of_the_same_name(skill_home: SkillHome) -> None:
    write_skill(skill_home.bundled, "brew", None, references__a_dot_md="a")
    write_skill(skill_home.skills, "brew/tea")
    skill_home.apply(ManageCall("edit", "brew", content=BODY))
    assert visible_files(skill_home.skills) == {
        "brew/brew/SKILL.md": BODY.encode(),
        "brew/brew/references/a.md": b"a",
        "brew/tea/SKILL.md": skill_document("tea").encode(),
    }


def test_a_copy_overwrites_nothing(skill_home: SkillHome) -> None:
    write_skill(skill_home.bundled, "brew", None, references__a_dot_md="a")
    (skill_home.skills / "brew" / "brew").mkdir(parents=True)
    with pytest.raises(NameTakenError):
        skill_home.editor.plan(ManageCall("edit", "brew", content=BODY))


def test_no_copy_is_made_of_a_skill_changed_since_planning(skill_home: SkillHome) -> None:
    folder = write_skill(skill_home.bundled, "brew", None, references__a_dot_md="a")
    change = skill_home.editor.plan(ManageCall("edit", "brew", content=BODY))
    (folder / "references" / "a.md").write_text("b")
    with pytest.raises(StaleChangeError):
        skill_home.editor.commit(change)
    assert visible_files(skill_home.skills) == {}


@pytest.mark.parametrize("place", ["workspace", "agents"])
def test_a_writable_external_skill_is_changed_in_place(skill_home: SkillHome, place: str) -> None:
    root = skill_home.workspace if place == "workspace" else skill_home.find_agents
    write_skill(root, "brew")
    skill_home.apply(ManageCall("edit", "brew", content=BODY))
    assert files_in(root) == {"brew/SKILL.md": BODY.encode()}
    assert visible_files(skill_home.skills) == {}


@pytest.mark.parametrize("owner", ["workspace", "external", "plugin"])
def test_only_skills_in_the_users_directory_are_deleted(
    skill_home: SkillHome, owner: Owner
) -> None:
    give(skill_home, owner)
    with pytest.raises(ReadOnlySkillError, match=r"skills\.disabled"):
        skill_home.editor.plan(ManageCall("delete", name_of(owner)))


def test_a_plugin_skill_is_not_changed(skill_home: SkillHome) -> None:
    give(skill_home, "plugin")
    for call in calls_on("tools:brew"):
        with pytest.raises(SkillError, match="cannot be changed so"):
            skill_home.editor.plan(call)


def test_a_skill_that_becomes_visible_after_a_deletion_is_named(skill_home: SkillHome) -> None:
    folder = write_skill(skill_home.bundled, "brew")
    skill_home.apply(ManageCall("edit", "brew", content=BODY))
    done = skill_home.apply(ManageCall("delete", "brew"))
    assert done.message.endswith(f"From now on the one in {folder} is used.")


def test_a_copy_that_is_deleted_and_made_again_is_active(skill_home: SkillHome) -> None:
    write_skill(skill_home.bundled, "brew")
    for call in (
        ManageCall("edit", "brew", content=BODY),
        ManageCall("delete", "brew"),
        ManageCall("edit", "brew", content=BODY),
    ):
        skill_home.apply(call)
    record = skill_home.editor.usage.record("brew")
    assert record is not None
    assert (record.state, record.patch_count) == ("active", 2)
