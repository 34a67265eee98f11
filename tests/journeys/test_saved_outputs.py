"""Long outputs through the real process: kept in files that their session may read."""

import re
from pathlib import Path

import pytest

from tests.journeys.day import DayConfig, DaySession, open_day
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import AskedQuestion, FormAnswer
from tests.support.editor import Object
from tests.support.messages_api import call

MODES = ("plan", "ask", "accept_edits", "bypass")
SAVED = re.compile(r"are shown; read (\S+) \(([\d,]+) lines")
MAX_SHOWN = 10_000


def reject_reads(question: AskedQuestion) -> str | FormAnswer | None:
    """Allow commands, and refuse what a saved output must be readable without."""
    return "reject_once" if question.text.startswith(("Read", "Search")) else "allow_once"


def print_numbers(last: int, found: dict[str, str], name: str) -> ModelProgram:
    """Have a command print numbers; remember where its output is."""
    shown = yield call("terminal", command=f"seq 1 {last}")
    text = shown.results[0]
    saved = SAVED.search(text)
    assert saved is not None, text
    assert len(text) <= MAX_SHOWN
    assert text.startswith("1\n2\n")
    assert text.endswith(f"\n{last}")
    assert saved[2] == f"{last:,}"
    found[name] = saved[1]
    return "Printed."


def look_into(path: str, last: int) -> ModelProgram:
    """Read and search a saved output."""
    shown = yield call("read_file", path=path, offset=last - 1, limit=2)
    assert shown.results[0].startswith(f"{last - 1}\n{last}|{last}\n"), shown.results[0]
    shown = yield call("search_files", pattern=f"^{last - 7}$", path=path)
    assert f"{last - 7}:{last - 7}" in shown.results[0], shown.results[0]
    return "Found."


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="sandbox"),
        pytest.param({"sandbox": {"mode": "off"}}, id="free", marks=pytest.mark.full),
    ],
)
def test_a_session_reads_its_own_long_outputs_in_every_mode_and_no_other_session_does(
    tmp_path: Path, workspace: Path, settings: Object
) -> None:
    found: dict[str, str] = {}
    with open_day(tmp_path, DayConfig(settings=settings)) as day:
        day.user.policy = reject_reads
        session = day.open_session(workspace)
        # The first fits into memory; the second goes to the disk while it is printed.
        for last, name in ((5_000, "short"), (100_000, "long")):
            program = print_numbers(last, found, name)
            session.prompt(f"Print {name}.", lambda _, program=program: program)
        day.user.questions.clear()
        for mode in MODES:
            session.set_mode(mode)
            # Whether it is in memory or on the disk does not depend on the mode.
            for last, name in ((5_000, "short"), (100_000, "long"))[: 2 if mode == MODES[0] else 1]:
                program = look_into(found[name], last)
                session.prompt(f"Look {mode} {name}.", lambda _, program=program: program)
        assert day.user.questions == []
        _look_from_another_session(day.open_session(workspace, "other"), found["short"])
        assert [each.kind for each in day.user.questions] == ["permission", "permission"]


def _look_from_another_session(other: DaySession, path: str) -> None:
    def look(shown: ShownRequest) -> ModelProgram:
        shown = yield call("read_file", path=path)
        assert "5000" not in shown.results[0]
        shown = yield call("search_files", pattern="4993", path=path)
        assert "4993:" not in shown.results[0]
        return "Refused."

    other.prompt("Look.", look)


def test_a_saved_output_is_private_and_deleted_with_its_session(
    tmp_path: Path, workspace: Path
) -> None:
    found: dict[str, str] = {}
    with open_day(tmp_path) as day:
        session = day.open_session(workspace)
        session.prompt("Print.", lambda _: print_numbers(100_000, found, "long"))
        file = Path(found["long"])
        assert file.read_text() == "".join(f"{number}\n" for number in range(1, 100_001))
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        day.request("session/delete", {"sessionId": session.id})
        assert not file.parent.exists()


def test_the_first_output_of_a_background_command_stays_readable(
    tmp_path: Path, workspace: Path
) -> None:
    def watch(shown: ShownRequest) -> ModelProgram:
        shown = yield call("terminal", command="seq 1 60000", background=True)
        name = shown.find(r"session_id (\w+)")[1]
        yield call("process", action="wait", session_id=name, timeout=60)
        shown = yield call("process", action="log", session_id=name, offset=0, limit=5)
        path = shown.find(r"earlier ones are in (\S+) ")[1]
        shown = yield call("read_file", path=path, limit=3)
        assert shown.results[0].startswith("1\n2\n3\n")
        return "Read."

    with open_day(tmp_path) as day:
        session = day.open_session(workspace)
        session.prompt("Watch.", watch)
        assert "Read" not in " ".join(each.text for each in day.user.questions)
