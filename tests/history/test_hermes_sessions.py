"""The ACP sessions of Hermes: listed, loaded from its database, continued as sessions of ours."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pydantic import JsonValue

from acp_server.history.hermes_sessions import HermesSessions, call_title
from acp_server.turn.conversation import (
    AssistantMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.support.case_table import each_case
from tests.support.editor import Editor, json_at, make_configuration, open_editor

TABLES = """\
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT,
    started_at REAL NOT NULL, ended_at REAL, cwd TEXT, title TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT,
    content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL,
    active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0);
"""
OLD_TABLES = """\
CREATE TABLE sessions (id TEXT, source TEXT, started_at REAL);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,
    timestamp REAL);
"""
CALLS = json.dumps(
    [
        {"id": "c1", "function": {"name": "terminal", "arguments": '{"command": "npm test"}'}},
        {"id": "c2", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}},
    ]
)
Row = tuple[str, str | None, str | None, str | None]
"""Role, content, call id, calls."""
TALK: Sequence[Row] = (
    ("user", "Run the tests.\nAll of them.", None, None),
    ("assistant", "I will.", None, CALLS),
    ("tool", '{"output": "12 passed"}', "c1", None),
    ("assistant", "All pass.", None, None),
)


def make_database(
    home: Path, rows: Sequence[Row] = TALK, *, cwd: str = "", title: str | None = None
) -> Path:
    """Write a database of Hermes with a session `h1` of an editor, and one of a terminal."""
    file = home / "state.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(TABLES)
        config = json.dumps({"cwd": cwd or str(home)})
        session = "INSERT INTO sessions (id, source, model_config, started_at, title)"
        connection.execute(f"{session} VALUES ('h1', 'acp', ?, 1000, ?)", (config, title))
        connection.execute(f"{session} VALUES ('t1', 'cli', ?, 1000, NULL)", (config,))
        connection.execute(f"{session} VALUES ('e1', 'acp', ?, 1000, NULL)", (config,))
        for name in ("h1", "t1"):
            connection.executemany(
                "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls,"
                " timestamp) VALUES (?, ?, ?, ?, ?, 2000)",
                [(name, *row) for row in rows],
            )
        connection.commit()
    return file


async def listed(editor: Editor, **params: JsonValue) -> list[tuple[JsonValue, JsonValue]]:
    answer = await editor.call("session/list", dict(params))
    sessions = json_at(answer, "result", "sessions")
    assert isinstance(sessions, list)
    return [(json_at(each, "sessionId"), json_at(each, "title")) for each in sessions]


async def test_a_session_is_listed_loaded_continued_and_then_ours(tmp_path: Path) -> None:
    file = make_database(tmp_path)
    before = file.read_bytes()
    script = "prompt: *\nsay: Gladly.\n"
    setup: dict[str, JsonValue] = {"sessionId": "h1", "cwd": str(tmp_path), "mcpServers": []}
    async with open_editor(make_configuration(tmp_path, script)) as editor:
        await editor.initialize()
        assert await listed(editor) == [("h1", "Run the tests.")]
        assert await listed(editor, cwd=str(tmp_path)) == [("h1", "Run the tests.")]
        assert await listed(editor, cwd="/elsewhere") == []
        loaded = await editor.call("session/load", setup)
        assert "result" in loaded, loaded
        shown = json.dumps(editor.updates_of("h1"), ensure_ascii=False)
        assert "terminal: npm test" in shown
        assert "read_file: a.py" in shown
        assert "12 passed" not in shown
        assert "arguments" not in shown
        answer = await editor.prompt("h1", "Thank you.")
        assert json_at(answer, "stopReason") == "end_turn"
    async with open_editor(make_configuration(tmp_path, script)) as editor:
        await editor.initialize()
        assert await listed(editor) == [("h1", "Run the tests.")]
        await editor.call("session/load", setup)
        assert editor.agent_text("h1").endswith("Gladly.")
        assert "terminal: npm test" in json.dumps(editor.updates_of("h1"))
        await editor.call("session/delete", {"sessionId": "h1"})
        assert await listed(editor) == []
        again = await editor.call("session/load", setup)
        assert json_at(again, "error", "code") == -32002
    assert file.read_bytes() == before


def test_the_model_gets_each_call_with_its_result(tmp_path: Path) -> None:
    stored = HermesSessions(make_database(tmp_path)).read("h1")
    assert stored.messages == (
        UserMessage((Text("Run the tests.\nAll of them."),)),
        AssistantMessage(
            (
                Text("I will."),
                ToolCall("c1", "terminal", '{"command": "npm test"}'),
                ToolCall("c2", "read_file", '{"path": "a.py"}'),
            )
        ),
        UserMessage(
            (
                ToolResult("c1", '{"output": "12 passed"}'),
                ToolResult("c2", "(Hermes stored no result of this call.)", is_error=True),
            )
        ),
        AssistantMessage((Text("All pass."),)),
    )


def test_what_a_summary_replaced_is_shown_and_no_longer_sent(tmp_path: Path) -> None:
    file = make_database(tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE messages SET active = 0, compacted = 1 WHERE id <= 3")
        connection.execute("UPDATE messages SET role = 'user', content = 'Sum.' WHERE id = 4")
        connection.commit()
    stored = HermesSessions(file).read("h1")
    assert stored.messages == (UserMessage((Text("Sum."),)),)
    assert len(stored.entries) == 5


def test_a_title_of_hermes_and_two_prompts_in_a_row(tmp_path: Path) -> None:
    rows: Sequence[Row] = (("user", "one", None, None), ("user", "two", None, None))
    sessions = HermesSessions(make_database(tmp_path, rows, title="Greetings"))
    assert [each.title for each in sessions.list()] == ["Greetings"]
    kinds = [type(each) for each in sessions.read("h1").messages]
    assert kinds == [UserMessage, AssistantMessage, UserMessage]


def test_a_database_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(OLD_TABLES)
        connection.execute("INSERT INTO sessions VALUES ('h1', 'acp', 1000)")
        connection.execute("INSERT INTO messages VALUES (1, 'h1', 'user', 'Hello.', 2000)")
        connection.commit()
    (found,) = HermesSessions(file).list()
    assert (found.id, found.title, str(found.cwd)) == ("h1", "Hello.", "/")


def test_a_database_that_cannot_be_read_has_no_sessions(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    assert HermesSessions(file).list() == ()
    file.write_bytes(b"not a database" * 100)
    assert HermesSessions(file).list() == ()


@each_case(
    "call",
    [
        ("terminal", '{"command": "a\\n  b"}', "terminal: a b"),
        ("patch", '{"mode": "replace", "path": "x.py"}', "patch: x.py"),
        ("todo", "{}", "todo"),
        ("todo", "[", "todo"),
        ("memory", '{"content": "note"}', "memory: note"),
        ("terminal", json.dumps({"command": "x" * 500}), f"terminal: {'x' * 89}…"),
    ],
)
def test_a_call_is_one_line(call: tuple[str, str, str]) -> None:
    name, arguments, title = call
    assert call_title(name, arguments) == title


async def test_pages_hold_sessions_of_both_in_order(tmp_path: Path) -> None:
    file = make_database(tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        for number in range(120):
            connection.execute(
                "INSERT INTO sessions (id, source, started_at) VALUES (?, 'acp', ?)",
                (f"n{number:03}", 3000 + number),
            )
            connection.execute(
                "INSERT INTO messages (session_id, role, content, timestamp)"
                " VALUES (?, 'user', 'x', ?)",
                (f"n{number:03}", 3000 + number),
            )
        connection.commit()
    async with open_editor(make_configuration(tmp_path, "prompt: *\nsay: Hi.\n")) as editor:
        await editor.initialize()
        own = await editor.new_session(tmp_path)
        await editor.prompt(own, "hello")
        ids: list[JsonValue] = []
        cursor: JsonValue = None
        for _ in range(3):
            answer = await editor.call("session/list", {"cursor": cursor} if cursor else {})
            sessions = json_at(answer, "result", "sessions")
            assert isinstance(sessions, list)
            ids += [json_at(each, "sessionId") for each in sessions]
            result = json_at(answer, "result")
            assert isinstance(result, dict)
            cursor = result.get("nextCursor")
    assert ids == [own, *(f"n{number:03}" for number in reversed(range(120))), "h1"]
    assert cursor is None
