"""The user's files: no tool replaces text that the model has not seen, and it hears of changes."""

from pathlib import Path

import pytest

from acp_server.tools.files import seen_file_guard
from acp_server.turn.conversation import ToolResult, UserMessage, prompt_to_text
from tests.subagents.task_scripts import call_events, delegate_call, text_events
from tests.support.case_table import named_case
from tests.support.editor import Object
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import CHANGED_SINCE_READ, NOT_READ
from tests.tools.editor_session import FILES, ToolEditorSession, lines, open_tool_editor
from tests.tools.test_editing_with_an_editor import Buffers
from tests.tools.typing_model import call

NEW = "everything anew\n"
OLD = lines(60)
UNREAD = (
    "a.py exists already, and you have not read it. Nothing was written. Read all of it with "
    "read_file first, or change it with patch."
)


@pytest.fixture(autouse=True)
def compare_files_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine too, a file that was changed is told before the next request."""
    monkeypatch.setattr(seen_file_guard, "COMPARE_SECONDS", HANG_TIMEOUT_SECONDS)


def last_prompt(session: ToolEditorSession) -> str:
    """Return the text of the last prompt as the model got it."""
    messages = session.model.requests[-1].messages
    return next(
        text
        for message in reversed(messages)
        if isinstance(message, UserMessage) and (text := prompt_to_text(message.parts))
    )


async def write_over(session: ToolEditorSession, path: str = "a.py") -> str:
    """Have the model replace a file; return the result."""
    return (await session.run_one(call("write_file", path=path, content=NEW))).text


async def test_a_file_that_was_not_read_is_not_replaced(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)
        updates = await session.run_one(call("write_file", path="a.py", content=NEW))
        assert (updates.status, updates.text, updates.shown_text) == ("failed", UNREAD, UNREAD)
        assert path.read_text() == OLD


async def test_a_file_that_was_read_is_replaced(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)
        await session.run_one(call("read_file", path="a.py"))
        assert await write_over(session) == "edited a.py (1 line)"
        assert path.read_text() == NEW


async def test_a_file_that_the_model_wrote_and_patched_is_replaced(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        await session.run_one(call("write_file", path="a.py", content=OLD))
        await session.run_one(call("patch", path="a.py", old_string="60: a", new_string="60: the"))
        assert await write_over(session) == "edited a.py (1 line)"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_writing_the_same_text_says_so_and_asks_nothing(tmp_path: Path, newline: str) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        path = session.write_seen_file("a.py", NEW.replace("\n", newline))
        before = path.stat().st_mtime_ns, path.stat().st_ctime_ns
        updates = await session.run_one(call("write_file", path="a.py", content=NEW))
        assert updates.status == "completed"
        assert updates.text == "a.py already has exactly this text; nothing was written"
        assert session.editor.requests == []
        assert (path.stat().st_mtime_ns, path.stat().st_ctime_ns) == before


async def test_the_same_text_is_saved_if_the_editor_has_not_saved_it(tmp_path: Path) -> None:
    buffers = Buffers()
    async with open_tool_editor(tmp_path, capabilities=FILES, answers=buffers.matches()) as session:
        path = session.write_file("a.py", OLD)
        buffers.unsaved[str(path)] = NEW
        await session.run_one(call("read_file", path="a.py"))
        assert (await write_over(session)).startswith("edited a.py")
        assert path.read_text() == NEW


async def test_an_empty_file_is_replaced_unread(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.py", "")
        assert await write_over(session) == "edited a.py (1 line)"


async def test_reading_and_writing_in_one_response_does_not_count_as_read(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)
        _, written = await session.run(
            call("read_file", path="a.py"), call("write_file", path="a.py", content=NEW)
        )
        assert (written.text, path.read_text()) == (UNREAD, OLD)
        assert await write_over(session) == "edited a.py (1 line)"


async def test_what_the_user_changed_since_the_read_is_not_replaced(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)

        async def user_edits() -> None:
            path.write_text(OLD.replace("40: a", "40: my"))

        await session.run_one(call("read_file", path="a.py"))
        session.model.rounds = [[user_edits, *call_events("write_file", path="a.py", content=NEW)]]
        await session.editor.prompt(session.session_id, "go")
        (result,) = session.model.results
        assert (result.is_error, result.text) == (
            True,
            (
                "a.py changed since you read it, by the user or a command: line 40. Nothing was "
                "written. Read it again, at least line 40, or change it with patch."
            ),
        )
        assert "40: my line" in path.read_text()
        # The refusal has told it: the next prompt does not tell it again.
        await session.run_one(call("read_file", path="a.py", offset=40, limit=1))
        assert last_prompt(session) == "go"
        assert await write_over(session) == "edited a.py (1 line)"


@pytest.mark.parametrize(
    ("reads", "answer"),
    [
        ([(1, 20)], "You have read only a part of a.py. Nothing was written. Read lines 21-60"),
        ([(1, 20), (41, 20)], "You have read only a part of a.py. Nothing was written. Read lines"),
        ([(1, 20), (21, 40)], "edited a.py (1 line)"),
    ],
    ids=["its head", "head and tail", "all of it"],
)
async def test_a_file_read_in_part_is_unread(
    tmp_path: Path, reads: list[tuple[int, int]], answer: str
) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.py", OLD)
        for offset, limit in reads:
            await session.run_one(call("read_file", path="a.py", offset=offset, limit=limit))
        assert (await write_over(session)).startswith(answer)


async def test_a_line_that_is_too_long_to_show_is_unread(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.py", f"one\n{'x' * 5_000}\nthree\n")
        await session.run_one(call("read_file", path="a.py"))
        assert "Read line 2 first" in await write_over(session)


PRINTING = {
    "cat a.py": True,
    "cat sub/../a.py other.txt": True,
    "cd sub && cat ../a.py": True,
    "cat -n a.py": False,
    "cat a.py | head -5": False,
    "cat a.py; cat a.py": False,
    "head -60 a.py": False,
    "cat < a.py": False,
}
"""Commands, and whether the model has seen a.py after them."""


async def test_a_command_that_prints_the_whole_file_counts_as_a_read(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("other.txt", "no newline at its end")
        (session.root / "sub").mkdir()
        for number, (command, counts) in enumerate(PRINTING.items()):
            with named_case(command):
                name = f"{number}.py"
                session.write_file(name, OLD)
                ran = await session.run_one(call("terminal", command=command.replace("a.py", name)))
                assert ran.status == "completed"
                expected = "edited a.py (1 line)" if counts else UNREAD
                assert await write_over(session, name) == expected.replace("a.py", name)


async def test_a_printed_file_that_is_too_long_for_the_result_is_unread(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.py", lines(5_000))
        await session.run_one(call("terminal", command="cat a.py"))
        assert await write_over(session) == UNREAD


async def test_a_patch_goes_on_with_a_note_if_the_file_changed(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)
        await session.run_one(call("read_file", path="a.py"))
        path.write_text(OLD.replace("40: a", "40: my").replace("50: a line of a file", "50"))
        patch = call("patch", path="a.py", old_string="3: a", new_string="3: the")
        updates = await session.run_one(patch)
        assert updates.status == "failed"  # 3, 13, 23: not unique
        whole = "*** Begin Patch\n*** Update File: a.py\n@@\n-1: {}\n+1: x\n*** End Patch".format(
            OLD.splitlines()[0].removeprefix("1: ")
        )
        updates = await session.run_one(call("patch", mode="patch", patch=whole))
        note = "edited a.py at line 1; the file had changed since you read it: lines 40, 50"
        assert updates.text == note
        assert "Read lines 40, 50 first" in await write_over(session)


async def test_the_model_is_told_once_which_files_changed(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name in ("a.py", "b.py", "sub/c.py", "unchanged.py"):
            session.write_file(name, OLD)
            await session.run_one(call("read_file", path=name))
        session.write_file("never_read.py", OLD)
        session.write_file("a.py", OLD.replace("40: a", "40: my"))
        session.write_file("never_read.py", NEW)
        (session.root / "b.py").unlink()
        await session.run_one(call("todo", todos=[]))
        shown = (
            "go\n[Changed since you read or wrote them, by the user or a command: a.py (line 40), "
            "b.py (deleted). Read what changed before you rely on it.]"
        )
        assert last_prompt(session) == shown
        await session.run_one(call("todo", todos=[]))
        assert last_prompt(session) == "go"
        session.write_file("a.py", OLD.replace("40: a", "40: our"))
        await session.run_one(call("todo", todos=[]))
        assert "a.py (line 40)" in last_prompt(session)


async def test_many_changed_files_are_told_in_bounds(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for number in range(13):
            session.write_seen_file(f"{number:02}.py", OLD)
            session.write_file(f"{number:02}.py", NEW)
        await session.run_one(call("todo", todos=[]))
        shown = last_prompt(session)
        assert shown.count(".py (line 1)") == 10
        assert " and 3 more files. " in shown


async def test_a_formatter_that_the_agent_ran_counts_as_a_change(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        await session.run_one(call("write_file", path="a.py", content=OLD))
        await session.run_one(call("terminal", command="sed -i 's/^2:/2 :/' a.py"))
        assert "by the user or a command: line 2. " in await write_over(session)


async def test_unsaved_text_in_the_editor_is_not_replaced(tmp_path: Path) -> None:
    buffers = Buffers()
    async with open_tool_editor(tmp_path, capabilities=FILES, answers=buffers.matches()) as session:
        path = session.write_file("a.py", OLD)
        await session.run_one(call("read_file", path="a.py"))
        buffers.unsaved[str(path)] = OLD.replace("7: a", "7: my", 1)
        text = await write_over(session)
        assert "a.py (line 7)" in last_prompt(session)
        assert "by the user or a command: line 7. " in text
        assert (path.read_text(), buffers.written) == (OLD, [])
        await session.run_one(call("read_file", path="a.py"))
        assert await write_over(session) == "edited a.py (1 line)"


async def test_a_file_that_the_editor_formats_on_saving_counts_as_changed(tmp_path: Path) -> None:
    buffers = Buffers()

    def format_on_save(params: Object) -> None:
        Path(str(params["path"])).write_text("formatted\n")

    answers = {**buffers.matches(), "fs/write_text_file": format_on_save}
    async with open_tool_editor(tmp_path, capabilities=FILES, answers=answers) as session:
        await session.run_one(call("write_file", path="a.py", content=OLD))
        assert CHANGED_SINCE_READ in await write_over(session)


@pytest.mark.parametrize(("uri", "counts"), [("a.py", True), ("a.py#L1-20", False)])
async def test_a_file_attached_whole_counts_as_read(
    tmp_path: Path, uri: str, *, counts: bool
) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)
        session.model.rounds = [call_events("write_file", path="a.py", content=NEW)]
        await session.editor.call(
            "session/prompt",
            {
                "sessionId": session.session_id,
                "prompt": [
                    {"type": "text", "text": "go"},
                    {"type": "resource_link", "uri": f"file://{session.root}/{uri}", "name": "a"},
                ],
            },
        )
        assert path.read_text() == (NEW if counts else OLD)


async def test_a_sub_agent_has_not_read_what_the_session_has(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)
        await session.run_one(call("read_file", path="a.py"))
        session.model.subagent_rounds = {
            "Rewrite": [
                call_events("write_file", path="a.py", content="unread\n"),
                call_events("read_file", path="a.py"),
                call_events("write_file", path="a.py", content="by the task\n"),
                text_events("Done."),
            ]
        }
        await session.run_one(delegate_call("Rewrite it"))
        results = [
            part.text
            for request in session.model.requests
            for part in request.messages[-1].parts
            if isinstance(part, ToolResult)
        ]
        assert UNREAD in results
        assert path.read_text() == "by the task\n"
        # To the session the task is someone else.
        assert CHANGED_SINCE_READ in await write_over(session)


async def test_a_file_that_another_session_wrote_counts_as_changed(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", OLD)
        await session.run_one(call("read_file", path="a.py"))
        first = session.session_id
        session.session_id = await session.editor.new_session(session.root)
        await session.run_one(call("read_file", path="a.py"))
        assert await write_over(session) == "edited a.py (1 line)"
        session.session_id = first
        assert CHANGED_SINCE_READ in await write_over(session)
        assert "a.py (line 1)" in last_prompt(session)
        assert path.read_text() == NEW


async def test_a_conversation_that_was_rewound_has_forgotten_what_it_read(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.py", OLD)
        await session.run(
            call("read_file", path="a.py"), call("write_file", path="b.py", content=NEW)
        )
        session.model.rounds = []
        await session.editor.prompt(session.session_id, "/undo --conversation")
        assert await write_over(session) == UNREAD


async def test_a_file_that_was_moved_or_deleted_is_followed(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.py", OLD)
        await session.run_one(call("read_file", path="a.py"))
        move = (
            "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n"
            "-1: a line of a file like any other\n+1: x\n*** End Patch"
        )
        moved = await session.run_one(call("patch", mode="patch", patch=move))
        assert moved.text == "moved a.py to b.py at line 1"
        assert await write_over(session, "b.py") == "edited b.py (1 line)"
        delete = "*** Begin Patch\n*** Delete File: b.py\n*** End Patch"
        await session.run_one(call("patch", mode="patch", patch=delete))
        assert last_prompt(session) == "go"
        session.write_file("b.py", NEW)
        assert NOT_READ in await write_over(session, "b.py")
