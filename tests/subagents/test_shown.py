"""Sub-agents as clients show them: as child sessions, nested, or as calls alone."""

import json
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from acp_server.config.settings import Configuration
from tests.handlers.test_drafts import assert_draft
from tests.subagents.task_scripts import ALLOWED, PERMISSION
from tests.support.editor import Editor, Object, is_update, json_at, make_configuration, open_editor
from tests.tools.shell.command_session import running_commands

SCRIPT = """\
prompt: hand it on
call: delegate_task
  tasks:
    - goal: count the lines
    - goal: SECOND
step:
say: All is told.

prompt: hand on a long one
call: delegate_task
  goal: sleep long
step:
say: It was cut.

prompt: count the lines
think: Which lines?
say: I count.
call: terminal
  command: touch counted
step:
say: There are seven.

prompt: sleep long
say: I sleep.
call: terminal
  command: sleep 4711.5
step:
say: I have slept.

prompt: *
say: Still here.
"""
CHILDREN: JsonValue = {"subagents": {}}
NESTED: JsonValue = {"_meta": {"subagent-transcript": True}}
Shown = list[tuple[str, Object]]
"""The session and the update of each `session/update`, in order."""


def configuration(home: Path) -> Configuration:
    """Return a configuration whose commands find the system's programs."""
    return make_configuration(home, SCRIPT, environment={"PATH": "/usr/bin:/bin"})


async def open_session(editor: Editor, folder: Path, capabilities: JsonValue) -> str:
    """Open a session whose questions are all answered with yes."""
    await editor.initialize(clientCapabilities=capabilities)
    (folder / "workspace").mkdir()
    return await editor.new_session(folder / "workspace")


def shown(editor: Editor) -> Shown:
    """Return the updates so far."""
    params = [each["params"] for each in editor.messages if each.get("method") == "session/update"]
    return [
        (str(json_at(each, "sessionId")), cast("Object", json_at(each, "update")))
        for each in params
    ]


def of_kind(updates: Shown, *kinds: str) -> Shown:
    """Return the updates of some kinds."""
    return [each for each in updates if each[1]["sessionUpdate"] in kinds]


def texts(updates: Shown) -> list[str]:
    """Return the texts of messages and thoughts, joined where they are of one message."""
    found: dict[JsonValue, str] = {}
    for _, update in of_kind(updates, "agent_message_chunk", "agent_thought_chunk"):
        key = update["messageId"]
        found[key] = found.get(key, "") + str(json_at(update, "content", "text"))
    return list(found.values())


async def allow_next(editor: Editor) -> Object:
    """Wait for a permission request, allow it, and return it."""
    question = await editor.wait_for_response(lambda each: each.get("method") == PERMISSION)
    editor.reply(question, ALLOWED)
    return question


async def load_again(editor: Editor, session: str, folder: Path) -> Shown:
    """Load the session and return the updates of the replay."""
    editor.messages.clear()
    params: JsonValue = {"sessionId": session, "cwd": str(folder / "workspace"), "mcpServers": []}
    assert "result" in await editor.call("session/load", params)
    return shown(editor)


async def delegate(editor: Editor, session: str) -> Object:
    """Have two tasks run; allow what the first one asks for, and return the question."""
    turn = editor.start_prompt(session, "hand it on")
    question = await allow_next(editor)
    assert json_at(await turn.response(), "result", "stopReason") == "end_turn"
    return question


async def test_sub_agents_are_child_sessions_for_clients_that_have_them(tmp_path: Path) -> None:
    async with open_editor(configuration(tmp_path)) as editor:
        session = await open_session(editor, tmp_path, CHILDREN)
        question = await delegate(editor, session)
        live = shown(editor)
        replayed = await load_again(editor, session, tmp_path)
    first = str(json_at(question, "params", "sessionId"))
    asking = ["running", "requires_action", "running", "idle"]
    for updates, states in ((live, asking), (replayed, ["running", "idle"])):
        check_child_sessions(updates, session, first)
        about = [update for _, update in of_kind(updates, "subagent_update")]
        shown_states = [
            each["state"] for each in about if each["sessionId"] == first and "state" in each
        ]
        assert [json_at(each, "state") for each in shown_states] == states
        assert shown_states[-1] == {"state": "idle", "stopReason": "end_turn"}
    assert "_meta" not in cast("Object", json_at(question, "params", "toolCall"))


def check_child_sessions(updates: Shown, session: str, first: str) -> None:
    """Check what is shown of two tasks, the first as a child session with this id."""
    for owner, update in updates:
        assert_draft("SessionNotification", {"sessionId": owner, "update": update})
    own = [each for each in updates if each[0] == session]
    assert texts(own) == ["All is told."], "what sub-agents say is no text of the session"
    about = [update for _, update in of_kind(own, "subagent_update")]
    titles = {str(each["sessionId"]): each["title"] for each in about if "title" in each}
    assert list(titles.values()) == ["task 1: count the lines", "task 2: SECOND"]
    assert texts([each for each in updates if each[0] == [*titles][1]]) == ["Still here."]
    child = [each for each in updates if each[0] == first]
    assert texts(child) == ["Which lines?", "I count.", "There are seven."]
    assert json_at(child[0][1], "content", 0, "text") == "count the lines"
    kinds = list(dict.fromkeys(str(update["sessionUpdate"]) for _, update in child))
    assert kinds.index("agent_message_chunk") < kinds.index("tool_call")
    calls = of_kind(child, "tool_call", "tool_call_update")
    assert calls[-1][1]["status"] == "completed"
    assert "parentToolUseId" not in json.dumps(calls)
    owners = [owner for owner, _ in updates]
    assert updates.index((session, about[0])) < owners.index(first), "announced first"


async def test_texts_of_sub_agents_nest_below_the_delegating_call(tmp_path: Path) -> None:
    async with open_editor(configuration(tmp_path)) as editor:
        session = await open_session(editor, tmp_path, NESTED)
        await delegate(editor, session)
        live = shown(editor)
        replayed = await load_again(editor, session, tmp_path)
    for updates in (live, replayed):
        assert {owner for owner, _ in updates} == {session}
        nested = [each for each in updates if "parentToolUseId" in json.dumps(each)]
        call = of_kind(updates, "tool_call")[0][1]
        parents = [json_at(each, "_meta", "claudeCode", "parentToolUseId") for _, each in nested]
        assert parents == [call["toolCallId"]] * len(nested)
        assert {"Which lines?", "I count.", "There are seven.", "Still here."} <= set(texts(nested))
        rest = [each for each in updates if each not in nested]
        assert texts(rest) == ["All is told."]


@pytest.mark.parametrize("capabilities", [{}, {"_meta": {"subagent-transcript": "yes"}}])
async def test_other_clients_are_sent_no_texts_of_sub_agents(
    tmp_path: Path, capabilities: JsonValue
) -> None:
    async with open_editor(configuration(tmp_path)) as editor:
        session = await open_session(editor, tmp_path, capabilities)
        await delegate(editor, session)
        updates = shown(editor)
    assert {owner for owner, _ in updates} == {session}
    assert texts(updates) == ["All is told."]
    assert of_kind(updates, "subagent_update", "session_message") == []


def is_child_working(message: Object) -> bool:
    """Whether a message says that a sub-agent's call runs."""
    if not is_update(message) or "." not in str(json_at(message, "params", "sessionId")):
        return False
    return cast("Object", json_at(message, "params", "update")).get("status") == "in_progress"


async def test_a_child_session_is_cancelled_by_itself(tmp_path: Path) -> None:
    async with open_editor(configuration(tmp_path)) as editor:
        session = await open_session(editor, tmp_path, CHILDREN)
        turn = editor.start_prompt(session, "hand on a long one")
        working = await editor.wait_for_response(is_child_working)
        child = str(json_at(working, "params", "sessionId"))
        assert child != session
        editor.cancel(child)
        assert json_at(await turn.response(), "result", "stopReason") == "end_turn"
        ends = [each for _, each in of_kind(shown(editor), "subagent_update") if "state" in each]
        assert ends[-1]["state"] == {"state": "idle", "stopReason": "cancelled"}
        assert running_commands("4711.5") == []
        for method in ("session/prompt", "session/set_mode", "session/load"):
            params: Object = {
                "sessionId": child,
                "prompt": [],
                "modeId": "plan",
                "cwd": str(tmp_path),
            }
            answer = await editor.call(method, {**params, "mcpServers": []})
            assert "error" in answer, "a client may do nothing else to a child session"
