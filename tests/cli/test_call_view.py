import io
from pathlib import PurePath

import pytest
from pydantic import JsonValue

from acp_server.cli.screen import TABLES, TerminalScreen
from acp_server.cli.session_view import SessionView
from acp_server.protocol.tool_calls import ToolKind
from tests.cli.views import (
    Update,
    diff,
    make_ticking_clock,
    message_chunk,
    permission_request,
    render_plain,
    show_updates,
    terminal_output,
    text_content,
    tool_call,
    tool_call_update,
)
from tests.support.case_table import each_case

TERMINAL: JsonValue = {"type": "terminal", "terminalId": "t"}
DONE = tool_call_update(status="completed")


@each_case("kind", TABLES.unicode.kinds)
def test_each_tool_kind_has_its_own_symbol(kind: ToolKind) -> None:
    label = f"  {TABLES.unicode.kinds[kind]} {kind.replace('_', ' ').ljust(16)}"
    assert render_plain(tool_call(kind=kind), DONE) == f"\n{label}Do it  ✓ completed · 1.0 s\n"


def test_tool_symbols_are_distinct_and_one_column_wide() -> None:
    for signs in (TABLES.unicode, TABLES.ascii):
        assert len(set(signs.kinds.values())) == len(signs.kinds)
        assert all(len(sign) == 1 for sign in signs.kinds.values())
    assert all(sign.isascii() for sign in TABLES.ascii.kinds.values())


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("pending", "… pending"),
        ("in_progress", "… in progress"),
        ("completed", "✓ completed · 1.0 s"),
        ("failed", "✗ failed · 1.0 s"),
    ],
)
def test_the_status_follows_the_title(status: str, shown: str) -> None:
    assert (
        render_plain(tool_call(), tool_call_update(status=status))
        == f"\n  ⚙ other           Do it  {shown}\n"
    )


def test_an_unannounced_tool_call_is_still_shown() -> None:
    assert render_plain(tool_call_update(status="failed", title="Late")) == (
        "\n  ⚙ other           Late  ✗ failed · 1.0 s\n"
    )


def test_locations_follow_the_status_unless_the_title_contains_them() -> None:
    locations: JsonValue = [{"path": f"/w/{name}.py", "line": 3} for name in "abcdef"]
    output = render_plain(tool_call(title="Find", locations=locations), DONE, width=100)
    assert output == (
        "\n  ⚙ other           Find  ✓ completed · 1.0 s · a.py:3 · b.py:3 · c.py:3 · …"
        " 3 more places\n"
    )
    one: JsonValue = [{"path": "/w/a.py", "line": 1}, {"path": "/w/a.py"}]
    assert "completed · 1.0 s\n" in render_plain(tool_call(title="Edit a.py", locations=one), DONE)


def test_a_diff_shows_removed_and_added_lines_with_context() -> None:
    old = "".join(f"{number}\n" for number in range(1, 10))
    content: JsonValue = [diff(old, old.replace("5\n", "five\nfünf\n"))]
    assert render_plain(tool_call(kind="edit", content=content), DONE).splitlines()[2:] == [
        "    │ a.py · +2 -1",
        "    │ …",
        "    │   3",
        "    │   4",
        "    │ - 5",
        "    │ + five",
        "    │ + fünf",
        "    │   6",
        "    │   7",
        "    │ …",
    ]


def test_a_long_new_file_is_truncated_at_the_end() -> None:
    content: JsonValue = [diff(None, "".join(f"{number}\n" for number in range(140)))]
    lines = render_plain(tool_call(kind="edit", content=content), DONE).splitlines()
    assert lines[2] == "    │ a.py · +140 · new file"
    assert lines[3] == "    │ + 0"
    assert lines[-1] == "    │ … 120 more lines"
    assert len(lines) == 24


def test_output_is_assembled_from_chunks_and_keeps_its_end() -> None:
    flood = "".join(f"{number}\n" for number in range(30))
    updates = [
        tool_call(kind="execute", content=[TERMINAL]),
        terminal_output("\x1b[31mred\x1b[0m\n10%\r"),
        terminal_output("100%\r\n" + flood),
        terminal_output("\x1b]0;title\x07\x1b[2Jlast \x1b"),
        terminal_output("[1mbold\n"),
    ]
    lines = render_plain(*updates, DONE).splitlines()[2:]
    assert lines[0] == "    │ … 21 more lines"
    assert lines[1:] == [*(f"    │ {number}" for number in range(19, 30)), "    │ last bold"]
    assert render_plain(*updates[:2], terminal_output("100%"), DONE).splitlines()[2:] == [
        "    │ red",
        "    │ 100%",
    ]


def test_output_of_an_unrelated_terminal_is_not_shown() -> None:
    other = tool_call_update(_meta={"terminal_output": {"terminal_id": "x", "data": "elsewhere"}})
    metas: list[JsonValue] = [None, 3, {"data": []}]
    odd = [tool_call_update(_meta={"terminal_output": meta}) for meta in metas]
    output = render_plain(tool_call(content=[TERMINAL]), other, *odd, DONE)
    assert output == "\n  ⚙ other           Do it  ✓ completed · 5.0 s\n"


def test_text_content_is_shown_without_its_fence_and_folded() -> None:
    content: JsonValue = [text_content("```sh\nls\n```"), text_content("\n".join("abcdefg"))]
    assert render_plain(tool_call(content=content), DONE).splitlines()[2:] == [
        "    │ ls",
        "    │ a",
        "    │ b",
        "    │ c",
        "    │ d",
        "    │ … 3 more lines",
    ]


def test_other_content_is_named() -> None:
    image: JsonValue = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    content: JsonValue = [{"type": "content", "content": image}]
    assert render_plain(tool_call(content=content), DONE).endswith("\n    │ image\n")


def plan(*statuses: str) -> Update:
    entries: JsonValue = [
        {"content": f"Step {number}", "priority": "medium", "status": status}
        for number, status in enumerate(statuses)
    ]
    return {"sessionUpdate": "plan", "entries": entries}


def test_a_plan_is_shown_with_its_tool_call_and_afterwards_only_its_changes() -> None:
    assert render_plain(
        tool_call("a", kind="think", title="Plan"),
        plan("in_progress", "pending"),
        tool_call_update("a", status="completed", content=[text_content("for the model")]),
        tool_call("b", kind="think", title="Plan"),
        plan("completed", "pending"),
        tool_call_update("b", status="completed"),
        plan("completed", "completed"),
    ).splitlines() == [
        "",
        "  ◆ think           Plan  ✓ completed · 1.0 s",
        "    │ \u276f Step 0",
        "    │ ○ Step 1",
        "",
        "  ◆ think           Plan  ✓ completed · 1.0 s",
        "    │ ✓ Step 0",
        "    plan            ✓ Step 1",
    ]


def test_parallel_tool_calls_are_shown_in_their_start_order() -> None:
    output = render_plain(
        tool_call("a", title="First"),
        tool_call("b", title="Second"),
        tool_call_update("b", status="completed"),
        tool_call_update("a", status="failed", content=[text_content("why")]),
    )
    assert output.splitlines() == [
        "",
        "  ⚙ other           First  ✗ failed · 3.0 s",
        "    │ why",
        "",
        "  ⚙ other           Second  ✓ completed · 1.0 s",
    ]


def test_a_reused_id_counts_as_another_tool_call() -> None:
    output = render_plain(tool_call(title="First"), DONE, tool_call(title="Second"), DONE)
    assert [line[20:26].strip() for line in output.splitlines() if line] == ["First", "Second"]


def test_a_message_during_a_tool_call_is_shown_after_it() -> None:
    output = render_plain(
        tool_call(), message_chunk("one "), message_chunk("two "), DONE, message_chunk("three")
    )
    assert output == "\n  ⚙ other           Do it  ✓ completed · 1.0 s\n\n  one two three\n"


def asked(kind: str, *, is_answered: bool, is_taken_back: bool = False) -> str:
    file = io.StringIO()
    view = SessionView(TerminalScreen(file=file), make_ticking_clock())
    show_updates(view, [tool_call(kind=kind, content=[text_content("what")])])
    request = permission_request()
    view.transcript.ask(request)
    view.redraw()
    if is_answered:
        view.transcript.answer(request, None if is_taken_back else request.options[0])
        view.redraw()
        show_updates(view, [DONE])
    view.settle()
    return file.getvalue()


def test_a_permission_request_shows_its_choices_and_then_the_answer() -> None:
    assert asked("edit", is_answered=False).splitlines()[1:] == [
        "  ± edit            Do it  … asks",
        "    │ what",
        "  ? allow it?       ○ Allow once",
        "                    ○ Reject",
    ]
    assert asked("edit", is_answered=True).splitlines()[1:] == [
        "  ± edit            Do it  ✓ completed · 2.0 s",
        "    │ what",
        "  ? allow it?       ● Allow once",
        "                    ○ Reject",
        "  \u276f you             Allow once",
    ]


def test_command_output_follows_its_permission_request() -> None:
    lines = asked("execute", is_answered=True).splitlines()
    assert lines.index("  \u276f you             Allow once") < lines.index("    │ what")


def test_a_permission_request_shows_its_reason_and_does_not_repeat_the_command() -> None:
    file = io.StringIO()
    view = SessionView(TerminalScreen(file=file), make_ticking_clock())
    show_updates(view, [tool_call(kind="execute", title="`ls`")])
    request = permission_request(
        content=[text_content("```sh\nls\n```"), text_content("Asked because of that.")]
    )
    view.transcript.ask(request)
    view.redraw()
    view.transcript.answer(request, request.options[1])
    view.redraw()
    show_updates(view, [tool_call_update(status="failed", content=[text_content("rejected")])])
    assert file.getvalue().splitlines()[1:] == [
        "  $ execute         `ls`  ✗ failed · 2.0 s",
        "    │ Asked because of that.",
        "  ? allow it?       ○ Allow once",
        "                    ● Reject",
        "  \u276f you             Reject",
        "    │ rejected",
    ]


def test_a_withdrawn_permission_request_is_marked() -> None:
    shown = asked("edit", is_answered=True, is_taken_back=True)
    assert "you             withdrawn by the agent" in shown


HOSTILE = "a\x1b[2Jb\u202ec\u2028d\x07\ne"


@pytest.mark.parametrize("width", [20, 60, 100])
def test_wire_text_cannot_move_the_cursor_or_exceed_the_width(width: int) -> None:
    locations: JsonValue = [{"path": f"/{HOSTILE * 9}", "line": 1}]
    content: JsonValue = [diff(HOSTILE, HOSTILE * 2, HOSTILE), text_content(HOSTILE * 40), TERMINAL]
    output = render_plain(
        tool_call(title=HOSTILE * 90, kind="edit", locations=locations, content=content),
        terminal_output(HOSTILE),
        {**plan("pending"), "entries": [{"content": HOSTILE, "priority": "low", "status": "x"}]},
        DONE,
        width=width,
    )
    assert all(character.isprintable() or character == "\n" for character in output)
    assert max(map(len, output.splitlines())) <= width


def test_a_diff_of_a_large_file_is_rendered_quickly() -> None:
    old, new = ("".join(f"{name}{n}\n" for n in range(50_000)) for name in "ab")
    output = render_plain(tool_call(kind="edit", content=[diff(old, new)]), DONE)
    assert "a.py · +50,000 -50,000" in output
    assert "… 99,980 more lines" in output


def test_a_file_written_through_the_client_is_named_with_its_tool_call() -> None:
    file = io.StringIO()
    view = SessionView(TerminalScreen(file=file), make_ticking_clock())
    show_updates(view, [tool_call(kind="edit", locations=[{"path": "/w/a.py"}])])
    view.transcript.add_written_file(PurePath("/w/a.py"))
    view.redraw()
    show_updates(view, [DONE])
    view.transcript.add_written_file(PurePath("/w/b.py"))
    view.redraw()
    assert file.getvalue().endswith(
        "    │ a.py was written by the editor\n    written         b.py, by the editor\n"
    )
