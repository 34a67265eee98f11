"""When a skill becomes stale, is archived, and wakes up again."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from skills_store.lifecycle import (
    AgingPolicy,
    StateTransition,
    apply_transitions,
    find_due_transitions,
)
from skills_store.usage import SkillState, UsageRecord
from tests.skills_store.skill_home import SkillHome, visible_files, write_skill

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def made(
    days: float, state: SkillState = "active", used: float | None = None, *, pinned: bool = False
) -> UsageRecord:
    return UsageRecord(
        created_at=ago(days),
        created_by="agent",
        state=state,
        pinned=pinned,
        last_used_at=None if used is None else ago(used),
    )


@pytest.mark.parametrize(
    ("record", "new"),
    [
        pytest.param(made(29.9), None, id="young"),
        pytest.param(made(30), "stale", id="never used for a month"),
        pytest.param(made(200, used=29), None, id="used lately"),
        pytest.param(made(200, used=31), "stale", id="used long ago"),
        pytest.param(made(200, "stale", used=31), None, id="stale already"),
        pytest.param(made(90), "archived", id="never used for three months"),
        pytest.param(made(200, "stale", used=90), "archived", id="stale for long"),
        pytest.param(made(200, "stale", used=1), "active", id="used again"),
        pytest.param(made(200, "archived", used=1), None, id="archived stays"),
        pytest.param(made(200, pinned=True), None, id="pinned"),
        pytest.param(made(-5), None, id="made in the future"),
        pytest.param(UsageRecord(created_by="agent"), None, id="nobody knows since when"),
        pytest.param(UsageRecord(created_at=ago(200)), None, id="made by nobody known"),
        pytest.param(UsageRecord(created_at=ago(200), created_by="user"), None, id="the user's"),
        pytest.param(
            UsageRecord(created_at=ago(200), created_by="agent", last_viewed_at=ago(2)),
            None,
            id="viewed lately",
        ),
        pytest.param(
            UsageRecord(created_at=ago(200), created_by="agent", last_patched_at=ago(2)),
            None,
            id="patched lately",
        ),
        pytest.param(
            UsageRecord(created_at=ago(200), created_by="agent", restored_at=ago(2)),
            None,
            id="brought back lately",
        ),
    ],
)
def test_a_skill_transitions_with_age(record: UsageRecord, new: SkillState | None) -> None:
    found = find_due_transitions({"brew": record}, NOW)
    assert [each.new for each in found] == ([] if new is None else [new])


def test_the_age_limits_can_be_configured() -> None:
    records = {"b": made(2), "a": made(5)}
    assert find_due_transitions(records, NOW, AgingPolicy(2, 4)) == (
        StateTransition("a", "active", "archived", 5),
        StateTransition("b", "active", "stale", 2),
    )


def test_transitions_are_applied_and_can_be_undone(tmp_path: Path) -> None:
    skill_home = SkillHome(tmp_path)
    editor = skill_home.editor
    for name in ("gone", "old", "bundled", "tired"):
        editor.usage.record_creation(name, "agent")
    for name in ("old", "bundled", "tired"):
        write_skill(skill_home.skills, name)
    editor.home.bundled_manifest.write_text("bundled:1\n")
    before = visible_files(skill_home.skills)
    expected = (
        StateTransition("bundled", "active", "archived", 91),
        StateTransition("gone", "active", "archived", 91),
        StateTransition("old", "active", "archived", 91),
        StateTransition("tired", "active", "stale", 31),
    )
    undo_id = editor.new_undo_id()
    assert apply_transitions(editor, expected, undo_id) == expected[2:]
    assert (skill_home.skills / ".archive" / "old" / "SKILL.md").exists()
    states = {name: record.state for name, record in editor.usage.records().items()}
    assert states == {"gone": "active", "bundled": "active", "old": "archived", "tired": "stale"}
    entry = editor.archive.find("old")
    assert entry is not None
    assert (entry.reason, entry.origin) == ("idle for 91 days", "curator")
    editor.undo(undo_id)
    assert visible_files(skill_home.skills) == before
