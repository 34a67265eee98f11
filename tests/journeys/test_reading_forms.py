"""Forms of commands that only read, through a real process in `ask` mode: which of them ask."""

import re
import shutil
from pathlib import Path

import pytest

from acp_server.permissions.policy import Ask
from tests.journeys.day import DayConfig, open_day
from tests.journeys.decisions import decide_all
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shown_request import ShownRequest
from tests.journeys.test_confined_answer import create_repository
from tests.journeys.user import AskedQuestion
from tests.support.messages_api import call

TABLE = Path(__file__).parents[2] / "docs" / "reading.md"
_ROW = re.compile(r"\| `` (?P<form>.+) `` \| (?P<before>\w+) \| (?P<now>\w+) \|")


def read_table() -> dict[str, str]:
    """Return the verdicts of the table, by form."""
    rows = [_ROW.fullmatch(line) for line in TABLE.read_text("utf-8").splitlines()]
    return {row["form"].replace("\\|", "|"): row["now"] for row in rows if row is not None}


def test_the_policy_decides_as_the_table_of_forms_says(tmp_path: Path) -> None:
    table = read_table()
    assert len(table) >= 40
    repository = create_repository(tmp_path / "shop")
    decisions = decide_all(repository.root, [*table], "confined")
    asking = [form for form, decision in decisions if isinstance(decision, Ask)]
    assert asking == [form for form, now in table.items() if now == "asks"]


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.full)])
def test_the_table_of_forms_says_which_of_them_ask(tmp_path: Path, step: int) -> None:
    # Without its program, a form would be judged all the same, but that is what users see.
    forms = {
        form: now
        for form, now in [*read_table().items()][::step]
        if not form.startswith("go") or shutil.which("go")
    }
    assert {*forms.values()} == {"asks", "passes"}
    repository = create_repository(tmp_path / "shop")
    asked: list[str] = []

    def reject(question: AskedQuestion) -> str:
        asked.append(question.text)
        return "reject_once"

    def work(shown: ShownRequest) -> ModelProgram:
        for form in forms:
            shown = yield call("terminal", command=form)
            if "rejected" in shown.results[-1]:
                rejected.append(form)
        return "Done."

    rejected: list[str] = []
    with open_day(tmp_path, DayConfig()) as day:
        day.user.policy = reject
        day.open_session(repository.root, "forms").prompt("Read.", work)
    assert rejected == [form for form, now in forms.items() if now == "asks"]
    assert len(asked) == len(rejected)
