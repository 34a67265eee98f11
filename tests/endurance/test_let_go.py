"""A session that was closed is in nobody's hands any more, so that its memory can be used again."""

import gc
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.session.session import Session
from tests.support.editor import Editor, make_configuration, open_editor
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SCRIPT = """\
prompt: *
call: read_file
  path: notes.txt
call: terminal
  command: echo hello
step:
say: Done.
"""


def sessions_in_memory() -> int:
    gc.collect()
    return sum(type(each) is Session for each in gc.get_objects())


async def work(editor: Editor, folder: Path) -> None:
    """Have a session opened, used, taken up again and closed."""
    session = await editor.new_session(folder)
    await editor.prompt(session, "work")
    again: JsonValue = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
    await editor.call("session/load", again)
    await editor.prompt(session, "work on")
    assert "result" in await editor.call("session/close", {"sessionId": session})


async def test_no_reference_to_a_closed_session_remains(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("some words\n")
    setup = make_configuration(tmp_path, SCRIPT, options={"--mode": "bypass"})
    async with open_editor(setup) as editor:
        await editor.initialize()
        gc.collect()
        gc.freeze()  # what earlier tests left in memory would be searched again and again
        before = sessions_in_memory()
        await work(editor, tmp_path)
        with anyio.fail_after(
            HANG_TIMEOUT_SECONDS
        ):  # threads and tasks that had it end behind that
            while sessions_in_memory() != before:  # noqa: ASYNC110  nobody could set an event
                await anyio.sleep(0.01)
