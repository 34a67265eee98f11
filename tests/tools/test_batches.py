"""Several calls of one reply: they run together, end one by one, and share files in order."""

from itertools import pairwise
from pathlib import Path
from typing import cast

from tests.support.editor import Object
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call, stream_call


def endings(session: ToolEditorSession) -> list[tuple[str, str]]:
    """Return which calls ended how, in the order in which they did."""
    updates = cast("list[Object]", session.editor.updates_of(session.session_id))
    return [
        (str(each["toolCallId"]), str(each["status"]))
        for each in updates
        if each.get("status") in {"completed", "failed"}
    ]


async def test_seven_calls_end_in_order_of_completion(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.txt", "needle\n")
        session.write_file("b.txt", "one\n")
        slow = call("terminal", command="sleep 0.3; echo slept")
        fast = [
            call("read_file", path="a.txt"),
            call("search_files", pattern="needle"),
            call("write_file", path="new.txt", content="new\n"),
            call("patch", path="b.txt", old_string="one", new_string="two"),
            call("todo", todos=[{"id": "1", "content": "go on"}]),
            call("read_file", path="missing.txt"),
        ]
        calls = [slow, *fast]
        results = await session.run(*calls)
        assert [each.status for each in results] == ["completed"] * 6 + ["failed"]
        assert endings(session)[-1] == (slow.id, "completed")
        assert sorted(endings(session)) == sorted(
            (each.call_id, str(each.status)) for each in results
        )
        assert [each.updates[0]["sessionUpdate"] for each in results] == ["tool_call"] * 7
        assert [each.call_id for each in session.model.results] == [
            tool_call.id for tool_call in calls
        ]
        assert results[0].text == "slept"
        assert results[1].text == "needle\n"
        assert results[2].text == "a.txt\n1:needle"
        assert results[6].text.startswith("missing.txt does not exist")


async def test_two_edits_of_one_file_both_apply(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.txt", "one\ntwo\n")
        results = await session.run(
            call("patch", path="a.txt", old_string="one", new_string="1"),
            call("patch", path="a.txt", old_string="two", new_string="2"),
        )
        assert [each.status for each in results] == ["completed", "completed"]
        assert path.read_text() == "1\n2\n"


async def test_ten_patches_of_one_file_apply_on_top_of_each_other(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.txt", "state 0\n")
        states = [f"state {n}\n" for n in range(11)]
        steps = pairwise(states)
        results = await session.run(
            *(call("patch", path="a.txt", old_string=a, new_string=b) for a, b in steps)
        )
        assert [each.status for each in results] == ["completed"] * 10
        assert path.read_text() == states[-1]
        olds = [each.diff_states()[-1][1][0]["oldText"] for each in results]
        assert olds == states[:-1]


async def test_a_patch_after_a_write_changes_the_written_content(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        results = await session.run(
            call("write_file", path="a.txt", content="fresh\n"),
            call("patch", path="./b/../a.txt", old_string="fresh", new_string="patched"),
        )
        assert [each.status for each in results] == ["completed", "completed"]
        assert (session.root / "a.txt").read_text() == "patched\n"


async def test_an_edit_awaiting_permission_does_not_block_edits_of_other_files(
    tmp_path: Path,
) -> None:
    """The second edit ends while the first is still a question."""
    async with open_tool_editor(tmp_path, mode="accept_edits") as session:
        asking = call("write_file", path=".env", content="A=1\n")
        free = call("write_file", path="free.txt", content="free\n")
        waiting = call("patch", path=".env", old_string="A=1", new_string="A=2")
        session.model.rounds = [[*stream_call(asking), *stream_call(free), *stream_call(waiting)]]
        pending = session.editor.start_prompt(session.session_id, "go")
        await session.editor.wait_until(
            lambda: endings(session) == [(free.id, "completed")] or None, "end of the free edit"
        )
        for number in (1, 2):
            await session.editor.wait_until(
                lambda number=number: len(session.editor.requests) == number or None, "question"
            )
            session.editor.reply(session.editor.requests[-1], allow()({}))
        await pending.response()
        assert (session.root / ".env").read_text() == "A=2\n"
