"""What a session sends behind a reload begins with what it sent before, byte for byte."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.config.settings import Configuration
from tests.sessions.test_kept import load_session
from tests.support.editor import Editor, json_at, open_editor
from tests.support.messages_api import (
    KEY,
    FakeApiServer,
    RecordedRequest,
    ScriptedTurn,
    call,
    messages_api,
    reply,
    think,
)
from tests.support.user_texts import MORE_THAN_A_DAY_OLD

MODEL = "claude-opus-5-5"
TWO_DAYS_US = 2 * 86_400 * 1_000_000
TURNS: list[ScriptedTurn] = [
    reply(think("Which?"), "Let me see.", call("read_file", path="sub/note.txt")),
    "A note.",
    "It is as it was.",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with instructions, also in a folder."""
    root = tmp_path / "workspace"
    (root / "sub").mkdir(parents=True)
    (root / "AGENTS.md").write_text("Use tabs.\n")
    (root / "sub" / "AGENTS.md").write_text("Notes are short.\n")
    (root / "sub" / "note.txt").write_text("a note\n")
    return root


def configured(home: Path, api: FakeApiServer) -> Configuration:
    """A server that asks the strict endpoint."""
    environment = {
        "HERMES_HOME": str(home / "home"),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": KEY,
    }
    return settings.load({"--mode": "bypass", "--model": MODEL}, environment)


async def go_on(editor: Editor, session: str, folder: Path) -> str:
    """Load a session and prompt; return what was said then."""
    await editor.initialize()
    assert "result" in await load_session(editor, session, str(folder))
    count_before = len(editor.updates_of(session))
    await editor.prompt(session, "and now?")
    chunks = [
        json_at(each, "content", "text")
        for each in editor.updates_of(session)[count_before:]
        if json_at(each, "sessionUpdate") == "agent_message_chunk"
    ]
    return "".join(map(str, chunks))


def unmarked(value: JsonValue) -> JsonValue:
    """A part of a request, wherever breakpoints stand."""
    match value:
        case dict():
            return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
        case list():
            return [unmarked(each) for each in value]
        case _:
            return value


def prefix(recorded: RecordedRequest, count: int | None = None) -> str:
    """What the provider's cache goes by: tools, system, and so many messages, as they stand."""
    messages = recorded.body["messages"]
    assert isinstance(messages, list)
    parts = [recorded.body["tools"], recorded.body["system"], messages[:count]]
    return json.dumps(unmarked(parts), ensure_ascii=False)


async def test_a_reload_sends_the_same_prefix_and_hits_the_cache(
    tmp_path: Path, folder: Path
) -> None:
    async with messages_api(TURNS) as api:
        setup = configured(tmp_path, api)
        async with open_editor(setup) as editor:
            await editor.initialize()
            session = await editor.new_session(folder)
            await editor.prompt(session, "what is in the note?")
            usage = editor.updates_of(session)[-1]
        async with open_editor(setup) as editor:
            assert await go_on(editor, session, folder) == "It is as it was."
            again = editor.updates_of(session)
        _, last, next_one = api.model_requests
    messages = last.body["messages"]
    assert isinstance(messages, list)
    assert prefix(next_one, len(messages)) == prefix(last)
    assert last.usage is not None
    assert next_one.usage is not None
    before = last.usage.input
    assert next_one.usage.input.read >= before.read + before.written
    assert "Notes are short." in prefix(last)
    assert usage in again  # how full the window is, told with the load


async def test_changed_instructions_are_read_again_and_announced(
    tmp_path: Path, folder: Path
) -> None:
    async with messages_api(TURNS) as api:
        setup = configured(tmp_path, api)
        async with open_editor(setup) as editor:
            await editor.initialize()
            session = await editor.new_session(folder)
            await editor.prompt(session, "what is in the note?")
        (folder / "AGENTS.md").write_text("Use blanks.\n")
        async with open_editor(setup) as editor:
            assert "instruction files in them, have changed" in await go_on(editor, session, folder)
    assert "Use blanks." in prefix(api.model_requests[-1], 0)
    assert [request.verdict for request in api.model_requests] == ["answered"] * 3


async def test_after_a_day_the_prompt_is_rebuilt_and_the_user_is_notified(
    tmp_path: Path, folder: Path
) -> None:
    async with messages_api(TURNS) as api:
        setup = configured(tmp_path, api)
        async with open_editor(setup) as editor:
            await editor.initialize()
            session = await editor.new_session(folder)
            await editor.prompt(session, "what is in the note?")
        with closing(sqlite3.connect(tmp_path / "home" / "acp" / "sessions.db")) as db, db:
            db.execute("UPDATE prompts SET written_us = written_us - ?", (TWO_DAYS_US,))
        async with open_editor(setup) as editor:
            assert MORE_THAN_A_DAY_OLD in await go_on(editor, session, folder)
    assert [request.verdict for request in api.model_requests] == ["answered"] * 3
