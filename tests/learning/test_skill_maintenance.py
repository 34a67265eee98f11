"""What is done for the skills while nobody works."""

from datetime import timedelta
from pathlib import Path

import pytest

from acp_server.learning.skill_maintenance import SessionActivity, SkillMaintenance
from acp_server.session.user_notices import UserNotices
from skills_store.curation.schedule import CurationSchedule
from skills_store.locks import LockedError
from tests.learning.curator_library import SIBLINGS, CuratorLibrary

NIGHT = timedelta(hours=8)


class Server:
    """A server whose sessions rest, and a curator that says that it was there."""

    def __init__(self, folder: Path) -> None:
        self.library = CuratorLibrary(folder)
        self.clock = self.library.clock
        self.activities: list[SessionActivity] = []
        self.runs = 0
        self.maintenance = SkillMaintenance(
            self.library.skill_editor,
            CurationSchedule(self.library.skill_editor.home, self.clock),
            lambda: self.activities,
            self.curate,
            self.clock,
        )

    async def curate(self) -> str:
        self.runs += 1
        return "The curator was there."

    def work(self, *, is_idle: bool = True) -> UserNotices:
        """Let somebody work in a session just now."""
        activity = SessionActivity(is_idle, self.clock.time, UserNotices())
        self.activities.append(activity)
        return activity.user_notices


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


async def test_the_curator_first_runs_a_week_after_the_first_check(server: Server) -> None:
    server.clock.time += NIGHT
    await server.maintenance.run_if_due()
    server.clock.time += timedelta(days=6)
    await server.maintenance.run_if_due()
    assert server.runs == 0
    server.clock.time += timedelta(days=1)
    await server.maintenance.run_if_due()
    assert server.runs == 1


async def test_one_notice_about_the_run_goes_to_the_last_active_session(server: Server) -> None:
    server.clock.time += NIGHT
    await server.maintenance.run_if_due()
    server.clock.time += timedelta(days=7)
    earlier, later = server.work(), server.work()
    server.clock.time += NIGHT
    await server.maintenance.run_if_due()
    assert [earlier.take(), later.take()] in (
        [["The curator was there."], []],
        [[], ["The curator was there."]],
    )


@pytest.mark.parametrize(
    ("wait", "is_idle"),
    [(timedelta(hours=1), True), (NIGHT, False)],
    ids=["an hour ago", "at this moment"],
)
async def test_the_curator_does_not_run_while_a_session_is_active(
    server: Server, wait: timedelta, *, is_idle: bool
) -> None:
    server.clock.time += NIGHT
    await server.maintenance.run_if_due()
    server.clock.time += timedelta(days=8)
    server.work(is_idle=is_idle)
    server.clock.time += wait
    await server.maintenance.run_if_due()
    assert server.runs == 0


async def test_the_curator_never_runs_automatically_unless_enabled(server: Server) -> None:
    server.maintenance.curate = None
    for _ in range(3):
        server.clock.time += timedelta(days=8)
        await server.maintenance.run_if_due()
    assert server.runs == 0


async def test_skills_are_aged_once_a_day(server: Server) -> None:
    await server.maintenance.run_if_due()
    server.clock.time += timedelta(days=31)
    await server.maintenance.run_if_due()
    states = {
        name: each.state for name, each in server.library.skill_editor.usage.records().items()
    }
    assert states == dict.fromkeys(SIBLINGS, "stale")
    server.clock.time += timedelta(days=60)
    await server.maintenance.run_if_due()
    assert server.library.absorbed_into() == dict.fromkeys(SIBLINGS, "")


async def test_a_run_in_another_process_is_not_a_failure(server: Server) -> None:
    async def curate() -> str:
        raise LockedError

    server.maintenance.curate = curate
    server.clock.time += NIGHT
    await server.maintenance.run_if_due()
    server.clock.time += timedelta(days=8)
    user_notices = server.work()
    server.clock.time += NIGHT
    await server.maintenance.run_if_due()
    assert user_notices.take() == []
