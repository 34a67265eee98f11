"""What comes of tasks: each for itself, and all of them for who has delegated."""

from pathlib import Path

import anyio

from acp_server.turn.conversation import Text
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Usage
from acp_server.turn.ports import UsageReported
from tests.subagents.task_scripts import (
    ALLOWED,
    Barrier,
    call_events,
    delegate_call,
    has_title,
    make_failing,
    script_sub_agents,
    start_call,
    sub_agent_calls,
    text_events,
    wait_for_permission_request,
    wait_forever,
)
from tests.support.editor import json_at
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import THERE_WAS_NO_ANSWER
from tests.tools.editor_session import open_tool_editor


async def test_five_concurrent_tasks_may_fail_be_cancelled_or_ask(
    tmp_path: Path,
) -> None:
    meeting = Barrier(5)
    async with open_tool_editor(tmp_path, mode="ask") as session:
        session.write_file("a.txt", "alpha\n")
        script_sub_agents(
            session,
            {
                "read": [
                    [meeting, *call_events("read_file", path="a.txt")],
                    text_events("It says alpha."),
                ],
                "fail": [[meeting, make_failing(ModelFailedError("the model is down"))]],
                "hang": [[meeting, *text_events("Thinking it over."), wait_forever]],
                "write": [
                    [meeting, *call_events("write_file", path="b.txt", content="beta\n")],
                    text_events("It is written."),
                ],
                "talk": [[meeting, *text_events("Just words.")]],
            },
        )
        tool_call = delegate_call("read", "fail", "hang", "write", "talk")
        turn = start_call(session, tool_call)
        question = await wait_for_permission_request(
            session, has_title("Create b.txt (task 4: write)")
        )
        session.editor.notify(
            "_hermes/cancel_task",
            {"sessionId": session.session_id, "toolCallId": tool_call.id, "task": 3},
        )
        session.editor.reply(question, ALLOWED)
        assert json_at(await turn.response(), "result") == {"stopReason": "end_turn"}
        updates = session.updates_of(tool_call.id)
        assert updates.status == "completed"
        assert updates.text == (
            "## Task 1: read\n\nDone; 0 model calls, 0 tokens.\n\nIt says alpha.\n\n"
            "## Task 2: fail\n\nFailed (the model is down); 0 model calls, 0 tokens.\n\n"
            "## Task 3: hang\n\nCancelled; 0 model calls, 0 tokens.\n\n"
            "## Task 4: write\n\nDone; 0 model calls, 0 tokens.\n\nChanged: b.txt.\n\n"
            "It is written.\n\n"
            "## Task 5: talk\n\nDone; 0 model calls, 0 tokens.\n\nJust words."
        )
        assert (session.root / "b.txt").read_text() == "beta\n"
        assert session.editor.agent_text(session.session_id) == "Done.", (
            "what they say is no message"
        )


async def test_task_calls_are_shown_in_the_session_with_their_own_ids(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        session.write_file("a.txt", "alpha\n")
        reads = [call_events("read_file", path="a.txt"), text_events("Read.")]
        script_sub_agents(
            session,
            {
                "one": reads,
                "two": [call_events("terminal", command="touch x"), text_events("Touched.")],
            },
        )
        tool_call = delegate_call("one", "two")
        turn = start_call(session, tool_call)
        permission = await wait_for_permission_request(session)
        session.editor.reply(permission, ALLOWED)
        await turn.response()
        calls = sub_agent_calls(session, tool_call.id)
        assert [call_id.split(".")[1] for call_id in sorted(calls)] == ["1", "2"]
        assert {str(updates.status) for updates in calls.values()} == {"completed"}
        for updates in calls.values():
            assert {str(json_at(each, "_meta", "parentToolUseId")) for each in updates.updates} == {
                tool_call.id
            }
        meta = json_at(permission, "params", "toolCall", "_meta")
        assert meta == {
            "parentToolUseId": tool_call.id,
            "claudeCode": {"parentToolUseId": tool_call.id},
        }
        assert json_at(permission, "params", "toolCall", "toolCallId") in calls


async def test_a_cancelled_turn_ends_all_tasks_and_keeps_their_results(tmp_path: Path) -> None:
    meeting = Barrier(2)
    async with open_tool_editor(tmp_path, mode="bypass") as session:
        script_sub_agents(
            session,
            {
                "quick": [
                    call_events("write_file", path="a.txt", content="a\n"),
                    [*text_events("Yes."), meeting],
                ],
                "hang": [[meeting, wait_forever]],
            },
        )
        tool_call = delegate_call("quick", "hang")
        turn = start_call(session, tool_call)
        await meeting.is_complete.wait()
        session.editor.cancel(session.session_id)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert json_at(await turn.response(), "result") == {"stopReason": "cancelled"}
        updates = session.updates_of(tool_call.id)
        assert updates.status == "failed"
        assert "Changed: a.txt." in updates.shown_text
        assert "Not finished" in updates.shown_text
        assert all(
            call.status == "completed" for call in sub_agent_calls(session, tool_call.id).values()
        )


async def test_a_dismissed_question_ends_the_turn(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        script_sub_agents(
            session,
            {
                "ask": [call_events("terminal", command="touch x")],
                "hang": [[*text_events("Hm."), wait_forever]],
            },
        )
        turn = start_call(session, delegate_call("ask", "hang"))
        session.editor.reply(
            await wait_for_permission_request(session), {"outcome": {"outcome": "cancelled"}}
        )
        assert json_at(await turn.response(), "result") == {"stopReason": "cancelled"}
        assert not (session.root / "x").exists()


async def test_tasks_beyond_the_concurrency_limit_wait(tmp_path: Path) -> None:
    at_work, most = 0, 0
    meeting = Barrier(5)

    async def work() -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        if not meeting.is_complete.is_set():
            await meeting()
        at_work -= 1

    async with open_tool_editor(tmp_path) as session:
        script_sub_agents(session, {"task": [[work, *text_events("Done it.")]]})
        updates = await session.run_one(delegate_call(*(f"task {number}" for number in range(8))))
        assert updates.text.count("Done it.") == 8
        assert most == 5


async def test_task_usage_counts_for_the_session(tmp_path: Path) -> None:
    usage = UsageReported(Usage(input_tokens=30, output_tokens=12, cache_read_tokens=500))
    async with open_tool_editor(tmp_path) as session:
        script_sub_agents(
            session,
            {
                "count": [
                    [usage, *call_events("read_file", path=".")],
                    [usage, *text_events("Counted.")],
                ]
            },
        )
        tool_call = delegate_call("count")
        response = await start_call(session, tool_call).response()
        used = json_at(response, "result", "_meta", "hermes", "usage")
        assert (json_at(used, "requests"), json_at(used, "cacheReadTokens")) == (2, 1000)
        call_updates = session.updates_of(tool_call.id)
        assert "Done; 2 model calls, 84 tokens." in call_updates.text
        raw = call_updates.last("rawOutput")
        assert json_at(raw, "tasks") == [
            {
                "task": 1,
                "state": "done",
                "model_calls": 2,
                "tokens": 84,
                "cost_usd": None,
                "changed": [],
            }
        ]
        updates = session.editor.updates_of(session.session_id)
        assert not any(json_at(each, "sessionUpdate") == "usage_update" for each in updates)


async def test_tasks_know_only_their_goal_and_context(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        script_sub_agents(session, {"find": [text_events("Found.")]})
        await session.run_one(delegate_call("find it", context="It is in src."))
        request = session.model.requests[1]
        (message,) = request.messages
        assert message.parts == (Text("find it\n\nContext:\nIt is in src."),)
        assert [spec.name for spec in request.tools] == [
            "read_file",
            "search_files",
            "symbols",
            "write_file",
            "patch",
            "terminal",
            "process",
            "web_fetch",
            "todo",
            "skills_list",
            "skill_view",
        ]


async def test_the_last_message_of_a_task_is_returned_and_truncated_if_long(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        script_sub_agents(
            session, {"long": [text_events("begin " + "x" * 100_000 + " end")], "mute": [[]]}
        )
        updates = await session.run_one(delegate_call("long", "mute"))
        assert len(updates.text) < 30_000
        assert "begin xxx" in updates.text
        assert "xxx end" in updates.text
        assert f"{THERE_WAS_NO_ANSWER} it said nothing)" in updates.text
