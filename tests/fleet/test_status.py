"""The status of a fleet: the same numbers while it runs and from its journal."""

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from acp_server.cli.fleet_view import FleetView, follow_fleet, rough_duration, status_line
from acp_server.fleet.journal import NAME, FleetJournal, read_records
from acp_server.fleet.results import UnitResult, UnitUsage
from acp_server.fleet.status import FleetStatus
from acp_server.fleet.unit import Unit, WorkspaceSource

SOURCE = WorkspaceSource("/repository", "a" * 40)


def begin(journal: FleetJournal, name: str) -> None:
    journal.append("began", key=name, id=name, attempt=1, reserved_usd=None)


def end(journal: FleetJournal, name: str, outcome: str = "done", *, is_final: bool = True) -> None:
    usage = UnitUsage(1, 100, 20)
    result = UnitResult(name, name, name, "done", usage=usage, attempts=1).as_json()
    journal.append(
        *("ended",),
        key=name,
        id=name,
        is_final=is_final,
        attempt_cost_usd=0.5,
        result=result | {"outcome": outcome},
    )


@pytest.fixture
def status(tmp_path: Path) -> FleetStatus:
    """Status of a second run, after one in which `a` and `b` ended, and `b` not finally."""
    status = FleetStatus()
    units = [Unit(name, name, name, "Do it", SOURCE) for name in "abcdef"]
    with FleetJournal(tmp_path, status.add) as journal:
        for _ in range(2):
            journal.append("run", units=6, total_cost_usd=None)
            journal.append_queued(units)
            if not status.passed:
                begin(journal, "a")
                end(journal, "a")
                begin(journal, "b")
                end(journal, "b", "provider_error", is_final=False)
        begin(journal, "c")
        end(journal, "c", "denied")
        begin(journal, "d")
        end(journal, "d", "provider_error", is_final=False)
        journal.append("retry", key="d", id="d", attempt=2, seconds=9, reason="busy")
        begin(journal, "e")
    return status


def test_the_numbers_are_those_of_this_run_and_of_kept_results(status: FleetStatus) -> None:
    numbers = (status.passed, status.failed, status.retried, len(status.running), status.queued)
    assert numbers == (1, 1, 1, 1, 3)
    line = status_line(status, status.began + 60)
    assert line.startswith(
        "1 passed, 1 failed, 1 retried, 1 running, 3 queued, $2.00"
    )  # of both runs
    assert "240 tokens/min, about 4 min left" in line


def test_the_journal_of_a_fleet_gives_the_same_status(tmp_path: Path, status: FleetStatus) -> None:
    read = FleetStatus()
    for _, record in read_records(tmp_path / NAME):
        read.add(record)
    assert read == status


def test_the_view_shows_running_tasks_with_their_last_call(
    tmp_path: Path, status: FleetStatus
) -> None:
    (tmp_path / "e.log").write_text("read: README.md\n\x1b[31mrun: make test\n")
    text = io.StringIO()
    Console(file=text, width=100).print(FleetView(status, tmp_path))
    first, last = text.getvalue().splitlines()
    assert first.split()[0] == "e"
    assert "run: make test" in first
    assert "\x1b" not in first
    assert last.startswith("1 passed")


async def test_a_run_is_followed_from_its_journal_to_its_end(
    tmp_path: Path, status: FleetStatus, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await follow_fleet(tmp_path) == 1
    shown = capsys.readouterr()
    assert "continue with --resume" in shown.err
    with FleetJournal(tmp_path) as journal:
        journal.append("stopped", outcome=None, reason="")
    assert await follow_fleet(tmp_path) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("1 passed, 1 failed")
    assert status.began <= time.time()


def test_durations_are_rough() -> None:
    assert [rough_duration(each) for each in (9, 250, 7300)] == ["9 s", "4 min", "2 h 2 min"]
