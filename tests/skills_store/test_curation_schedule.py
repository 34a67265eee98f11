"""When skills are put in order unasked."""

from datetime import timedelta
from pathlib import Path

import pytest

from skills_store.curation import LastPass, Schedule
from skills_store.home import Home
from skills_store.locks import LockedError
from tests.skills_store.skill_home import Clock

LONG = timedelta(hours=3)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def schedule(tmp_path: Path, clock: Clock) -> Schedule:
    return Schedule(Home(tmp_path), clock)


def test_first_sight_only_notes_the_time(schedule: Schedule) -> None:
    assert [schedule.is_curation_due(LONG), schedule.is_curation_due(LONG)] == [False, False]
    assert [schedule.is_ageing_due(), schedule.is_ageing_due()] == [False, False]


@pytest.mark.parametrize(
    ("days", "idle", "expected"),
    [(7, LONG, True), (6, LONG, False), (7, timedelta(hours=1), False)],
    ids=["a week later", "too early", "somebody works"],
)
def test_a_curator_s_turn_comes_every_week_when_nobody_works(
    schedule: Schedule, clock: Clock, days: int, idle: timedelta, *, expected: bool
) -> None:
    schedule.is_curation_due(LONG)
    clock.time += timedelta(days=days)
    assert schedule.is_curation_due(idle) is expected


def test_a_pass_puts_the_next_one_off(schedule: Schedule, clock: Clock) -> None:
    schedule.is_curation_due(LONG)
    clock.time += timedelta(days=8)
    schedule.note_curation(None)
    assert not schedule.is_curation_due(LONG)


def test_ages_are_looked_at_once_a_day(schedule: Schedule, clock: Clock) -> None:
    schedule.is_ageing_due()
    clock.time += timedelta(days=1)
    assert schedule.is_ageing_due()
    schedule.note_ageing()
    assert not schedule.is_ageing_due()


def test_the_last_pass_is_remembered_until_it_is_undone(
    schedule: Schedule, clock: Clock, tmp_path: Path
) -> None:
    assert schedule.last_pass() is None
    schedule.note_curation(LastPass("now", "snapshot"))
    assert Schedule(Home(tmp_path)).last_pass() == LastPass("now", "snapshot")
    schedule.note_undone()
    assert schedule.last_pass() == LastPass("now", "snapshot", clock.time)


def test_one_process_at_a_time(schedule: Schedule, tmp_path: Path) -> None:
    other = Schedule(Home(tmp_path))
    with schedule.alone(), pytest.raises(LockedError), other.alone():
        pytest.fail("two at once")
    with other.alone():
        pass
