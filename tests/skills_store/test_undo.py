"""What nobody asked for is taken back byte for byte; what the user did since is not lost."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skills_store import undo
from skills_store.calls import ManageCall
from skills_store.ownership import ChangeOrigin
from skills_store.trees import capture_tree
from skills_store.undo import BackupStore
from skills_store.write_errors import SkillUndoConflictError, SkillUndoError
from tests.skills_store.skill_home import (
    SkillHome,
    files_in,
    skill_document,
    visible_files,
    write_skill,
)

CALLS = [
    ManageCall("create", "new", content=skill_document("new"), category="kitchen"),
    ManageCall("edit", "brew", content=skill_document("brew", "x\n")),
    ManageCall("patch", "brew", old_string="Do it.", new_string="x"),
    ManageCall("write_file", "brew", file_path="scripts/a/b.sh", file_content="b"),
    ManageCall("write_file", "brew", file_path="references/a.md", file_content="b"),
    ManageCall("remove_file", "brew", file_path="references/a.md"),
    ManageCall("delete", "brew"),
    ManageCall("delete", "kitchen"),
]


@pytest.fixture
def house(tmp_path: Path) -> SkillHome:
    house = SkillHome(tmp_path)
    folder = write_skill(house.skills, "brew", references__a_dot_md="a", scripts__x="x")
    (folder / "scripts" / "x").chmod(0o755)
    (folder / "assets").symlink_to("/nowhere")
    write_skill(house.skills, "kitchen", references__a_dot_md="a")
    write_skill(house.skills, "kitchen/oven")
    for name in ("brew", "kitchen"):
        house.editor.usage.record_creation(name, "agent")
    return house


def tree_of(house: SkillHome) -> object:
    """Return what is in the skills folder, empty folders aside."""
    hidden = (".usage.json", ".archive")
    tree = capture_tree(house.skills, lambda path: path.startswith(hidden))
    return {path: leaf for path, leaf in tree.items() if leaf.kind != "folder"}


@pytest.mark.parametrize("origin", ["review", "curator"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.action} {call.name}")
def test_each_change_can_be_undone(
    house: SkillHome, call: ManageCall, origin: ChangeOrigin
) -> None:
    before = tree_of(house)
    done = house.apply(replace(call, origin=origin))
    assert tree_of(house) != before
    assert done.undo_id is not None
    house.editor.undo(done.undo_id)
    assert tree_of(house) == before
    assert house.editor.archive.entries() == ()
    states = {name: record.state for name, record in house.editor.usage.records().items()}
    assert states == {"brew": "active", "kitchen": "active"}


def test_a_whole_review_run_can_be_undone_at_once(house: SkillHome) -> None:
    before = tree_of(house)
    undo_id = house.editor.new_undo_id()
    for call in (CALLS[0], CALLS[3], CALLS[4], CALLS[1], CALLS[7], CALLS[6]):
        house.editor.commit(house.editor.plan(replace(call, origin="curator")), undo_id)
    again = ManageCall("create", "brew", content=skill_document("brew", "new\n"), origin="curator")
    house.editor.commit(house.editor.plan(again), undo_id)
    (record,) = house.editor.undo_records()
    assert (record.id, record.origin, len(record.steps)) == (undo_id, "curator", 7)
    house.editor.undo(undo_id)
    assert tree_of(house) == before


@pytest.mark.parametrize("origin", ["turn", "user"])
def test_a_requested_change_is_not_recorded_for_undo(
    house: SkillHome, origin: ChangeOrigin
) -> None:
    assert house.apply(replace(CALLS[1], origin=origin)).undo_id is None
    assert house.editor.undo_records() == ()


def test_a_later_change_by_the_user_prevents_the_undo(house: SkillHome) -> None:
    done = house.apply(replace(CALLS[1], origin="review"))
    path = house.skills / "brew" / "SKILL.md"
    path.write_text(skill_document("brew", "mine\n"))
    before = files_in(house.skills)
    assert done.undo_id is not None
    with pytest.raises(SkillUndoConflictError) as caught:
        house.editor.undo(done.undo_id)
    assert caught.value.paths == (path,)
    assert files_in(house.skills) == before


def test_a_file_added_later_by_the_user_prevents_the_undo(house: SkillHome) -> None:
    done = house.apply(replace(CALLS[0], origin="review"))
    mine = house.skills / "kitchen" / "new" / "references" / "mine.md"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert done.undo_id is not None
    with pytest.raises(SkillUndoConflictError):
        house.editor.undo(done.undo_id)
    assert mine.read_text() == "mine"


def test_an_undone_change_is_not_undone_again(house: SkillHome) -> None:
    done = house.apply(replace(CALLS[1], origin="review"))
    assert done.undo_id is not None
    house.editor.undo(done.undo_id)
    with pytest.raises(SkillUndoError, match="was undone already"):
        house.editor.undo(done.undo_id)
    with pytest.raises(SkillUndoError, match="nothing is added"):
        house.editor.commit(house.editor.plan(replace(CALLS[1], origin="review")), done.undo_id)


@pytest.mark.parametrize("undo_id", ["", ".", "..", "../skills", "nothing", "a/b", "\0"])
def test_an_invalid_id_is_refused(house: SkillHome, undo_id: str) -> None:
    with pytest.raises(SkillUndoError):
        house.editor.undo(undo_id)


def record_of(**changed: object) -> str:
    step: dict[str, object] = {
        "action": "edit",
        "name": "a",
        "folder": "x",
        "before": {},
        "after": {},
        "copies": "0",
        "archived": None,
    }
    return json.dumps({"steps": [{**step, **changed}]})


@pytest.mark.parametrize(
    "record",
    [
        pytest.param('{"steps": [{}]}', id="no step"),
        pytest.param(record_of(action="destroy"), id="another action"),
        pytest.param(record_of(folder="../x"), id="another folder"),
        pytest.param(record_of(copies="/etc"), id="other copies"),
        pytest.param(record_of(before={"../a": ["file", 1, ""]}), id="another file"),
        pytest.param(record_of(before={"a": ["device", 1, ""]}), id="another kind"),
    ],
)
def test_a_record_pointing_elsewhere_is_refused(house: SkillHome, record: str) -> None:
    folder = house.editor.home.undo / "broken"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(record)
    assert house.editor.undo_records() == ()
    with pytest.raises(SkillUndoError, match="cannot be understood"):
        house.editor.undo("broken")


def test_only_the_latest_review_runs_are_kept(
    house: SkillHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "MAX_RECORDS", 2)
    ids = [
        house.apply(
            ManageCall(
                "edit", "brew", content=skill_document("brew", f"{number}\n"), origin="review"
            )
        ).undo_id
        for number in range(4)
    ]
    assert [record.id for record in house.editor.undo_records()] == [ids[3], ids[2]]


def test_a_snapshot_restores_the_whole_directory(house: SkillHome) -> None:
    (house.skills / ".git").mkdir()
    (house.skills / ".git" / "HEAD").write_text("before")
    (house.skills / "empty").mkdir(mode=0o750)
    backups = BackupStore(house.editor.home, house.clock)
    before = capture_tree(house.skills, lambda path: path.startswith(".git"))
    taken = backups.create("before a pass")
    for call in CALLS[:7]:
        try:
            house.apply(replace(call, origin="curator"))
        except ValueError:
            continue
    (house.skills / ".git" / "HEAD").write_text("after")
    (house.skills / "brew").mkdir(exist_ok=True)
    (house.skills / "brew" / "SKILL.md").write_text("mine")
    changed = visible_files(house.skills)
    safety = backups.restore(taken)
    found = capture_tree(house.skills, lambda path: path.startswith(".git"))
    assert {path: found.get(path) for path in before} == dict(before)
    assert {path for path in found.keys() - before.keys() if found[path].kind == "file"} == {
        ".archive/records.json.lock"
    }
    assert (house.skills / ".git" / "HEAD").read_text() == "after"
    (house.skills / ".git" / "HEAD").write_text("before")
    assert [each.id for each in backups.backups()] == [safety, taken]
    backups.restore(safety)
    restored = visible_files(house.skills)
    assert {**restored, ".git/HEAD": b"after"} == changed


def test_a_snapshot_contains_no_hard_link_to_the_originals(house: SkillHome) -> None:
    backups = BackupStore(house.editor.home, house.clock)
    taken = backups.create("test")
    copy = house.editor.home.backups / taken / "skills" / "brew" / "SKILL.md"
    original = house.skills / "brew" / "SKILL.md"
    assert copy.stat().st_ino != original.stat().st_ino
    assert copy.stat().st_mode == original.stat().st_mode


def test_only_the_latest_snapshots_are_kept(house: SkillHome) -> None:
    backups = BackupStore(house.editor.home, house.clock)
    ids = [backups.create(str(number)) for number in range(7)]
    assert [each.id for each in backups.backups()] == ids[:1:-1]


@pytest.mark.parametrize("snapshot_id", ["", "..", "nothing", "../skills"])
def test_an_invalid_snapshot_is_refused(house: SkillHome, snapshot_id: str) -> None:
    with pytest.raises(SkillUndoError):
        BackupStore(house.editor.home, house.clock).restore(snapshot_id)
