"""Sub-agents in worktrees of their own: one question about their changes, and no trace of them."""

from pathlib import Path

from pydantic import JsonValue

from tests.subagents.task_scripts import (
    ALLOWED,
    call_events,
    delegate_call,
    script_sub_agents,
    start_call,
    sub_agent_calls,
    text_events,
    wait_for_permission_request,
    wait_forever,
)
from tests.subagents.test_worktrees import git, make_repository
from tests.support.editor import json_at
from tests.support.user_texts import NEEDS_REPOSITORY_WITH_COMMIT, REJECTED_BY_USER
from tests.tools.editor_session import ToolEditorSession, open_tool_editor
from tests.tools.typing_model import Action

WRITER = "---\ndescription: Writes\nisolation: worktree\n---\nYou write.\n"
LINES = "".join(f"line {number}\n" for number in range(1, 31))
REJECTED: JsonValue = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}


def prepare(home: Path) -> Path:
    path = home / ".claude/agents/writer.md"
    path.parent.mkdir(parents=True)
    path.write_text(WRITER)
    return make_repository(home / "workspace", {"a.txt": LINES, "b.txt": "b\n"})


def worktrees(root: Path) -> int:
    return len(git(root, "worktree", "list").splitlines())


def replace(old: str, new: str, path: str = "a.txt") -> list[Action]:
    return call_events("patch", path=path, old_string=old, new_string=new)


async def answer_question(session: ToolEditorSession, answer: JsonValue) -> str:
    question = await wait_for_permission_request(session)
    session.editor.reply(question, answer)
    return str(json_at(question, "params", "toolCall"))


async def test_its_changes_come_back_by_one_question(tmp_path: Path) -> None:
    root = prepare(tmp_path)
    async with open_tool_editor(tmp_path, mode="ask") as session:
        rounds = [
            replace("line 3\n", "three\n"),
            call_events("write_file", path="new.txt", content="new\n"),
            text_events("Written."),
        ]
        script_sub_agents(session, {"write": rounds})
        tool_call = delegate_call("write", agent="writer")
        turn = start_call(session, tool_call)
        asked = await answer_question(session, ALLOWED)
        await turn.response()
        assert "Edit 2 files (task 1 (writer): write)" in asked
        assert "three" in asked
        assert len(session.editor.asked("session/request_permission")) == 1
        calls = sub_agent_calls(session, tool_call.id)
        request = next(each for each in session.model.requests if "You write." in each.system)
        text = session.updates_of(tool_call.id).text
    assert (root / "a.txt").read_text() == LINES.replace("line 3\n", "three\n")
    assert (root / "new.txt").read_text() == "new\n"
    assert "Changed: a.txt, new.txt." in text
    assert "In the workspace: edited a.txt\ncreated new.txt]" in text
    assert calls[f"{tool_call.id}.1.changes"].status == "completed"
    assert "You work in a git worktree of your own" in request.system
    assert worktrees(root) == 1


async def test_what_the_user_changed_meanwhile_stays_and_conflicts_are_reported(
    tmp_path: Path,
) -> None:
    root = prepare(tmp_path)

    async def change() -> None:
        text = (root / "a.txt").read_text()
        (root / "a.txt").write_text(text.replace("line 4\n", "four\n"))
        (root / "b.txt").unlink()

    async with open_tool_editor(tmp_path) as session:
        rounds = [
            replace("line 3\n", "three\n"),
            replace("line 20\n", "twenty\n"),
            replace("b\n", "B\n", "b.txt"),
            [change, *text_events("Written.")],
        ]
        script_sub_agents(session, {"write": rounds})
        updates = await session.run_one(delegate_call("write", agent="writer"))
    expected = LINES.replace("line 4\n", "four\n").replace("line 20\n", "twenty\n")
    assert (root / "a.txt").read_text() == expected
    assert not (root / "b.txt").exists()
    assert "a.txt: the file has changed meanwhile; these hunks were not applied:" in updates.text
    assert "-line 3\n+three\n" in updates.text
    assert "b.txt: the sub-agent changed it, but it is deleted by now" in updates.text


async def test_refused_changes_leave_the_workspace_alone(tmp_path: Path) -> None:
    root = prepare(tmp_path)
    async with open_tool_editor(tmp_path, mode="ask") as session:
        script_sub_agents(session, {"write": [replace("b\n", "B\n", "b.txt"), text_events("W")]})
        tool_call = delegate_call("write", isolation="worktree")
        turn = start_call(session, tool_call)
        await answer_question(session, REJECTED)
        await turn.response()
        text = session.updates_of(tool_call.id).text
    assert (root / "b.txt").read_text() == "b\n"
    assert REJECTED_BY_USER in text
    assert worktrees(root) == 1


async def test_a_cancelled_task_brings_nothing_back(tmp_path: Path) -> None:
    root = prepare(tmp_path)
    async with open_tool_editor(tmp_path) as session:
        rounds = [replace("b\n", "B\n", "b.txt"), [wait_forever]]
        script_sub_agents(session, {"write": rounds})
        tool_call = delegate_call("write", agent="writer")
        turn = start_call(session, tool_call)
        await session.editor.wait_for_response(
            lambda each: "completed" in str(each) and f"{tool_call.id}.1." in str(each)
        )
        session.editor.notify(
            "_hermes/cancel_task",
            {"sessionId": session.session_id, "toolCallId": tool_call.id, "task": 1},
        )
        await turn.response()
    assert (root / "b.txt").read_text() == "b\n"
    assert worktrees(root) == 1


async def test_without_a_repository_the_task_fails_with_the_reason(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(delegate_call("write", isolation="worktree"))
    assert updates.status == "failed"
    assert f"a worktree {NEEDS_REPOSITORY_WITH_COMMIT}" in updates.text
