"""Two sessions and a user in one repository: an undo takes back its own turn's changes alone."""

from pathlib import Path

from tests.journeys.day import DayConfig, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import AskedQuestion, FormAnswer, allow_once
from tests.support.messages_api import call

CONFIG = DayConfig(mode="bypass", settings={"sandbox": {"mode": "off"}})


def reject(question: AskedQuestion) -> str | FormAnswer | None:
    """Reject every effect."""
    del question
    return "reject_once"


def run_command(command: str) -> WriteProgram:
    """Return a program that runs one command."""

    def program(shown: ShownRequest) -> ModelProgram:
        del shown
        yield call("terminal", command=command)
        return "Done."

    return program


def write(name: str, text: str) -> WriteProgram:
    """Return a program that reads a file and writes it."""

    def program(shown: ShownRequest) -> ModelProgram:
        del shown
        yield call("read_file", path=name)
        yield call("write_file", path=name, content=text)
        return "Done."

    return program


def test_an_undo_leaves_what_an_overlapping_turn_of_another_session_changed(
    tmp_path: Path,
) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    names = ("mine.txt", "edited.txt", "commanded.txt")
    for name in names:
        (root / name).write_text("old\n")
    with open_day(tmp_path, CONFIG) as day:
        first, second = day.open_session(root, "first"), day.open_session(root, "second")
        command = "touch started; until test -e go; do sleep 0.01; done; echo first > mine.txt"
        number = first.start_prompt("Work for long.", run_command(command))
        day.attend((root / "started").exists)
        second.prompt("Edit one.", write("edited.txt", "second\n"))
        second.prompt("Run one.", run_command("echo second > commanded.txt"))
        (root / "go").touch()
        day.finish(number, "Work for long.")
        day.user.policy = reject
        output = first.command("/undo")
        texts = [(root / name).read_text() for name in names]
        assert texts == ["old\n", "second\n", "second\n"], output
        assert sorted(question.text for question in day.user.questions) == [
            "Restore commanded.txt (changed by “Run one.” in the session “Edit one.”)",
            "Restore edited.txt (changed by “Edit one.” in the session “Edit one.”)",
        ]
        day.user.policy = allow_once
        second.command("/undo 2")
        assert (root / "edited.txt").read_text() == "old\n"
        assert len(day.user.questions) == 2
