"""Permission rules that a repository brings for Claude Code, through the real process."""

import json
from pathlib import Path

from tests.journeys.day import DayConfig, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.shop_repository import create_repository
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import AskedQuestion, FormAnswer, allow_once
from tests.support.messages_api import call
from tests.support.user_texts import ALLOWED_ONCE_AGREED


def rules(*allow: str) -> str:
    return json.dumps({"permissions": {"allow": allow, "deny": ["Bash(make other)"]}})


FILES = {".claude/settings.json": rules("Bash(make x)", "Bash(git:*)"), "a.py": "x = 1\n"}


def make(target: str) -> WriteProgram:
    def program(shown: ShownRequest) -> ModelProgram:
        shown = yield call("terminal", command=f"make {target}")
        return shown.text

    return program


def test_rules_that_allow_wait_for_consent_and_again_after_a_change(tmp_path: Path) -> None:
    root = create_repository(tmp_path / "shop", FILES, "Begin").root
    with open_day(tmp_path, DayConfig()) as day:
        day.user.policy = allow_once
        session = day.open_session(root)
        session.prompt("Make x", make("x"))
        (trust,) = day.user.questions
        assert "which allow without a question: `Bash(make x)`" in trust.text
        assert "git" not in trust.text.split("without a question")[1].splitlines()[0]
        assert "forbids it" in session.prompt("Make another", make("other"))
        assert len(day.user.questions) == 1
        assert "- allowed: `Bash(make x) in .claude/settings.json`" in session.command("/context")
        # Changed rules do not count until the user has agreed, before the next prompt.
        (root / ".claude/settings.json").write_text(rules("Bash(make x)", "Bash(make y)"))
        session.prompt("Make y", make("y"))
        session.prompt("Make y again", make("y"))
        assert "`Bash(make x)`, `Bash(make y)`" in day.user.questions[-1].text
        session.prompt("Make z", make("z"))
        assert [each.kind for each in day.user.questions] == [
            *("form", "permission", "form", "permission")
        ]


def delegate(shown: ShownRequest) -> ModelProgram:
    shown = yield call("delegate_task", goal="Look around")
    return shown.text


def test_a_rule_against_sub_agents_counts(tmp_path: Path) -> None:
    with open_day(tmp_path, DayConfig()) as day:
        for rule in ("Task", "Agent"):
            settings = json.dumps({"permissions": {"deny": [rule]}})
            files = {".claude/settings.json": settings}
            root = create_repository(tmp_path / rule, files, "Begin").root
            said = day.open_session(root).prompt(f"Delegate despite {rule}", delegate)
            assert f"forbids it: {rule} in" in said


def test_an_untrusted_repository_allows_nothing(tmp_path: Path) -> None:
    def decline(question: AskedQuestion) -> str | FormAnswer | None:
        return {"trust": False} if "trust" in question.choices else "reject_once"

    root = create_repository(tmp_path / "shop", FILES, "Begin").root
    with open_day(tmp_path, DayConfig()) as day:
        day.user.policy = decline
        session = day.open_session(root)
        session.prompt("Make x", make("x"))
        session.prompt("Make x again", make("x"))
        assert [each.kind for each in day.user.questions] == ["form", "permission", "permission"]
        assert ALLOWED_ONCE_AGREED in session.command("/context")
