"""What comes of tasks: each for itself, and all of them for who has delegated."""

from pathlib import Path

import anyio

from acp_server.turn.conversation import Text
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Usage
from acp_server.turn.ports import UsageReported
from tests.subagents.task_scripts import (
    ALLOWED,
    Meeting,
    begin,
    below,
    cast_for,
    delegated,
    failing,
    forever,
    question,
    say,
    titled,
    use,
)
from tests.support.editor import at
from tests.support.timeouts import PATIENCE_SECONDS
from tests.tools.editor_session import open_workroom


async def test_five_at_once_of_which_one_fails_one_is_cancelled_and_one_asks(
    tmp_path: Path,
) -> None:
    meeting = Meeting(5)
    async with open_workroom(tmp_path, mode="ask") as room:
        room.put("a.txt", "alpha\n")
        cast_for(
            room,
            {
                "read": [[meeting, *use("read_file", path="a.txt")], say("It says alpha.")],
                "fail": [[meeting, failing(ModelFailedError("the model is down"))]],
                "hang": [[meeting, *say("Thinking it over."), forever]],
                "write": [
                    [meeting, *use("write_file", path="b.txt", content="beta\n")],
                    say("It is written."),
                ],
                "talk": [[meeting, *say("Just words.")]],
            },
        )
        made = delegated("read", "fail", "hang", "write", "talk")
        turn = begin(room, made)
        asked = await question(room, titled("Create b.txt (task 4: write)"))
        room.editor.notify(
            "_hermes/cancel_task",
            {"sessionId": room.session_id, "toolCallId": made.id, "task": 3},
        )
        room.editor.reply(asked, ALLOWED)
        assert at(await turn.response(), "result") == {"stopReason": "end_turn"}
        told = room.told(made.id)
        assert told.status == "completed"
        assert told.text == (
            "## Task 1: read\n\nDone; 0 model calls, 0 tokens.\n\nIt says alpha.\n\n"
            "## Task 2: fail\n\nFailed (the model is down); 0 model calls, 0 tokens.\n\n"
            "## Task 3: hang\n\nCancelled; 0 model calls, 0 tokens.\n\n"
            "## Task 4: write\n\nDone; 0 model calls, 0 tokens.\n\nChanged: b.txt.\n\n"
            "It is written.\n\n"
            "## Task 5: talk\n\nDone; 0 model calls, 0 tokens.\n\nJust words."
        )
        assert (room.root / "b.txt").read_text() == "beta\n"
        assert room.editor.said(room.session_id) == "Done.", "what they say is no message"


async def test_their_calls_are_the_sessions_with_ids_of_their_own(tmp_path: Path) -> None:
    async with open_workroom(tmp_path, mode="ask") as room:
        room.put("a.txt", "alpha\n")
        reads = [use("read_file", path="a.txt"), say("Read.")]
        cast_for(room, {"one": reads, "two": [use("terminal", command="touch x"), say("Touched.")]})
        made = delegated("one", "two")
        turn = begin(room, made)
        asked = await question(room)
        room.editor.reply(asked, ALLOWED)
        await turn.response()
        calls = below(room, made.id)
        assert [call_id.split(".")[1] for call_id in sorted(calls)] == ["1", "2"]
        assert {str(told.status) for told in calls.values()} == {"completed"}
        for told in calls.values():
            assert {str(at(each, "_meta", "parentToolUseId")) for each in told.updates} == {made.id}
        assert at(asked, "params", "toolCall", "_meta", "parentToolUseId") == made.id
        assert at(asked, "params", "toolCall", "toolCallId") in calls


async def test_a_cancelled_turn_ends_all_tasks_and_keeps_what_came_of_them(tmp_path: Path) -> None:
    meeting = Meeting(2)
    async with open_workroom(tmp_path, mode="bypass") as room:
        cast_for(
            room,
            {
                "quick": [use("write_file", path="a.txt", content="a\n"), [*say("Yes."), meeting]],
                "hang": [[meeting, forever]],
            },
        )
        made = delegated("quick", "hang")
        turn = begin(room, made)
        await meeting.is_complete.wait()
        room.editor.cancel(room.session_id)
        with anyio.fail_after(PATIENCE_SECONDS):
            assert at(await turn.response(), "result") == {"stopReason": "cancelled"}
        told = room.told(made.id)
        assert told.status == "failed"
        assert "Changed: a.txt." in told.shown
        assert "Not finished" in told.shown
        assert all(call.status == "completed" for call in below(room, made.id).values())


async def test_a_question_that_is_turned_away_from_ends_the_turn(tmp_path: Path) -> None:
    async with open_workroom(tmp_path, mode="ask") as room:
        cast_for(
            room,
            {"ask": [use("terminal", command="touch x")], "hang": [[*say("Hm."), forever]]},
        )
        turn = begin(room, delegated("ask", "hang"))
        room.editor.reply(await question(room), {"outcome": {"outcome": "cancelled"}})
        assert at(await turn.response(), "result") == {"stopReason": "cancelled"}
        assert not (room.root / "x").exists()


async def test_more_tasks_than_may_be_done_at_once_wait(tmp_path: Path) -> None:
    at_work, most = 0, 0
    meeting = Meeting(5)

    async def work() -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        if not meeting.is_complete.is_set():
            await meeting()
        at_work -= 1

    async with open_workroom(tmp_path) as room:
        cast_for(room, {"task": [[work, *say("Done it.")]]})
        told = await room.run_one(delegated(*(f"task {number}" for number in range(8))))
        assert told.text.count("Done it.") == 8
        assert most == 5


async def test_what_they_use_counts_for_the_session(tmp_path: Path) -> None:
    usage = UsageReported(Usage(input_tokens=30, output_tokens=12, cache_read_tokens=500))
    async with open_workroom(tmp_path) as room:
        cast_for(room, {"count": [[usage, *use("read_file", path=".")], [usage, *say("Counted.")]]})
        made = delegated("count")
        response = await begin(room, made).response()
        used = at(response, "result", "_meta", "hermes", "usage")
        assert (at(used, "requests"), at(used, "cacheReadTokens")) == (2, 1000)
        told = room.told(made.id)
        assert "Done; 2 model calls, 84 tokens." in told.text
        raw = told.last("rawOutput")
        assert at(raw, "tasks") == [
            {
                "task": 1,
                "state": "done",
                "model_calls": 2,
                "tokens": 84,
                "cost_usd": None,
                "changed": [],
            }
        ]
        updates = room.editor.updates_of(room.session_id)
        assert not any(at(each, "sessionUpdate") == "usage_update" for each in updates)


async def test_they_know_their_goal_and_context_and_nothing_else(tmp_path: Path) -> None:
    async with open_workroom(tmp_path) as room:
        cast_for(room, {"find": [say("Found.")]})
        await room.run_one(delegated("find it", context="It is in src."))
        request = room.model.requests[1]
        (message,) = request.messages
        assert message.parts == (Text("find it\n\nContext:\nIt is in src."),)
        assert [spec.name for spec in request.tools] == [
            "read_file",
            "search_files",
            "write_file",
            "patch",
            "terminal",
            "process",
            "web_fetch",
            "todo",
            "skills_list",
            "skill_view",
        ]


async def test_what_they_say_last_goes_back_cut_if_it_is_long(tmp_path: Path) -> None:
    async with open_workroom(tmp_path) as room:
        cast_for(room, {"long": [say("begin " + "x" * 100_000 + " end")], "mute": [[]]})
        told = await room.run_one(delegated("long", "mute"))
        assert len(told.text) < 30_000
        assert "begin xxx" in told.text
        assert "xxx end" in told.text
        assert "(There was no answer: it said nothing)" in told.text
