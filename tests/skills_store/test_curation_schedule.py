"""When skills are put in order unasked."""

from datetime import timedelta
from pathlib import Path

import pytest

from skills_store.curation.schedule import CurationSchedule, LastCuration
from skills_store.home import AgentHome
from skills_store.locks import LockedError
from tests.skills_store.skill_home import TickingClock

LONG = timedelta(hours=3)


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def schedule(tmp_path: Path, clock: TickingClock) -> CurationSchedule:
    return CurationSchedule(AgentHome(tmp_path), clock)


def test_the_first_check_only_records_the_time(schedule: CurationSchedule) -> None:
    assert [schedule.is_curation_due(LONG), schedule.is_curation_due(LONG)] == [False, False]
    assert [schedule.is_aging_due(), schedule.is_aging_due()] == [False, False]


@pytest.mark.parametrize(
    ("days", "idle", "expected"),
    [(7, LONG, True), (6, LONG, False), (7, timedelta(hours=1), False)],
    ids=["a week later", "too early", "somebody works"],
)
def test_curation_is_due_weekly_when_idle(
    schedule: CurationSchedule, clock: TickingClock, days: int, idle: timedelta, *, expected: bool
) -> None:
    schedule.is_curation_due(LONG)
    clock.time += timedelta(days=days)
    assert schedule.is_curation_due(idle) is expected


def test_a_review_run_postpones_the_next_one(
    schedule: CurationSchedule, clock: TickingClock
) -> None:
    schedule.is_curation_due(LONG)
    clock.time += timedelta(days=8)
    schedule.record_curation(None)
    assert not schedule.is_curation_due(LONG)


def test_skill_ages_are_checked_once_a_day(schedule: CurationSchedule, clock: TickingClock) -> None:
    schedule.is_aging_due()
    clock.time += timedelta(days=1)
    assert schedule.is_aging_due()
    schedule.record_aging()
    assert not schedule.is_aging_due()


def test_the_last_review_run_is_remembered_until_it_is_undone(
    schedule: CurationSchedule, clock: TickingClock, tmp_path: Path
) -> None:
    assert schedule.last_curation() is None
    schedule.record_curation(LastCuration("now", "snapshot"))
    assert CurationSchedule(AgentHome(tmp_path)).last_curation() == LastCuration("now", "snapshot")
    schedule.record_undone()
    assert schedule.last_curation() == LastCuration("now", "snapshot", clock.time)


def test_only_one_process_can_curate_at_a_time(schedule: CurationSchedule, tmp_path: Path) -> None:
    other = CurationSchedule(AgentHome(tmp_path))
    with schedule.exclusive(), pytest.raises(LockedError), other.exclusive():
        pytest.fail("two at once")
    with other.exclusive():
        pass
