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
def house(tmp_path: Path) -> SkillHome:
    return SkillHome(tmp_path)


def give(house: SkillHome, owner: Owner) -> Path:
    """Put a skill `brew` on the disk that belongs to `owner`, and return its folder."""
    elsewhere = {
        "workspace": house.workspace,
        "external": house.external,
        "plugin": house.plugin,
    }
    files = {"references__a_dot_md": "a"}
    folder = write_skill(elsewhere.get(owner, house.skills), "kitchen/brew", None, **files)
    editor = house.editor
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
def test_the_owner_is_determined(house: SkillHome, owner: Owner) -> None:
    give(house, owner)
    skill = house.editor.catalog.find(name_of(owner))
    assert owner_of(skill, read_installed_names(house.editor.home), house.editor.usage) == owner


def test_an_agent_made_skill_listed_as_bundled_is_not_owned_by_the_agent(house: SkillHome) -> None:
    give(house, "bundled")
    house.editor.usage.record_creation("brew", "agent")
    skill = house.editor.catalog.find("brew")
    assert owner_of(skill, read_installed_names(house.editor.home), house.editor.usage) == "bundled"


def test_unreadable_manifests_are_ignored(house: SkillHome) -> None:
    give(house, "hub")
    house.editor.home.hub_lock.write_text("{")
    house.editor.home.bundled_manifest.write_bytes(b"\xff\n:\n\n")
    skill = house.editor.catalog.find("brew")
    assert owner_of(skill, read_installed_names(house.editor.home), house.editor.usage) == "user"


@pytest.mark.parametrize("origin", ["review", "curator"])
@pytest.mark.parametrize("owner", [owner for owner in OWNERS if owner not in {"user", "agent"}])
def test_background_changes_do_not_touch_skills_of_others(
    house: SkillHome, owner: Owner, origin: ChangeOrigin
) -> None:
    give(house, owner)
    before = files_in(house.folder)
    for call in calls_on(name_of(owner)):
        with pytest.raises(BackgroundChangeError) as caught:
            house.apply(replace(call, origin=origin))
        assert caught.value.owner == owner
    assert files_in(house.folder).keys() - before.keys() <= {"home/acp/skills.lock"}


@pytest.mark.parametrize("origin", ["review", "curator"])
def test_background_changes_do_not_touch_pinned_skills(
    house: SkillHome, origin: ChangeOrigin
) -> None:
    give(house, "agent")
    house.editor.usage.pin("brew")
    for call in calls_on("brew"):
        with pytest.raises(PinnedSkillError, match="acp-server skills unpin brew"):
            house.apply(replace(call, origin=origin))


@pytest.mark.parametrize("origin", ["review", "curator"])
def test_a_pin_set_after_planning_is_respected(house: SkillHome, origin: ChangeOrigin) -> None:
    give(house, "agent")
    changes = [house.editor.plan(replace(call, origin=origin)) for call in calls_on("brew")]
    house.editor.usage.pin("brew")
    for change in changes:
        with pytest.raises(PinnedSkillError):
            house.editor.commit(change)


@pytest.mark.parametrize("origin", ["turn", "user"])
def test_a_pinned_skill_can_be_changed_on_request_but_never_deleted(
    house: SkillHome, origin: ChangeOrigin
) -> None:
    give(house, "user")
    house.editor.usage.pin("brew")
    *changes, deletion = [replace(call, origin=origin) for call in calls_on("brew")]
    house.apply(changes[0])
    with pytest.raises(PinnedSkillError, match=r"is not deleted.*acp-server skills unpin brew"):
        house.apply(deletion)
    house.editor.usage.unpin("brew")
    house.apply(deletion)


def test_background_runs_archive_only_agent_made_skills(house: SkillHome) -> None:
    give(house, "user")
    with pytest.raises(BackgroundChangeError):
        house.apply(ManageCall("delete", "brew", origin="curator"))
    house.apply(ManageCall("patch", "brew", old_string="Do", new_string="x", origin="review"))
    house.editor.usage.record_creation("brew", "agent")
    house.apply(ManageCall("delete", "brew", origin="curator"))


@pytest.mark.parametrize("owner", ["bundled", "hub", "installed"])
def test_third_party_skills_in_the_users_directory_are_changed_with_a_notice(
    house: SkillHome, owner: Owner
) -> None:
    give(house, owner)
    done = house.apply(ManageCall("edit", "brew", content=BODY))
    assert done.message.endswith(f"It was {owner} and differs from what it came as now.")
    assert visible_files(house.skills)["kitchen/brew/SKILL.md"] == BODY.encode()


@pytest.mark.parametrize("place", ["external", "bundled"])
def test_a_third_party_skill_is_copied_before_a_change(house: SkillHome, place: str) -> None:
    root = house.external if place == "external" else house.bundled
    folder = write_skill(root, "kitchen/brew", None, scripts__a_dot_sh="a")
    (folder / "scripts" / "a.sh").chmod(0o555)
    folder.chmod(0o555)
    before = files_in(root)
    change = house.editor.plan(ManageCall("edit", "brew", content=BODY))
    target = house.skills / "kitchen" / "brew"
    assert change.diffs == (SkillFileDiff(target / "SKILL.md", skill_document("brew"), BODY),)
    done = house.editor.commit(change)
    assert f"it was copied to {target}" in done.message
    assert files_in(root) == before
    assert visible_files(house.skills) == {
        "kitchen/brew/SKILL.md": BODY.encode(),
        "kitchen/brew/scripts/a.sh": b"a",
    }
    assert (target / "scripts" / "a.sh").stat().st_mode & 0o777 == 0o755
    assert house.editor.catalog.find("brew").folder == target


def test_a_file_is_removed_only_from_the_copy(house: SkillHome) -> None:
    write_skill(house.bundled, "brew", None, references__a_dot_md="a")
    house.apply(ManageCall("remove_file", "brew", file_path="references/a.md"))
    assert visible_files(house.skills) == {"brew/SKILL.md": skill_document("brew").encode()}
    assert "brew/references/a.md" in files_in(house.bundled)


def test_a_copy_goes_into_a_category_of_the_same_name(house: SkillHome) -> None:
    write_skill(house.bundled, "brew", None, references__a_dot_md="a")
    write_skill(house.skills, "brew/tea")
    house.apply(ManageCall("edit", "brew", content=BODY))
    assert visible_files(house.skills) == {
        "brew/brew/SKILL.md": BODY.encode(),
        "brew/brew/references/a.md": b"a",
        "brew/tea/SKILL.md": skill_document("tea").encode(),
    }


def test_a_copy_overwrites_nothing(house: SkillHome) -> None:
    write_skill(house.bundled, "brew", None, references__a_dot_md="a")
    (house.skills / "brew" / "brew").mkdir(parents=True)
    with pytest.raises(NameTakenError):
        house.editor.plan(ManageCall("edit", "brew", content=BODY))


def test_no_copy_is_made_of_a_skill_changed_since_planning(house: SkillHome) -> None:
    folder = write_skill(house.bundled, "brew", None, references__a_dot_md="a")
    change = house.editor.plan(ManageCall("edit", "brew", content=BODY))
    (folder / "references" / "a.md").write_text("b")
    with pytest.raises(StaleChangeError):
        house.editor.commit(change)
    assert visible_files(house.skills) == {}


@pytest.mark.parametrize("place", ["workspace", "agents"])
def test_a_writable_external_skill_is_changed_in_place(house: SkillHome, place: str) -> None:
    root = house.workspace if place == "workspace" else house.find_agents
    write_skill(root, "brew")
    house.apply(ManageCall("edit", "brew", content=BODY))
    assert files_in(root) == {"brew/SKILL.md": BODY.encode()}
    assert visible_files(house.skills) == {}


@pytest.mark.parametrize("owner", ["workspace", "external", "plugin"])
def test_only_skills_in_the_users_directory_are_deleted(house: SkillHome, owner: Owner) -> None:
    give(house, owner)
    with pytest.raises(ReadOnlySkillError, match=r"skills\.disabled"):
        house.editor.plan(ManageCall("delete", name_of(owner)))


def test_a_plugin_skill_is_not_changed(house: SkillHome) -> None:
    give(house, "plugin")
    for call in calls_on("tools:brew"):
        with pytest.raises(SkillError, match="cannot be changed so"):
            house.editor.plan(call)


def test_a_skill_that_becomes_visible_after_a_deletion_is_named(house: SkillHome) -> None:
    folder = write_skill(house.bundled, "brew")
    house.apply(ManageCall("edit", "brew", content=BODY))
    done = house.apply(ManageCall("delete", "brew"))
    assert done.message.endswith(f"From now on the one in {folder} is used.")


def test_a_copy_that_is_deleted_and_made_again_is_active(house: SkillHome) -> None:
    write_skill(house.bundled, "brew")
    for call in (
        ManageCall("edit", "brew", content=BODY),
        ManageCall("delete", "brew"),
        ManageCall("edit", "brew", content=BODY),
    ):
        house.apply(call)
    record = house.editor.usage.record("brew")
    assert record is not None
    assert (record.state, record.patch_count) == ("active", 2)
