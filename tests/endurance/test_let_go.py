"""A session that was closed is in nobody's hands any more, so that its memory can be used again."""

import gc
from collections.abc import Callable
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.session.commands.registry import CommandRegistry
from acp_server.session.ports.skills import NoSkills, SkillCommands
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


class ClosedSkills(NoSkills):
    """Skills that note what the desk does with them."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def on_change(self, on_change: Callable[[], None]) -> None:
        del on_change
        self.did.append("listen")

    def close(self) -> None:
        self.did.append("close")


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
        before = sessions_in_memory()
        await work(editor, tmp_path)
        with anyio.fail_after(
            HANG_TIMEOUT_SECONDS
        ):  # threads and tasks that had it end behind that
            while sessions_in_memory() != before:  # noqa: ASYNC110  nobody could set an event
                await anyio.sleep(0.01)


def test_skills_found_after_the_end_of_their_session_are_closed_immediately() -> None:
    desk, skills = SkillCommands(CommandRegistry()), ClosedSkills()
    desk.close()
    desk.set_skills(skills)
    assert skills.did == ["listen", "close"]
