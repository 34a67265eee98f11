"""Two sessions and a user in one repository: an undo takes back its own turn's changes alone."""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from tests.journeys.day import Day, DayConfig, DaySession, open_day
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
            "Restore commanded.txt (changed by “Run one.” in the session “Edit one.”)?",
            "Restore edited.txt (changed by “Edit one.” in the session “Edit one.”)?",
        ]
        day.user.policy = allow_once
        second.command("/undo 2")
        assert (root / "edited.txt").read_text() == "old\n"
        assert len(day.user.questions) == 2


@dataclass(slots=True)
class FileState:
    """A file of the repository, and who wrote it last."""

    content: str
    writer: str = "user"
    """The name of a session, or `user`."""


@dataclass(slots=True)
class PlayedTurn:
    """A turn that changed files."""

    before: dict[str, str]
    after: dict[str, str]


@dataclass(slots=True)
class SharedRepository:
    """Two sessions and a user who change the same files; what an undo must do follows from that."""

    day: Day
    root: Path
    chance: Random
    sessions: dict[str, DaySession] = field(default_factory=dict[str, DaySession])
    files: dict[str, FileState] = field(default_factory=dict[str, FileState])
    turns: dict[str, list[PlayedTurn]] = field(default_factory=dict[str, list[PlayedTurn]])
    """The turns of each session that are not undone, the newest last."""
    number: int = 0
    undone: int = 0
    kept: int = 0
    """Files that an undo left, because somebody else changed them since."""

    def open(self) -> None:
        """Create the files and open the sessions."""
        for name in "abcde":
            self.files[f"{name}.txt"] = FileState(f"{name} as it was\n")
            (self.root / f"{name}.txt").write_text(f"{name} as it was\n")
        for name in ("first", "second"):
            self.sessions[name] = self.day.open_session(self.root, name)
            self.turns[name] = []
        self.day.user.policy = reject

    def play(self) -> None:
        """Let one of the three do something."""
        name = self.chance.choice(tuple(self.sessions))
        kind = self.chance.choices(("edit", "command", "undo", "user"), (4, 3, 4, 2))[0]
        self.number += 1
        match kind:
            case "user":
                path = self.chance.choice(tuple(self.files))
                self._write(path, f"by the user in {self.number}\n", "user")
                (self.root / path).write_text(self.files[path].content)
            case "undo":
                self._undo(name)
            case _:
                self._change(name, is_command=kind == "command")
        self.check(f"{kind} by {name}")

    def check(self, doing: str) -> None:
        """Check that every file is as it must be."""
        found = {name: (self.root / name).read_text() for name in self.files}
        expected = {name: state.content for name, state in self.files.items()}
        assert found == expected, f"{self.number}: {doing}"

    def _change(self, name: str, *, is_command: bool) -> None:
        paths = self.chance.sample(tuple(self.files), 2 if is_command else 1)
        content = {path: f"{path} by {name} in {self.number}\n" for path in paths}
        command = "; ".join(f"echo '{text.strip()}' > {path}" for path, text in content.items())
        program = run_command(command) if is_command else write(paths[0], content[paths[0]])
        self.sessions[name].prompt(f"Turn {self.number:03}.", program)
        before = {path: self.files[path].content for path in paths}
        self.turns[name].append(PlayedTurn(before, content))
        for path, text in content.items():
            self._write(path, text, name)

    def _undo(self, name: str) -> None:
        questions = len(self.day.user.questions)
        output = self.sessions[name].command("/undo")
        if not self.turns[name]:
            assert "nothing to undo" in output.lower() or "undone already" in output, output
            return
        turn = self.turns[name][-1]
        others = [path for path in turn.after if not self._is_as_left(path, name, turn)]
        for path in turn.after.keys() - set(others):
            self._write(path, turn.before[path], name)
        # Each file that somebody else has changed is asked about by name, and no other one.
        asked = [each.text for each in self.day.user.questions[questions:]]
        assert all(any(path in text for text in asked) for path in others), (asked, others)
        assert len(asked) == len(others), (asked, others)
        self.kept += len(others)
        # A turn that was undone in part is offered again.
        if not others:
            self.turns[name].pop()
            self.undone += 1

    def _is_as_left(self, path: str, name: str, turn: PlayedTurn) -> bool:
        state = self.files[path]
        return state.content in {turn.after[path], turn.before[path]} and state.writer == name

    def _write(self, path: str, content: str, writer: str) -> None:
        self.files[path] = FileState(content, writer)


LENGTHS = [
    pytest.param(14, 3, id="14 turns"),
    *(pytest.param(60, seed, id=f"60 turns, {seed}", marks=pytest.mark.full) for seed in range(5)),
]


@pytest.mark.parametrize(("count", "seed"), LENGTHS)
def test_two_sessions_and_a_user_change_one_repository_and_undo(
    tmp_path: Path, count: int, seed: int
) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    with open_day(tmp_path, CONFIG) as day:
        shared = SharedRepository(day, root, Random(seed))  # noqa: S311 - no secret
        shared.open()
        for _ in range(count):
            shared.play()
        assert shared.undone
        assert shared.kept
