from typing import get_args

import pytest
from pydantic import JsonValue

from acp_server.cli.screen import Indented, TerminalScreen, printable
from acp_server.cli.session_view import SessionView
from acp_server.headless.updates import UnknownUpdate
from acp_server.protocol.updates import SessionNotification, SessionUpdate
from acp_server.text.quantities import count, dollars, duration

OPTIONS: JsonValue = [
    {
        "id": "mode",
        "name": "Mode",
        "type": "select",
        "currentValue": "ask",
        "options": [{"value": "ask", "name": "Ask first"}],
    },
    {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": True},
    {
        "id": "model",
        "name": "Model",
        "type": "select",
        "currentValue": "b",
        "options": [{"group": "g", "name": "G", "options": [{"value": "b", "name": "Bee"}]}],
    },
]


def text(words: str) -> JsonValue:
    return {"type": "text", "text": words}


def render(capsys: pytest.CaptureFixture[str], *updates: dict[str, JsonValue]) -> str:
    view = SessionView(TerminalScreen())
    for update in updates:
        params = {"sessionId": "one", "update": update}
        view.show(SessionNotification.from_wire(params).update)
    view.settle()
    return capsys.readouterr().out


def message(words: str, message_id: str = "m") -> dict[str, JsonValue]:
    return {
        "sessionUpdate": "agent_message_chunk",
        "content": text(words),
        "messageId": message_id,
    }


def test_message_chunks_form_one_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert render(capsys, message("one "), message("two")) == "\n  one two\n"


def test_messages_with_different_ids_are_separated(capsys: pytest.CaptureFixture[str]) -> None:
    assert render(capsys, message("one", "a"), message("two", "b")) == "\n  one\n\n  two\n"


def test_an_event_in_between_ends_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    mode: dict[str, JsonValue] = {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}
    output = render(capsys, message("one"), mode, message("two"))
    assert output == "\n  one\n    mode            plan\n\n  two\n"


def test_markdown_is_rendered_and_its_blank_lines_are_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert render(capsys, message("a **b**\n\n- c\n")) == "\n  a b\n\n   • c\n"


def test_a_long_thought_is_folded(capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(["thinking"] * 60)
    output = render(capsys, {"sessionUpdate": "agent_thought_chunk", "content": text(words)})
    lines = output.splitlines()
    assert lines[1].startswith("  thought · ")
    assert len(lines) == 6
    assert lines[-1] == "  │ … 5 more lines"


@pytest.mark.parametrize(
    ("kind", "fields", "line"),
    [
        ("available_commands_update", {"availableCommands": []}, "commands"),
        (
            "config_option_update",
            {"configOptions": OPTIONS},
            "Mode: Ask first · Fast: on · Model: Bee",
        ),
        ("session_info_update", {"title": "A title"}, "title           A title"),
        ("usage_update", {"used": 1200, "size": 200000}, "context         1,200 of 200,000 tokens"),
        ("notice", {"severity": "error", "title": "Oh", "description": "no"}, "Oh · no"),
        ("compaction_update", {"compactionId": "c", "status": "failed"}, "compaction      failed"),
        (
            "plan",
            {"entries": [{"content": "Look", "priority": "low", "status": "completed"}]},
            "plan            ✓ Look",
        ),
    ],
)
def test_all_other_updates_are_shown_on_one_dim_line(
    kind: str, fields: dict[str, JsonValue], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = render(capsys, {"sessionUpdate": kind, **fields})
    assert line in output
    assert output.count("\n") == 1


STEPS: JsonValue = [{"content": "Look", "priority": "low", "status": "pending"}]
KINDS: dict[str, tuple[dict[str, JsonValue], str]] = {
    "user_message_chunk": ({"content": text("hi")}, "hi"),
    "agent_message_chunk": ({"content": text("hi")}, "hi"),
    "agent_thought_chunk": ({"content": text("hi")}, "thought"),
    "tool_call": ({"toolCallId": "call", "title": "Read"}, "Read"),
    "tool_call_update": ({"toolCallId": "call", "status": "failed"}, "failed"),
    "plan": ({"entries": STEPS}, "plan"),
    "available_commands_update": ({"availableCommands": []}, "commands"),
    "current_mode_update": ({"currentModeId": "plan"}, "mode"),
    "config_option_update": ({"configOptions": OPTIONS}, "options"),
    "session_info_update": ({"title": "A title"}, "title"),
    "usage_update": ({"used": 1, "size": 2}, "context"),
    "notice": ({"severity": "info", "title": "Hello"}, "notice"),
    "compaction_update": ({"compactionId": "c", "status": "failed"}, "compaction"),
    "compaction_summary_chunk": ({"compactionId": "c", "content": text("hi")}, "thought"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_update_is_shown(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    fields, words = KINDS[kind]
    assert words in render(capsys, {"sessionUpdate": kind, **fields})


def test_the_test_table_covers_every_kind_of_update() -> None:
    union, _ = get_args(SessionUpdate)
    assert len(KINDS) == len(get_args(union))


def test_unknown_updates_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    SessionView(TerminalScreen()).show(UnknownUpdate({"update": {"sessionUpdate": "_new"}}))
    assert capsys.readouterr().out == "    unknown         _new\n"


def test_an_agent_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    output = render(capsys, message("a\x1b[2Jb\x9bc\rd"))
    assert output == "\n  a\ufffd[2Jb\ufffdc\ufffdd\n"


def test_rich_markup_is_shown_as_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    TerminalScreen().print_parts("[bold]x[/bold] :smile:")
    assert capsys.readouterr().out == "  [bold]x[/bold] :smile:\n"


def test_folding_counts_the_hidden_lines(capsys: pytest.CaptureFixture[str]) -> None:
    TerminalScreen().print(Indented("a\nb\nc", "> ", max_lines=1), end="")
    assert capsys.readouterr().out == "> a\n> ... 2 more lines\n"


def test_numbers_are_formatted_readably() -> None:
    assert [duration(0.0123), duration(0.9996), duration(1.25)] == ["12 ms", "1.0 s", "1.2 s"]
    assert [count(1, "chunk"), count(1200, "chunk")] == ["1 chunk", "1,200 chunks"]
    assert printable("a\r\nb\tc") == "a\nb\tc"


def test_less_than_a_cent_is_shown_with_four_decimals() -> None:
    amounts = (1234.5, 0.0123, 0.0004, 0.0)
    assert [*map(dollars, amounts)] == ["$1,234.50", "$0.01", "$0.0004", "$0.00"]
