"""What of a message can be searched, and how it is spelled for the index."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acp_server.history import text_index
from acp_server.history.cjk_tokens import phrase_query, to_index_text
from acp_server.history.text_index import (
    MAX_ATTACHMENT_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_TOOL_CHARACTERS,
)
from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Link,
    Media,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.history.past_sessions import FIRST_DAY, open_database


def kept(tmp_path: Path, message: Message) -> list[tuple[str, str]]:
    """Return the roles and texts that are kept of a message."""
    with closing(open_database(tmp_path / "sessions.db")) as connection:
        text_index.add_message_texts(connection, "s", FIRST_DAY, message)
        return connection.execute("SELECT role, text FROM texts ORDER BY id").fetchall()


def test_a_prompt_is_one_text_including_its_attachments(tmp_path: Path) -> None:
    parts = (
        Text("look"),
        Link("file:///a.py", "a.py"),
        Attachment("file:///b.py", "code"),
        Media("image/png", "QUJD"),
    )
    attached = '<attachment uri="file:///b.py">\ncode\n</attachment>'
    text = f"look\n[a.py](file:///a.py)\n{attached}\n[image/png]"
    assert kept(tmp_path, UserMessage(parts)) == [("user", text)]


def test_a_reply_consists_of_its_text_and_tool_calls(tmp_path: Path) -> None:
    arguments = '{"command": "make \\u6570", "n": [1, true, null, {"x": "deep"}]}'
    reply = AssistantMessage(
        (
            Thinking("secret", "signature"),
            RedactedThinking("opaque"),
            Text("I run "),
            Text("it."),
            ToolCall("toolu_1", "terminal", arguments),
            ToolCall("toolu_2", "broken", '{"half'),
        )
    )
    assert kept(tmp_path, reply) == [
        ("assistant", "I run it."),
        ("tool", "terminal make 数\n1\ntrue\ndeep"),
        ("tool", 'broken {"half'),
    ]


def test_tool_results_are_indexed_as_tool_texts(tmp_path: Path) -> None:
    message = UserMessage(
        (ToolResult("toolu_1", "fine"), ToolResult("toolu_2", " \n", is_error=True))
    )
    assert kept(tmp_path, message) == [("tool", "fine")]


def test_long_texts_are_truncated(tmp_path: Path) -> None:
    texts = kept(tmp_path, UserMessage((Text("x" * 100_000), ToolResult("c", "a" * 5_000 + "end"))))
    assert [len(text) for _, text in texts] == [MAX_MESSAGE_CHARACTERS, MAX_TOOL_CHARACTERS + 3]
    assert texts[1][1].endswith("aend")


def test_a_long_attachment_is_truncated(tmp_path: Path) -> None:
    ((_, text),) = kept(tmp_path, UserMessage((Attachment("file:///a", "x" * 100_000),)))
    assert MAX_ATTACHMENT_CHARACTERS < len(text) < MAX_ATTACHMENT_CHARACTERS + 300


@pytest.mark.parametrize(
    ("text", "clean"),
    [("a\0b", "a b"), ("\udc80a", "\ufffda"), ("\ud83d\ude00", "😀")],
    ids=["NUL", "half a character", "two halves"],
)
def test_characters_unsupported_by_the_database_are_replaced(
    tmp_path: Path, text: str, clean: str
) -> None:
    assert kept(tmp_path, UserMessage((Text(text),))) == [("user", clean)]


def test_an_unindexed_text_can_be_deleted(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "sessions.db")) as connection:
        text_index.add_message_texts(connection, "s", FIRST_DAY, UserMessage((Text("kumquat"),)))
        text_index.delete_texts(connection, "s")
        text_index.index_pending(connection)
        assert rows_for(connection, "kumquat") == 0
        connection.execute("INSERT INTO texts_words (texts_words) VALUES ('integrity-check')")


def rows_for(connection: sqlite3.Connection, word: str) -> int:
    found = connection.execute("SELECT rowid FROM texts_words WHERE texts_words MATCH ?", (word,))
    return len(found.fetchall())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plain text", "plain text"),
        ("Ünïcode text", "Ünïcode text"),
        ("数据库", " 数据 据库 库  \ue000 数 据 库"),
        ("a第3章b", "a  第 3  章 b \ue000 第 章"),
    ],
    ids=["ASCII", "accents", "Chinese", "mixed"],
)
def test_texts_are_split_into_words(text: str, words: str) -> None:
    assert to_index_text(text) == words


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("plain text", '"plain text"'),
        ('a"b', '"a b"'),
        ("数", '" 数 "'),
        ("数据库", '" 数据 据库 "'),
        ("数据3", '" 数据 据 3"'),
        ("docker容", '"docker 容 "*'),
    ],
    ids=["plain", "quotes", "one", "three", "before others", "one behind others"],
)
def test_a_phrase_matches_adjacent_words(text: str, expression: str) -> None:
    assert phrase_query(text) == expression
