"""Several calls of one reply: reads run together, changes in order, each ends when it is done."""

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.tools.tool_names import TOOL_NAMES
from acp_server.turn.conversation import ToolCall
from tests.support.editor import Object, json_at
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call, stream_call
from tests.turn.fake_sinks import MemorySink

ASK = "session/request_permission"


def endings(session: ToolEditorSession) -> list[tuple[str, str]]:
    """Return which calls ended how, in the order in which they did."""
    updates = cast("list[Object]", session.editor.updates_of(session.session_id))
    return [
        (str(each["toolCallId"]), str(each["status"]))
        for each in updates
        if each.get("status") in {"completed", "failed"}
    ]


async def test_calls_that_only_read_end_in_order_of_completion(tmp_path: Path) -> None:
    """The slow command ends last, although it was called first."""
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.txt", "needle\n")
        os.mkfifo(session.root / "go")
        slow = call("terminal", command="head -n 1 go")
        fast = [
            call("read_file", path="a.txt"),
            call("search_files", pattern="needle"),
            call("terminal", command="cat a.txt"),
            call("read_file", path="missing.txt"),
        ]
        calls = [slow, *fast]
        session.model.rounds = [[action for each in calls for action in stream_call(each)]]
        pending = session.editor.start_prompt(session.session_id, "go")
        await session.editor.wait_until(lambda: len(endings(session)) == 4 or None, "the fast ones")
        session.write_file("go", "went\n")
        await pending.response()
        results = [session.updates_of(each.id) for each in calls]
        assert [each.status for each in results] == ["completed"] * 4 + ["failed"]
        assert endings(session)[-1] == (slow.id, "completed")
        assert [each.updates[0]["sessionUpdate"] for each in results] == ["tool_call"] * 5
        assert [each.call_id for each in session.model.results] == [each.id for each in calls]
        texts = [each.text for each in results[:4]]
        assert [texts[0].splitlines()[-1], *texts[1:]] == [
            "went",
            "needle\n",
            "a.txt\n1:needle",
            "needle",
        ]
        assert results[4].text.startswith("missing.txt does not exist")


async def test_a_commit_waits_until_the_files_are_staged(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.txt", "one\n")
        git = "git -c user.name=n -c user.email=e@example.com"
        results = await session.run(
            call("terminal", command="sleep 0.1; git init -q && git add -A"),
            call("terminal", command=f"{git} commit -qm first"),
            call("terminal", command="git log --format=%s"),
        )
        assert [each.status for each in results] == ["completed"] * 3
        assert results[2].text == "first"


async def test_a_read_after_an_edit_sees_the_new_text(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.txt", "old\n")
        results = await session.run(
            call("read_file", path="a.txt"),
            call("patch", path="a.txt", old_string="old", new_string="new"),
            call("read_file", path="a.txt"),
            call("write_file", path="a.txt", content="last\n"),
            call("terminal", command="cat a.txt"),
        )
        assert [each.text for each in results[::2]] == ["old\n", "new\n", "last"]


async def test_a_refused_call_does_not_stop_the_calls_behind_it(tmp_path: Path) -> None:
    answers = {ASK: allow("reject_once")}
    async with open_tool_editor(tmp_path, mode="accept_edits", answers=answers) as session:
        results = await session.run(
            call("terminal", command="touch b.txt"),
            call("write_file", path="a.txt", content="new\n"),
            call("read_file", path="a.txt"),
        )
        assert [each.status for each in results] == ["failed", "completed", "completed"]
        assert results[2].text == "new\n"
        assert not (session.root / "b.txt").exists()


async def test_waiting_calls_ask_in_order_and_only_when_they_start(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        calls = [
            call("terminal", command="touch a.txt"),
            call("write_file", path="b.txt", content="b\n"),
            call("write_file", path="c.txt", content="c\n"),
            call("terminal", command="rm a.txt"),
        ]
        session.model.rounds = [[action for each in calls for action in stream_call(each)]]
        pending = session.editor.start_prompt(session.session_id, "go")
        for number, each in enumerate(calls, 1):
            await session.editor.wait_until(
                lambda number=number: len(session.editor.requests) >= number or None, "question"
            )
            assert json_at(session.editor.asked(ASK)[-1], "toolCall", "toolCallId") == each.id
            # All before it have ended, but for edits of other files.
            assert len(endings(session)) >= (0, 1, 1, 3)[number - 1]
            session.editor.reply(session.editor.requests[-1], allow()({}))
        await pending.response()
        assert sorted(path.name for path in session.root.iterdir()) == ["b.txt", "c.txt"]


async def test_a_cancel_closes_running_and_waiting_calls(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        calls = [
            call("terminal", command="tail -f /dev/null; true"),
            call("write_file", path="a.txt", content="new\n"),
            call("read_file", path="a.txt"),
        ]
        session.model.rounds = [[action for each in calls for action in stream_call(each)]]
        pending = session.editor.start_prompt(session.session_id, "go")
        await session.editor.wait_until(
            lambda: "in_progress" in session.updates_of(calls[0].id).statuses or None, "start"
        )
        session.editor.cancel(session.session_id)
        assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        assert sorted(endings(session)) == sorted((each.id, "failed") for each in calls)
        assert not (session.root / "a.txt").exists()


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


async def test_memory_writes_of_one_reply_run_in_order(tmp_path: Path) -> None:
    """The removal makes room for the fact behind it."""
    async with open_tool_editor(tmp_path) as session:
        await session.run_one(call("memory", action="add", content="a" * 2_000))
        results = await session.run(
            call("memory", action="remove", old_text="aaa"),
            call("memory", action="add", content="b" * 2_000),
        )
        assert [each.status for each in results] == ["completed", "completed"]


async def test_edits_of_one_file_by_its_other_names_wait_for_each_other(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        target = session.write_file("a.txt", "one\n")
        (session.root / "link.txt").symlink_to("a.txt")
        (session.root / "hard.txt").hardlink_to(target)
        (session.root / "folder").symlink_to(".")
        (session.root / "dangling.txt").symlink_to("new.txt")
        toolbox = await session.toolbox()
        live = await toolbox.open("c1", "write_file", MemorySink())

        def paths_of(name: str) -> frozenset[str]:
            arguments = json.dumps({"path": name, "content": ""})
            return live.access(ToolCall("c1", "write_file", arguments)).paths

        for name in ("a.txt", "link.txt", "hard.txt", "folder/a.txt", "./folder/link.txt"):
            assert not paths_of(name).isdisjoint(paths_of("a.txt")), name
        assert not paths_of("dangling.txt").isdisjoint(paths_of("new.txt"))
        assert paths_of("b.txt").isdisjoint(paths_of("a.txt"))


async def test_a_command_that_finds_a_program_of_the_workspace_may_change_anything(
    tmp_path: Path,
) -> None:
    search_path = f"{tmp_path}/workspace/bin:/usr/bin:/bin"
    async with open_tool_editor(tmp_path, search_path=search_path) as session:
        toolbox = await session.toolbox()
        live = await toolbox.open("c1", "terminal", MemorySink())
        look = ToolCall("c1", "terminal", json.dumps({"command": "cat a.txt"}))
        assert live.access(look).kind == "reads"
        program = session.write_file("bin/cat", "#!/bin/sh\nrm -rf .\n")
        program.chmod(0o755)
        assert live.access(look).kind == "changes"


ACCESSES: dict[str, list[tuple[dict[str, JsonValue], str]]] = {
    "read_file": [({"path": "a"}, "reads")],
    "search_files": [({"pattern": "a"}, "reads")],
    "symbols": [({"action": "rename", "name": "a", "new_name": "b"}, "reads")],
    "write_file": [({"path": "a", "content": ""}, "edits"), ({"path": "a"}, "changes")],
    "patch": [
        ({"path": "a", "old_string": "b", "new_string": "c"}, "edits"),
        ({"mode": "patch", "patch": "*** Update File: a\n@@\n-b\n+c"}, "edits"),
        ({"mode": "patch", "patch": "nothing"}, "changes"),
        ({"old_string": "b", "new_string": "c"}, "changes"),
    ],
    "terminal": [
        ({"command": "cat a | grep b"}, "reads"),
        ({"command": "git status"}, "reads"),
        ({"command": "sleep 9"}, "reads"),
        ({"command": "cat a > b"}, "changes"),
        ({"command": "pytest"}, "changes"),
        ({"command": "echo '"}, "changes"),
        ({"command": "a\0b"}, "changes"),
    ],
    "process": [
        ({"action": "poll", "session_id": "a"}, "reads"),
        ({"action": "wait", "session_id": "a"}, "reads"),
        ({"action": "write", "session_id": "a", "data": "b"}, "changes"),
        ({"action": "kill", "session_id": "a"}, "changes"),
    ],
    "todo": [({}, "changes")],
    "clarify": [({"question": "a"}, "changes")],
    "exit_plan": [({"plan": "a"}, "changes")],
    "memory": [({"action": "add", "content": "a"}, "changes")],
    "session_search": [({"query": "a"}, "reads")],
    "skills_list": [({}, "reads")],
    "skill_view": [({"name": "a"}, "reads")],
    "skill_manage": [({"action": "delete", "name": "a"}, "changes")],
    "delegate_task": [({"goal": "a"}, "independent")],
    "web_fetch": [({"url": "https://example.com"}, "reads")],
    "no_such_tool": [({}, "reads")],
}


async def test_every_tool_tells_what_its_calls_may_do(tmp_path: Path) -> None:
    assert ACCESSES.keys() - {"no_such_tool"} == {*TOOL_NAMES}
    async with open_tool_editor(tmp_path) as session:
        toolbox = await session.toolbox()
        for name, cases in ACCESSES.items():
            for arguments, kind in cases:
                live = await toolbox.open("c1", name, MemorySink())
                access = live.access(ToolCall("c1", name, json.dumps(arguments)))
                assert access.kind == kind, (name, arguments)
                assert access.is_polling == (
                    "sleep" in str(arguments) or (name == "process" and kind == "reads")
                )
