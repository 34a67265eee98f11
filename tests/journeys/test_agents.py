"""Agents that a repository keeps as files, through the real process."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.journeys.day import Day, DayConfig, DaySession, open_day
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shop_repository import create_repository
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import WAIT, AskedQuestion, FormAnswer, allow_once
from tests.support.editor import Object
from tests.support.messages_api import call
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

REVIEWER = """\
---
name: reviewer
description: Reviews a change
tools: Read, Grep, WebSearch
model: sonnet
---
You review with great care.
"""
FILES = {
    ".claude/agents/reviewer.md": REVIEWER,
    ".claude/agents/writer.md": "---\ndescription: Writes\nisolation: worktree\n---\nWrite.\n",
    ".claude/agents/README.md": "# Our agents\n",
    ".opencode/agent/reviewer.md": "---\ndescription: Another one\n---\nYou review fast.\n",
    "a.py": "x = 1\n",
}


def decline(question: AskedQuestion) -> str | FormAnswer | None:
    return {"trust": False} if "trust" in question.choices else "reject_once"


def look(shown: ShownRequest) -> ModelProgram:
    shown = yield call("read_file", path="a.py")
    return f"It says {shown.find('x = 1')[0]}. Model: {shown.model}."


def ask_for(session: DaySession, agent: str, goal: str) -> str:
    """Return what the model is told of a task that it gives to an agent."""

    def delegate(shown: ShownRequest) -> ModelProgram:
        shown = yield call("delegate_task", agent=agent, goal=goal)
        return shown.text

    return session.prompt(f"Ask {agent}: {goal}", delegate)


def system_of(day: Day, goal: str) -> str:
    """Return the system prompt of the sub-agent with this goal."""
    bodies = [request.body for request in day.api.model_requests]
    return next(
        json.dumps(body["system"])
        for body in bodies
        if goal in json.dumps(body["messages"]) and "Your role" in json.dumps(body["system"])
    )


def worktrees(root: Path) -> list[str]:
    command = ("git", "worktree", "list", "--porcelain")
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if line.startswith("worktree ")]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_trusted_repository_brings_its_agents(tmp_path: Path) -> None:
    root = create_repository(tmp_path / "shop", FILES, "Begin").root
    settings: Object = {"auxiliary": {"model": "sonnet"}}
    with open_day(tmp_path, DayConfig(settings=settings)) as day:
        day.user.policy = allow_once
        session = day.open_session(root)
        day.seat.play("Look at a.py", look)
        said = ask_for(session, "reviewer", "Look at a.py")
        assert "It says x = 1. Model: claude-sonnet-5-5." in said
        assert "not given: `WebSearch`" in said
        assert "You review with great care." in system_of(day, "Look at a.py")
        (question,) = day.user.questions
        assert "agents of its own: reviewer, writer, opencode:reviewer" in question.text
        shown = session.command("/context")
        assert "- `reviewer`: " in shown
        assert "README.md: it has no frontmatter" in shown
        day.seat.play("Look again at a.py", look)
        assert "sonnet" in ask_for(session, "explore", "Look again at a.py")
        (root / ".claude/agents/new.md").write_text(REVIEWER.replace("reviewer", "second"))
        day.seat.play("Look once more", look)
        assert "It says x = 1" in ask_for(session, "second", "Look once more")
        (root / ".claude/agents/new.md").unlink()
        wait_until(lambda: "second" not in session.command("/context"))
        assert len(day.user.questions) == 1


def test_an_untrusted_repository_brings_none(tmp_path: Path) -> None:
    root = create_repository(tmp_path / "shop", FILES, "Begin").root
    with open_day(tmp_path, DayConfig()) as day:
        day.user.policy = decline
        session = day.open_session(root)
        said = ask_for(session, "reviewer", "Look at a.py")
        assert "which the user does not trust" in said
        assert "unused: the workspace is not trusted" in session.command("/context")
        assert len(day.user.questions) == 1
        sent = json.dumps([request.body for request in day.api.model_requests])
        assert "great care" not in sent
        assert "Reviews a change" not in sent


def write_slowly(shown: ShownRequest) -> ModelProgram:
    shown = yield call("write_file", path="new.py", content="y = 2\n")
    shown = yield call("terminal", command="cat new.py; echo z >> new.py; git status --short")
    return "Created. " + shown.text


def test_changes_of_a_worktree_are_asked_about_undone_and_never_left_behind(
    tmp_path: Path,
) -> None:
    root = create_repository(tmp_path / "shop", FILES, "Begin").root
    with open_day(tmp_path, DayConfig()) as day:
        day.user.policy = allow_once
        session = day.open_session(root)
        day.seat.play("Write new.py", write_slowly)
        said = ask_for(session, "writer", "Write new.py")
        assert "?? new.py" in said
        assert "created new.py" in said
        assert (root / "new.py").read_text() == "y = 2\nz\n"
        asked = [question.text for question in day.user.questions]
        assert "Create new.py (task 1 (writer): Write new.py)" in asked
        session.command("/undo")
        assert not (root / "new.py").exists()

        day.user.policy = lambda question: (
            WAIT if "Create" in question.text else allow_once(question)
        )
        day.seat.play("Write it again", write_slowly)

        def delegate(shown: ShownRequest) -> ModelProgram:
            shown = yield call("delegate_task", agent="writer", goal="Write it again")
            return shown.text

        session.prompt_until(day.user.has_left, "Ask for it again", delegate)
        assert len(worktrees(root)) == 2
        day.kill()
        assert len(worktrees(root)) == 2
        day.user.policy = allow_once
        day.start()
        session.load()
        wait_until(lambda: len(worktrees(root)) == 1)
        assert not (root / "new.py").exists()
        wait_until(lambda: not list((tmp_path / "home/acp/worktrees").iterdir()))
