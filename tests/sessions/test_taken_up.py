"""Sessions that are taken up again in unusual ways: open ones, twice at once, in other folders."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.config.settings import Configuration
from acp_server.history import session_reads
from tests.sessions.session_requests import (
    UNKNOWN_SESSION_ID,
    load_session,
    make_prompt_params,
    message_kind,
    sessions_of_page,
)
from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor

SCRIPT = """\
prompt: wait
say: Half an answer
pause: 60s

prompt: *
say: Hello.
"""


@pytest.fixture
def setup(tmp_path: Path) -> Configuration:
    """A home of its own, and a model that answers."""
    return make_configuration(tmp_path, SCRIPT, options={"--mode": "bypass"})


async def load_replayed_texts(editor: Editor, session: str, folder: Path) -> list[JsonValue]:
    """Load a session; return the texts that are shown of it."""
    seen_count = len(editor.updates_of(session))
    assert "result" in await load_session(editor, session, str(folder))
    chunks = [each for each in editor.updates_of(session)[seen_count:] if is_chunk(each)]
    return [json_at(each, "content", "text") for each in chunks]


def is_chunk(update: JsonValue) -> bool:
    """Whether it is a part of what was said."""
    return str(json_at(update, "sessionUpdate")).endswith("message_chunk")


async def test_an_open_session_can_be_loaded_before_the_first_prompt(
    setup: Configuration, tmp_path: Path
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        assert await load_replayed_texts(editor, session, tmp_path) == []
        await editor.prompt(session, "hi")
        assert await load_replayed_texts(editor, session, tmp_path) == ["hi", "Hello."]
        await editor.prompt(session, "again")
    async with open_editor(setup) as editor:
        await editor.initialize()
        assert await load_replayed_texts(editor, session, tmp_path) == [
            "hi",
            "Hello.",
            "again",
            "Hello.",
        ]


async def test_a_failed_load_leaves_an_open_session_unchanged(
    setup: Configuration, tmp_path: Path
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "hi")
        refused = await load_session(editor, session, str(tmp_path / "nowhere"))
        assert json_at(refused, "error", "code") == -32602
        await editor.prompt(session, "again")
        assert await load_replayed_texts(editor, session, tmp_path) == [
            "hi",
            "Hello.",
            "again",
            "Hello.",
        ]


async def test_concurrent_loads_all_replay_everything(setup: Configuration, tmp_path: Path) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "hi")
    async with open_editor(setup) as editor:
        await editor.initialize()
        params: JsonValue = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        for pending in [editor.start_request("session/load", params) for _ in range(3)]:
            assert "result" in await pending.response()
        chunks = [json_at(u, "content", "text") for u in editor.updates_of(session) if is_chunk(u)]
        assert sorted(map(str, chunks)) == ["Hello."] * 3 + ["hi"] * 3
        assert await editor.prompt(session, "again") == {"stopReason": "end_turn"}
        texts = await load_replayed_texts(editor, session, tmp_path)
        assert texts == ["hi", "Hello.", "again", "Hello."]


async def test_a_session_with_only_commands_is_saved(setup: Configuration, tmp_path: Path) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "/version")
    async with open_editor(setup) as editor:
        await editor.initialize()
        found = sessions_of_page(json_at(await editor.call("session/list", {}), "result"))
        assert [json_at(each, "sessionId") for each in found] == [session]
        assert len(await load_replayed_texts(editor, session, tmp_path)) == 2


async def test_a_session_without_prompts_is_not_listed_but_can_be_loaded(
    setup: Configuration, tmp_path: Path
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.call("session/close", {"sessionId": session})
        assert json_at(await editor.call("session/list", {}), "result", "sessions") == []
        assert await load_replayed_texts(editor, session, tmp_path) == []


async def test_a_session_may_be_resumed_without_servers_and_in_another_directory(
    setup: Configuration, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path, additionalDirectories=[str(other)])
        await editor.prompt(session, "hi")
    async with open_editor(setup) as editor:
        await editor.initialize()
        params: JsonValue = {"sessionId": session, "cwd": str(other)}
        assert "result" in await editor.call("session/resume", params)
        await editor.prompt(session, "again")
        assert editor.agent_text(session).endswith("Hello.")
        assert "have changed" in editor.agent_text(session)
        (found,) = sessions_of_page(
            json_at(await editor.call("session/list", {"cwd": str(other)}), "result")
        )
        assert json_at(found, "sessionId") == session
        assert isinstance(found, dict)
        assert "additionalDirectories" not in found


@pytest.mark.parametrize(
    "roots",
    [{"cwd": "relative"}, {"cwd": "/", "additionalDirectories": ["relative"]}],
    ids=["cwd", "additional"],
)
async def test_relative_roots_are_rejected(
    setup: Configuration, tmp_path: Path, roots: Object
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        for method in ("session/load", "session/resume", "session/new"):
            params: JsonValue = {"sessionId": session, "mcpServers": [], **roots}
            assert json_at(await editor.call(method, params), "error", "code") == -32602


async def test_deleting_a_busy_session_ends_its_turn_and_removes_everything(
    setup: Configuration, tmp_path: Path
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        pending = editor.start_request("session/prompt", make_prompt_params(session, "wait"))
        await editor.wait_for_response(lambda m: message_kind(m) == "agent_message_chunk")
        assert (await editor.call("session/delete", {"sessionId": session}))["result"] == {}
        assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        assert json_at(await editor.call("session/list", {}), "result", "sessions") == []
    with closing(sqlite3.connect(tmp_path / "acp" / "sessions.db")) as connection:
        for table in ("sessions", "messages", "entries", "texts", "prompts", "leases"):
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608  ours
            assert (table, rows) == (table, [])


async def test_pages_are_stable_while_sessions_change(
    setup: Configuration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is used while somebody pages is not listed twice, and hides no other."""
    monkeypatch.setattr(session_reads, "PAGE_SIZE", 5)
    async with open_editor(setup) as editor:
        await editor.initialize()
        ids = [await editor.new_session(tmp_path) for _ in range(9)]
        for session in ids:
            await editor.prompt(session, "hi")
        first = json_at(await editor.call("session/list", {}), "result")
        await editor.prompt(ids[0], "used again")
        await editor.call("session/delete", {"sessionId": ids[-1]})
        await editor.prompt(await editor.new_session(tmp_path), "a new one")
        cursor = json_at(first, "nextCursor")
        rest = json_at(await editor.call("session/list", {"cursor": cursor}), "result")
        found = [
            json_at(each, "sessionId") for page in (first, rest) for each in sessions_of_page(page)
        ]
        assert found == ids[:0:-1]


@pytest.mark.parametrize("cursor", ["", "!", "bm9uc2Vuc2U=", "WzFd", "é"])
async def test_unknown_cursors_are_rejected(setup: Configuration, cursor: str) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        response = await editor.call("session/list", {"cursor": cursor})
        assert json_at(response, "error", "code") == -32602


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/close"])
@pytest.mark.parametrize("session", [UNKNOWN_SESSION_ID, "", "\ud800", "x" * 100_000, "a\0b"])
async def test_unknown_session_ids_are_not_found(
    setup: Configuration, tmp_path: Path, method: str, session: str
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        response = await load_session(editor, session, str(tmp_path), method)
        assert json_at(response, "error", "code") == -32002
