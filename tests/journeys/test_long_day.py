"""A long day in one session: far more is read than the context window holds, and nothing is lost.

Every round is the same honest work (search, read a long file, see a test fail, mend it, see it
pass), so that at its end every round can be checked in the repository.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.journeys.day import MODELS, Day, DayConfig, DaySession, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.report import sum_rows
from tests.journeys.shop_repository import Repository
from tests.journeys.shown_request import ApiForm, ShownRequest
from tests.journeys.user import WAIT, AskedQuestion, FormAnswer, allow_once
from tests.support.messages_api import call
from tests.support.user_texts import CHANGED_SINCE_READ, OLD_RESULTS_REMOVED

RULE = "Never touch anything below vendor/, whatever happens."
LINES_PER_PART = 420
CLEARED = OLD_RESULTS_REMOVED
USERS_FUNCTION = "\n\ndef written_by_the_user():\n    return 'mine'\n"


@dataclass(frozen=True)
class Length:
    """How long the day is."""

    rounds: int
    window_tokens: int
    min_requests: int
    min_cached_share: float


SHORT = Length(rounds=4, window_tokens=17_000, min_requests=30, min_cached_share=0.6)
FULL = Length(rounds=44, window_tokens=100_000, min_requests=300, min_cached_share=0.95)


@pytest.mark.parametrize(
    ("form", "length"),
    [
        pytest.param("messages", SHORT, id="messages"),
        pytest.param("messages", FULL, id="messages, full", marks=pytest.mark.full),
        pytest.param("chat", SHORT, id="chat", marks=pytest.mark.full),
        pytest.param("responses", SHORT, id="responses", marks=pytest.mark.full),
    ],
)
def test_a_long_day_loses_neither_work_nor_rules(
    tmp_path: Path, form: ApiForm, length: Length
) -> None:
    parts = create_parts(tmp_path / "parts", length.rounds)
    settings: dict[str, JsonValue] = {"sandbox": {"mode": "off"}}
    config = DayConfig(form, length.window_tokens, mode="accept_edits", settings=settings)
    with open_day(tmp_path, config) as day:
        session = day.open_session(parts.root)
        session.prompt(f"{RULE} List the parts as tasks.", list_parts(length.rounds))
        cleared = work_through(day, session, parts, length.rounds)
        tasks = session.prompt("What is on your list?", list_tasks)
        check_end(day, session, parts, [json.loads(line) for line in tasks.splitlines()])
        total = sum_rows(day.rows)
        assert total.requests >= length.min_requests
        assert total.cached_share >= length.min_cached_share
        assert cleared >= 1
        assert len(day.seat.summaries) >= 2


def work_through(day: Day, session: DaySession, parts: Repository, rounds: int) -> int:
    """Mend all parts, with all that happens in a day; return how often results were removed."""
    cleared = 0
    for number in range(rounds):
        if number == rounds // 4:
            parts.write(path_of(0), parts.read(path_of(0)) + USERS_FUNCTION)
            session.prompt("I added a function to part 0. Add one yourself.", add_function)
        if number == rounds // 3:
            session.command("/compact keep the tasks")
        if number == rounds // 2:
            day.user.policy = leave_open
            session.prompt_until(day.user.has_left, "Begin.", mend(number))
            cleared += count_cleared(day)
            day.kill()
            day.start()
            session.load()
            day.user.policy = allow_once
        if number == 2 * rounds // 3:
            session.set_model(MODELS[day.config.form][1])
        if number == 3 * rounds // 4:
            session.command("/compact")
        session.prompt(f"Mend part {number}.", mend(number))
    cleared += count_cleared(day)
    return cleared


def create_parts(root: Path, count: int) -> Repository:
    """Create a repository of long modules, each wrong in one place and with a test of its own."""
    repository = Repository(root)
    repository.write("tests/__init__.py", "")
    for number in range(count):
        filler = [
            f"def helper_{number:02}_{line}(value):\n    return value + {line}  # a line of code\n"
            for line in range(LINES_PER_PART // 3)
        ]
        wrong = f"def value_{number:02}():\n    return {number}\n"
        repository.write(path_of(number), "\n".join([*filler, wrong]))
        repository.write(
            f"tests/test_part_{number:02}.py",
            f"import unittest\nfrom parts.part_{number:02} import value_{number:02}\n\n\n"
            "class PartTest(unittest.TestCase):\n    def test_value(self):\n"
            f"        self.assertEqual(value_{number:02}(), {number + 1000})\n",
        )
    repository.write("vendor/code.py", "UNTOUCHED = True\n")
    repository.git("init", "-q", "-b", "main")
    repository.git("config", "user.name", "Test")
    repository.git("config", "user.email", "test@example.org")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "Begin the parts")
    return repository


def path_of(number: int) -> str:
    return f"parts/part_{number:02}.py"


# What the model does.


def list_parts(count: int) -> WriteProgram:
    def program(shown: ShownRequest) -> ModelProgram:
        assert RULE in shown.text
        yield call("search_files", pattern="part_*.py", target="files")
        yield call("todo", todos=todos(count))
        return "Listed."

    return program


def mend(number: int) -> WriteProgram:
    test = f"python3 -m unittest -q tests.test_part_{number:02}"

    def program(shown: ShownRequest) -> ModelProgram:
        shown = yield call("search_files", pattern=f"def value_{number:02}")
        path = shown.find(r"^\S*part_\d+\.py")[0]
        shown = yield call("read_file", path=path)
        shown = yield call("terminal", command=test)
        shown.find("FAILED")
        old = f"def value_{number:02}():\n    return {number}"
        shown = yield call(
            "patch",
            path=path,
            old_string=old,
            new_string=f"{old[: old.rindex(' ')]} {number + 1000}",
        )
        shown = yield call("terminal", command=test)
        shown.find("^OK$")
        item: JsonValue = {"id": str(number), "content": f"part {number}", "status": "completed"}
        shown = yield call("todo", todos=[item], merge=True)
        return f"Part {number} is mended."

    return program


def add_function(shown: ShownRequest) -> ModelProgram:
    """Overwrite the file from memory, which must be refused, and then do it properly."""
    shown = yield call("write_file", path=path_of(0), content="def mine():\n    return 1\n")
    assert CHANGED_SINCE_READ in shown.text
    shown = yield call("read_file", path=path_of(0), offset=LINES_PER_PART - 20)
    last = shown.find("return 'mine'")[0]
    shown = yield call(
        "patch",
        path=path_of(0),
        old_string=last,
        new_string=f"{last}\n\n\ndef written_by_the_model():\n    return 'ours'",
    )
    return "Added."


def list_tasks(shown: ShownRequest) -> ModelProgram:
    assert any(RULE in part.text for part in shown.parts), "the user's rule is no longer known"
    shown = yield call("todo")
    return shown.results[-1]


def todos(count: int) -> list[JsonValue]:
    return [
        {"id": str(number), "content": f"part {number}", "status": "pending"}
        for number in range(count)
    ]


# What the user does.


def leave_open(question: AskedQuestion) -> str | FormAnswer | None:
    """Leave every question open."""
    del question
    return WAIT


# What must be so.


def count_cleared(day: Day) -> int:
    """Count the notices of the running server about removed results."""
    return sum(CLEARED in json.dumps(each) for each in day.server.messages)


def check_end(
    day: Day, session: DaySession, parts: Repository, tasks: Sequence[dict[str, JsonValue]]
) -> None:
    assert {str(task["status"]) for task in tasks} == {"completed"}
    for number in range(len(tasks)):
        assert f"return {number + 1000}\n" in parts.read(path_of(number)), number
    first = parts.read(path_of(0))
    assert USERS_FUNCTION.strip() in first
    assert "written_by_the_model" in first
    assert parts.read("vendor/code.py") == "UNTOUCHED = True\n"
    # A break costs the cache: only summaries, removals, and the switch of the model may make one.
    rebuilds = len(day.seat.summaries) + 2
    assert len(session.prefix_breaks) <= rebuilds + 12
