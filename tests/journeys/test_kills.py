"""A server that is killed in the middle of turns, again and again, in one long session.

What is certain at any moment: the prompt is kept before the model is asked, a call before it has an
effect, no file is half of anything, and no process outlives the server.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil
import pytest

from tests.journeys.day import Day, DayConfig, DaySession, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.shown_request import ShownRequest
from tests.sessions.test_killed import check_database
from tests.support.editor import Object
from tests.support.messages_api import call
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SETTINGS: Object = {"sandbox": {"mode": "off"}}
# A new process has no report of the endpoint to calibrate its count by: a request may be refused.
CONFIG = DayConfig(mode="bypass", settings=SETTINGS, configured_window_tokens=200_000)
LINES = 3_000
MAX_MESSAGES = 45
"""A turn sends about so many messages."""
KINDS = ("work", "work", "delegate", "compact")


@dataclass(slots=True)
class KilledSession:
    """One session, whose server is killed in each of its turns."""

    day: Day
    session: DaySession
    root: Path
    chance: Random
    prompts: list[str] = field(default_factory=list[str])
    """The prompts that the model was asked."""

    def play(self, number: int) -> None:
        """Play a turn, kill the server at some moment of it, start another one, and look."""
        kind = self.chance.choice(KINDS)
        prompt = "/compact" if kind == "compact" else f"Turn {number:03}."
        asked = len(self.day.api.model_requests)
        limit = len(self.day.server.messages) + self.chance.randint(0, MAX_MESSAGES)
        if kind == "compact":
            answer = self.day.server.start_request(
                "session/prompt",
                {"sessionId": self.session.id, "prompt": [{"type": "text", "text": prompt}]},
            )
        else:
            answer = self.session.start_prompt(prompt, self._program(number, kind))
        self.day.seat.play(f"Subtask {number:03}", self._work_of_sub_agent, self.session.name)
        self.day.attend(lambda: len(self.day.server.messages) >= limit or self._is_answered(answer))
        if kind != "compact" and len(self.day.api.model_requests) > asked:
            self.prompts.append(prompt)
        self._kill()
        self.day.start()
        self._check(self.session.load(), number)

    def _is_answered(self, answer: int) -> bool:
        return any(
            "method" not in each and each.get("id") == answer for each in self.day.server.messages
        )

    def _program(self, number: int, kind: str) -> WriteProgram:
        def program(shown: ShownRequest) -> ModelProgram:
            del shown
            yield call("read_file", path="whole.txt", limit=1)
            yield call("write_file", path=f"turn {number}.txt", content=f"{number}\n" * LINES)
            if kind == "delegate":
                yield call("delegate_task", goal=f"Subtask {number:03}")
            yield call(
                "patch", path="notes.txt", old_string="# End\n", new_string=f"{number}\n# End\n"
            )
            yield call("terminal", command=f"echo {number} >> log.txt; sleep 0.0{number % 10}")
            yield call("terminal", command=f"echo begun; sleep 4{number:03}", background=True)
            return f"Done with {number}."

        return program

    def _work_of_sub_agent(self, shown: ShownRequest) -> ModelProgram:
        del shown
        yield call("read_file", path="notes.txt")
        yield call("terminal", command="sleep 0.02; echo by the sub-agent")
        return "The sub-agent is done."

    def _kill(self) -> None:
        server = psutil.Process(self.day.server.process.pid)
        children = server.children(recursive=True)
        self.day.kill()
        _, alive = psutil.wait_procs(children, timeout=HANG_TIMEOUT_SECONDS)
        assert alive == []

    def _check(self, shown: Sequence[Object], number: int) -> None:
        text = repr(shown)
        for prompt in self.prompts:
            assert prompt in text, f"{number}: lost {prompt}"
        for path in self.root.glob("turn *.txt"):
            writer = path.stem.removeprefix("turn ")
            assert path.read_text() == f"{writer}\n" * LINES
            assert path.name in text, f"{number}: the call that wrote {path.name} was lost"
        notes = (self.root / "notes.txt").read_text().splitlines()
        assert notes[0] == "# Notes"
        assert notes[-1] == "# End"
        assert list(self.root.glob(".*")) == []  # what a write begins with
        calls = (each for each in shown if each["is"] == "call")
        assert {str(each["status"]) for each in calls} <= {"completed", "failed"}


COUNTS = [
    pytest.param(3, id="3 kills"),
    pytest.param(200, id="200 kills", marks=pytest.mark.full),
]


@pytest.mark.parametrize("count", COUNTS)
def test_a_session_survives_kills_at_any_moment(tmp_path: Path, count: int) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "whole.txt").write_text("one\n")
    (root / "notes.txt").write_text("# Notes\n# End\n")
    with open_day(tmp_path, CONFIG) as day:
        chance = Random(count)  # noqa: S311 - no secret
        killed = KilledSession(day, day.open_session(root), root, chance)
        for number in range(count):
            killed.play(number)
        assert killed.prompts
        killed.session.prompt("At last.", _say_goodbye)
    check_database(tmp_path / "home" / "acp" / "sessions.db")


def _say_goodbye(shown: ShownRequest) -> ModelProgram:
    del shown
    yield call("read_file", path="notes.txt")
    return "Goodbye."
