"""A text that was not saved is what an edit starts from, and what an undo brings back."""

from pathlib import Path

from tests.checkpoints.scripts import PERMISSION_METHOD, run_slash_command
from tests.support.editor import Object
from tests.tools.editor_session import FILES, EditorRefusedError, allow, open_tool_editor
from tests.tools.typing_model import call


async def test_an_unsaved_buffer_is_restored_through_the_editor(tmp_path: Path) -> None:
    buffers: dict[str, str] = {}

    def read(params: Object) -> Object:
        path = str(params["path"])
        if path not in buffers:
            raise EditorRefusedError("no such buffer")
        return {"content": buffers[path]}

    def write(params: Object) -> Object:
        path, text = str(params["path"]), str(params["content"])
        buffers[path] = text
        Path(path).write_text(text)
        return {}

    answers = {PERMISSION_METHOD: allow(), "fs/read_text_file": read, "fs/write_text_file": write}
    async with open_tool_editor(tmp_path, capabilities=FILES, answers=answers) as session:
        path = session.write_file("a.txt", "saved\n")
        buffers[str(path)] = "typed and not saved\n"
        session.mark_seen(path, "typed and not saved\n")
        await session.run(call("write_file", path="a.txt", content="by the tool\n"))
        assert path.read_text() == "by the tool\n"
        await run_slash_command(session, "/undo")
        assert (buffers[str(path)], path.read_text()) == ("typed and not saved\n",) * 2


async def test_unsaved_edits_made_since_require_confirmation(tmp_path: Path) -> None:
    buffers: dict[str, str] = {}

    def read(params: Object) -> Object:
        path = str(params["path"])
        return {"content": buffers.get(path) or Path(path).read_text()}

    def write(params: Object) -> Object:
        path, text = str(params["path"]), str(params["content"])
        buffers[path] = text
        Path(path).write_text(text)
        return {}

    rejected = allow("reject_once")
    answers = {PERMISSION_METHOD: rejected, "fs/read_text_file": read, "fs/write_text_file": write}
    async with open_tool_editor(tmp_path, capabilities=FILES, answers=answers) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="by the tool\n"))
        buffers[str(path)] = "typed since\n"
        await run_slash_command(session, "/undo")
        assert len(session.editor.asked(PERMISSION_METHOD)) == 1
        assert (buffers[str(path)], path.read_text()) == ("typed since\n", "by the tool\n")
