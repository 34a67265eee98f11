"""Edits that go through the editor: its buffers, its refusals, its questions."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.turn.conversation import ToolCall
from tests.support.editor import Object, json_at
from tests.support.user_texts import EDITOR_DID_NOT_WRITE, REJECTED_BY_USER
from tests.tools.editor_session import FILES, Answer, EditorRefusedError, allow, open_tool_editor
from tests.tools.typing_model import call

READ, WRITE, ASK = "fs/read_text_file", "fs/write_text_file", "session/request_permission"


class Buffers:
    """The files of an editor: what is open and not saved, else what the disk holds."""

    def __init__(self) -> None:
        self.unsaved: dict[str, str] = {}
        self.written: list[Object] = []

    def read(self, params: Object) -> JsonValue:
        path = str(params["path"])
        try:
            return {"content": self.unsaved.get(path) or Path(path).read_text()}
        except OSError as error:
            raise EditorRefusedError(str(error)) from None

    def write(self, params: Object) -> JsonValue:
        self.written.append(params)
        self.unsaved.pop(str(params["path"]), None)
        Path(str(params["path"])).write_text(str(params["content"]))
        return {}

    def matches(self) -> dict[str, Answer]:
        return {READ: self.read, WRITE: self.write}


def block(path: Path, old: str | None, new: str) -> Object:
    return {"type": "diff", "path": str(path), "oldText": old, "newText": new}


async def test_the_editor_writes_an_edit_over_its_unsaved_text(tmp_path: Path) -> None:
    buffers = Buffers()
    async with open_tool_editor(
        tmp_path, capabilities=FILES, answers=buffers.matches()
    ) as tool_session:
        path = tool_session.write_file("a.txt", "saved\nend\n")
        buffers.unsaved[str(path)] = "typed\nend\n"
        updates = await tool_session.run_one(
            call("patch", path="a.txt", old_string="end", new_string="fin")
        )
        assert updates.status == "completed"
        assert updates.diff_states()[-1][1] == [block(path, "typed\nend\n", "typed\nfin\n")]
        session: Object = {"sessionId": tool_session.session_id, "path": str(path)}
        assert buffers.written == [{**session, "content": "typed\nfin\n"}]


async def test_the_editor_writes_a_new_file(tmp_path: Path) -> None:
    buffers = Buffers()
    async with open_tool_editor(tmp_path, capabilities=FILES, answers=buffers.matches()) as session:
        updates = await session.run_one(call("write_file", path="new.txt", content="new\n"))
        assert updates.status == "completed"
        assert updates.diff_states()[-1][1] == [block(session.root / "new.txt", None, "new\n")]
        assert [each["content"] for each in buffers.written] == ["new\n"]


async def test_a_refusal_by_the_editor_fails_the_call(tmp_path: Path) -> None:
    def refuse(_: Object) -> JsonValue:
        raise EditorRefusedError("the file is locked")

    answers = {**Buffers().matches(), WRITE: refuse}
    async with open_tool_editor(tmp_path, capabilities=FILES, answers=answers) as session:
        path = session.write_file("a.txt", "one\n")
        updates = await session.run_one(
            call("patch", path="a.txt", old_string="one", new_string="two")
        )
        assert updates.status == "failed"
        assert f"{EDITOR_DID_NOT_WRITE} a.txt: " in updates.text
        assert "the file is locked" in updates.text
        assert updates.shown_text == updates.text
        assert path.read_text() == "one\n"


async def test_the_permission_request_contains_the_call_and_its_exact_diff(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask", answers={ASK: allow()}) as session:
        path = session.write_file("a.txt", "one\ntwo\n")
        tool_call = call("patch", path="a.txt", old_string="two", new_string="2")
        updates = await session.run_one(tool_call)
        (permission,) = session.editor.asked(ASK)
        exact = [block(path, "one\ntwo\n", "one\n2\n")]
        assert permission["sessionId"] == session.session_id
        assert permission["toolCall"] == {
            "toolCallId": tool_call.id,
            "title": "Edit a.txt",
            "kind": "edit",
            "status": "pending",
            "content": exact,
            "locations": [{"path": str(path), "line": 2}],
        }
        assert updates.diff_states() == [("pending", exact), ("completed", exact)]
        assert path.read_text() == "one\n2\n"


async def test_a_rejected_edit_fails_and_the_model_is_informed(tmp_path: Path) -> None:
    async with open_tool_editor(
        tmp_path, mode="ask", answers={ASK: allow("reject_once")}
    ) as session:
        path = session.write_seen_file("a.txt", "one\n")
        updates = await session.run_one(call("write_file", path="a.txt", content="two\n"))
        assert updates.statuses == ["pending", "failed"]
        assert updates.text.startswith(REJECTED_BY_USER)
        assert path.read_text() == "one\n"


def meddling(change: Callable[[], object]) -> Answer:
    """Return the answer of a user who changes something while the first question is open."""
    changes = [change]

    def answer(params: Object) -> JsonValue:
        if changes:
            changes.pop()()
        return allow()(params)

    return answer


async def test_a_patch_is_reapplied_when_its_file_changed_during_the_request(
    tmp_path: Path,
) -> None:
    path = tmp_path / "workspace" / "a.txt"
    answers = {ASK: meddling(lambda: path.write_text("ONE\ntwo\n"))}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        session.write_file("a.txt", "one\ntwo\n")
        tool_call = call("patch", path="a.txt", old_string="two", new_string="2")
        updates = await session.run_one(tool_call)
        stale, fresh = block(path, "one\ntwo\n", "one\n2\n"), block(path, "ONE\ntwo\n", "ONE\n2\n")
        assert [json_at(each, "toolCall", "content") for each in session.editor.asked(ASK)] == [
            [stale],
            [fresh],
        ]
        assert [blocks for _, blocks in updates.diff_states()] == [[stale], [fresh], [fresh]]
        assert updates.status == "completed"
        assert path.read_text() == "ONE\n2\n"


@pytest.mark.parametrize(
    ("before", "meanwhile"),
    [pytest.param("one\n", "ONE\n", id="changed"), pytest.param(None, "ONE\n", id="created")],
)
async def test_a_full_write_does_not_overwrite_changes_made_during_the_request(
    tmp_path: Path, before: str | None, meanwhile: str
) -> None:
    path = tmp_path / "workspace" / "a.txt"
    answers = {ASK: meddling(lambda: path.write_text(meanwhile))}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        if before is not None:
            session.write_seen_file("a.txt", before)
        updates = await session.run_one(call("write_file", path="a.txt", content="two\n"))
        assert updates.status == "failed"
        assert "a.txt changed meanwhile" in updates.text
        assert path.read_text() == meanwhile


async def test_a_patch_that_no_longer_matches_fails(tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "a.txt"
    answers = {ASK: meddling(lambda: path.write_text("nothing of it\n"))}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        session.write_file("a.txt", "one\n")
        tool_call: ToolCall = call("patch", path="a.txt", old_string="one", new_string="two")
        updates = await session.run_one(tool_call)
        assert updates.status == "failed"
        assert path.read_text() == "nothing of it\n"
        assert len(session.editor.asked(ASK)) == 1


async def test_two_calls_never_deadlock(tmp_path: Path) -> None:
    """The first has to ask again while the second waits for its file, with a place to ask."""
    path = tmp_path / "workspace" / "a.txt"
    answers = {ASK: meddling(lambda: path.write_text("ONE\ntwo\n"))}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        session.write_file("a.txt", "one\ntwo\n")
        results = await session.run(
            call("patch", path="a.txt", old_string="two", new_string="2"),
            call("patch", path="a.txt", old_string="2", new_string="3"),
        )
        assert [each.status for each in results] == ["completed", "completed"]
        assert path.read_text() == "ONE\n3\n"


async def test_edits_of_one_file_under_two_names_ask_permission_in_sequence(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask", answers={ASK: allow()}) as session:
        path = session.write_file("a.txt", "one\n")
        (session.root / "b.txt").symlink_to(path)
        for number in range(5):
            word, other = f"{number} of a", f"{number} of b"
            path.write_text(f"{word}\n{other}\n")
            results = await session.run(
                call("patch", path="a.txt", old_string=word, new_string="x"),
                call("patch", path="b.txt", old_string=other, new_string="y"),
            )
            assert [each.status for each in results] == ["completed", "completed"]
            assert path.read_text() == "x\ny\n"
