"""The sidecar of counters: what stands in it, what of it is kept, and who comes first."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from skills_store.locks import locked
from skills_store.usage import SkillUsageStore, UsageRecord, parse_time, rank_by_activity
from tests.skills_store.skill_home import TickingClock

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def usage(tmp_path: Path) -> SkillUsageStore:
    return SkillUsageStore(tmp_path, TickingClock(START))


def test_a_record_has_the_fields_used_by_hermes(usage: SkillUsageStore, tmp_path: Path) -> None:
    usage.record_creation("brew", "agent")
    usage.count("brew", "view", "use")
    assert json.loads((tmp_path / ".usage.json").read_text()) == {
        "brew": {
            "view_count": 1,
            "use_count": 1,
            "patch_count": 0,
            "last_viewed_at": "2026-01-01T12:00:02+00:00",
            "last_used_at": "2026-01-01T12:00:02+00:00",
            "last_patched_at": None,
            "created_at": "2026-01-01T12:00:01+00:00",
            "created_by": "agent",
            "pinned": False,
            "state": "active",
            "archived_at": None,
        }
    }


def test_unknown_fields_are_preserved(usage: SkillUsageStore, tmp_path: Path) -> None:
    file = tmp_path / ".usage.json"
    file.write_text('{"brew": {"mood": [1], "use_count": 3}, "_version": 2, "odd": "x"}')
    usage.count("brew", "use")
    usage.pin("tea")
    written = json.loads(file.read_text())
    assert (written["_version"], written["odd"]) == (2, "x")
    assert (written["brew"]["mood"], written["brew"]["use_count"]) == ([1], 4)
    assert usage.records().keys() == {"brew", "tea"}


def test_values_of_the_wrong_type_count_as_missing(usage: SkillUsageStore, tmp_path: Path) -> None:
    record = {
        "view_count": "3",
        "use_count": True,
        "last_used_at": 5,
        "last_viewed_at": "never",
        "pinned": "yes",
        "state": "asleep",
        "created_by": 1,
    }
    (tmp_path / ".usage.json").write_text(json.dumps({"brew": record}))
    assert usage.record("brew") == UsageRecord()


@pytest.mark.parametrize("content", ["{", "[]", "", "\udcff"], ids=ascii)
def test_a_broken_file_is_moved_aside(usage: SkillUsageStore, tmp_path: Path, content: str) -> None:
    data = content.encode("utf-8", "surrogateescape")
    (tmp_path / ".usage.json").write_bytes(data)
    assert usage.records() == {}
    usage.count("brew", "view")
    assert (tmp_path / ".usage.json.broken").read_bytes() == data
    assert usage.records().keys() == {"brew"}


def test_a_recreated_skill_starts_at_zero(usage: SkillUsageStore) -> None:
    usage.record_creation("brew", "agent")
    usage.count("brew", "use")
    usage.set_state("brew", "archived")
    usage.record_creation("brew", "user")
    assert usage.record("brew") == UsageRecord(
        created_at=datetime(2026, 1, 1, 12, 0, 4, tzinfo=UTC), created_by="user"
    )


def test_states_and_pins_can_be_set_and_cleared(usage: SkillUsageStore) -> None:
    usage.record_creation("brew", "agent")
    usage.set_state("brew", "archived")
    usage.pin("brew")
    record = usage.record("brew")
    assert record is not None
    assert (record.state, record.pinned) == ("archived", True)
    assert record.archived_at == datetime(2026, 1, 1, 12, 0, 2, tzinfo=UTC)
    usage.set_state("brew", "active")
    usage.unpin("brew")
    record = usage.record("brew")
    assert record is not None
    assert (record.state, record.pinned, record.archived_at) == ("active", False, None)
    assert record.restored_at == datetime(2026, 1, 1, 12, 0, 4, tzinfo=UTC)
    usage.forget("brew")
    assert usage.record("brew") is None


def test_counting_never_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    SkillUsageStore(tmp_path / "file" / "skills").count("brew", "view")
    assert "was not counted" in caplog.text


def test_no_count_is_lost_between_two_concurrent_writers(tmp_path: Path) -> None:
    def count() -> None:
        usage = SkillUsageStore(tmp_path)
        for _ in range(20):
            usage.count("brew", "use")

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record = SkillUsageStore(tmp_path).record("brew")
    assert record is not None
    assert record.use_count == 60


def test_the_lock_is_shared_with_hermes(usage: SkillUsageStore, tmp_path: Path) -> None:
    usage.pin("brew")
    assert (tmp_path / ".usage.json.lock").exists()
    with locked(tmp_path / ".usage.json"):
        counted = threading.Thread(target=usage.count, args=("brew", "view"))
        counted.start()
        record = SkillUsageStore(tmp_path).record("brew")
        assert record is not None
        assert record.view_count == 0
    counted.join()
    record = usage.record("brew")
    assert record is not None
    assert record.view_count == 1


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-01T12:00:00+00:00", START),
        ("2026-01-01T12:00:00Z", START),
        ("2026-01-01T12:00:00", START),
        ("2026-01-01T14:00:00+02:00", START),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (None, None),
    ],
    ids=str,
)
def test_times_are_parsed_in_all_formats(text: str | None, time: datetime | None) -> None:
    assert parse_time(text) == time


def test_skills_are_sorted_by_latest_day_then_name() -> None:
    def used(day: int, hour: int) -> UsageRecord:
        return UsageRecord(last_used_at=datetime(2026, 1, day, hour, tzinfo=UTC))

    records = {"a": used(1, 1), "b": used(2, 1), "c": used(2, 9), "d": UsageRecord()}
    assert rank_by_activity(records, ["e", "d", "c", "b", "a"]) == ("b", "c", "a", "d", "e")
