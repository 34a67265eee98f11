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
def skill_home(tmp_path: Path) -> SkillHome:
    skill_home = SkillHome(tmp_path)
    folder = write_skill(skill_home.skills, "brew", references__a_dot_md="a", scripts__x="x")
    (folder / "scripts" / "x").chmod(0o755)
    (folder / "assets").symlink_to("/nowhere")
    write_skill(skill_home.skills, "kitchen", references__a_dot_md="a")
    write_skill(skill_home.skills, "kitchen/oven")
    for name in ("brew", "kitchen"):
        skill_home.editor.usage.record_creation(name, "agent")
    return skill_home


def tree_of(skill_home: SkillHome) -> object:
    """Return what is in the skills folder, empty folders aside."""
    hidden = (".usage.json", ".archive")
    tree = capture_tree(skill_home.skills, lambda path: path.startswith(hidden))
    return {path: leaf for path, leaf in tree.items() if leaf.kind != "folder"}


@pytest.mark.parametrize("origin", ["review", "curator"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.action} {call.name}")
def test_each_change_can_be_undone(
    skill_home: SkillHome, call: ManageCall, origin: ChangeOrigin
) -> None:
    before = tree_of(skill_home)
    done = skill_home.apply(replace(call, origin=origin))
    assert tree_of(skill_home) != before
    assert done.undo_id is not None
    skill_home.editor.undo(done.undo_id)
    assert tree_of(skill_home) == before
    assert skill_home.editor.archive.entries() == ()
    states = {name: record.state for name, record in skill_home.editor.usage.records().items()}
    assert states == {"brew": "active", "kitchen": "active"}


def test_a_whole_review_run_can_be_undone_at_once(skill_home: SkillHome) -> None:
    before = tree_of(skill_home)
    undo_id = skill_home.editor.new_undo_id()
    for call in (CALLS[0], CALLS[3], CALLS[4], CALLS[1], CALLS[7], CALLS[6]):
        skill_home.editor.commit(skill_home.editor.plan(replace(call, origin="curator")), undo_id)
    again = ManageCall("create", "brew", content=skill_document("brew", "new\n"), origin="curator")
    skill_home.editor.commit(skill_home.editor.plan(again), undo_id)
    (record,) = skill_home.editor.undo_records()
    assert (record.id, record.origin, len(record.steps)) == (undo_id, "curator", 7)
    skill_home.editor.undo(undo_id)
    assert tree_of(skill_home) == before


@pytest.mark.parametrize("origin", ["turn", "user"])
def test_a_requested_change_is_not_recorded_for_undo(
    skill_home: SkillHome, origin: ChangeOrigin
) -> None:
    assert skill_home.apply(replace(CALLS[1], origin=origin)).undo_id is None
    assert skill_home.editor.undo_records() == ()


def test_a_later_change_by_the_user_prevents_the_undo(skill_home: SkillHome) -> None:
    done = skill_home.apply(replace(CALLS[1], origin="review"))
    path = skill_home.skills / "brew" / "SKILL.md"
    path.write_text(skill_document("brew", "mine\n"))
    before = files_in(skill_home.skills)
    assert done.undo_id is not None
    with pytest.raises(SkillUndoConflictError) as caught:
        skill_home.editor.undo(done.undo_id)
    assert caught.value.paths == (path,)
    assert files_in(skill_home.skills) == before


def test_a_file_added_later_by_the_user_prevents_the_undo(skill_home: SkillHome) -> None:
    done = skill_home.apply(replace(CALLS[0], origin="review"))
    mine = skill_home.skills / "kitchen" / "new" / "references" / "mine.md"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert done.undo_id is not None
    with pytest.raises(SkillUndoConflictError):
        skill_home.editor.undo(done.undo_id)
    assert mine.read_text() == "mine"


def test_an_undone_change_is_not_undone_again(skill_home: SkillHome) -> None:
    done = skill_home.apply(replace(CALLS[1], origin="review"))
    assert done.undo_id is not None
    skill_home.editor.undo(done.undo_id)
    with pytest.raises(SkillUndoError, match="was undone already"):
        skill_home.editor.undo(done.undo_id)
    with pytest.raises(SkillUndoError, match="nothing is added"):
        skill_home.editor.commit(
            skill_home.editor.plan(replace(CALLS[1], origin="review")), done.undo_id
        )


@pytest.mark.parametrize("undo_id", ["", ".", "..", "../skills", "nothing", "a/b", "\0"])
def test_an_invalid_id_is_refused(skill_home: SkillHome, undo_id: str) -> None:
    with pytest.raises(SkillUndoError):
        skill_home.editor.undo(undo_id)


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
def test_a_record_pointing_elsewhere_is_refused(skill_home: SkillHome, record: str) -> None:
    folder = skill_home.editor.home.undo / "broken"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(record)
    assert skill_home.editor.undo_records() == ()
    with pytest.raises(SkillUndoError, match="cannot be understood"):
        skill_home.editor.undo("broken")


def test_only_the_latest_review_runs_are_kept(
    skill_home: SkillHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "MAX_RECORDS", 2)
    ids = [
        skill_home.apply(
            ManageCall(
                "edit", "brew", content=skill_document("brew", f"{number}\n"), origin="review"
            )
        ).undo_id
        for number in range(4)
    ]
    assert [record.id for record in skill_home.editor.undo_records()] == [ids[3], ids[2]]


def test_a_snapshot_restores_the_whole_directory(skill_home: SkillHome) -> None:
    (skill_home.skills / ".git").mkdir()
    (skill_home.skills / ".git" / "HEAD").write_text("before")
    (skill_home.skills / "empty").mkdir(mode=0o750)
    backups = BackupStore(skill_home.editor.home, skill_home.clock)
    before = capture_tree(skill_home.skills, lambda path: path.startswith(".git"))
    taken = backups.create("before a pass")
    for call in CALLS[:7]:
        try:
            skill_home.apply(replace(call, origin="curator"))
        except ValueError:
            continue
    (skill_home.skills / ".git" / "HEAD").write_text("after")
    (skill_home.skills / "brew").mkdir(exist_ok=True)
    (skill_home.skills / "brew" / "SKILL.md").write_text("mine")
    changed = visible_files(skill_home.skills)
    safety = backups.restore(taken)
    found = capture_tree(skill_home.skills, lambda path: path.startswith(".git"))
    assert {path: found.get(path) for path in before} == dict(before)
    assert {path for path in found.keys() - before.keys() if found[path].kind == "file"} == {
        ".archive/records.json.lock"
    }
    assert (skill_home.skills / ".git" / "HEAD").read_text() == "after"
    (skill_home.skills / ".git" / "HEAD").write_text("before")
    assert [each.id for each in backups.backups()] == [safety, taken]
    backups.restore(safety)
    restored = visible_files(skill_home.skills)
    assert {**restored, ".git/HEAD": b"after"} == changed


def test_a_snapshot_contains_no_hard_link_to_the_originals(skill_home: SkillHome) -> None:
    backups = BackupStore(skill_home.editor.home, skill_home.clock)
    taken = backups.create("test")
    copy = skill_home.editor.home.backups / taken / "skills" / "brew" / "SKILL.md"
    original = skill_home.skills / "brew" / "SKILL.md"
    assert copy.stat().st_ino != original.stat().st_ino
    assert copy.stat().st_mode == original.stat().st_mode


def test_only_the_latest_snapshots_are_kept(skill_home: SkillHome) -> None:
    backups = BackupStore(skill_home.editor.home, skill_home.clock)
    ids = [backups.create(str(number)) for number in range(7)]
    assert [each.id for each in backups.backups()] == ids[:1:-1]


@pytest.mark.parametrize("snapshot_id", ["", "..", "nothing", "../skills"])
def test_an_invalid_snapshot_is_refused(skill_home: SkillHome, snapshot_id: str) -> None:
    with pytest.raises(SkillUndoError):
        BackupStore(skill_home.editor.home, skill_home.clock).restore(snapshot_id)
