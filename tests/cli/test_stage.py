import pytest

from acp_server.cli.screen import TerminalScreen
from acp_server.cli.session_view import SessionView
from tests.cli.fake_terminal import FakeTerminal
from tests.cli.views import (
    diff,
    make_ticking_clock,
    message_chunk,
    permission_request,
    render_plain,
    show_updates,
    terminal_output,
    tool_call,
    tool_call_update,
)


@pytest.fixture(autouse=True)
def colourful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def view_on(terminal: FakeTerminal, width: int = 80, rows: int = 24) -> SessionView:
    screen = TerminalScreen(file=terminal)
    screen.width, screen.height = width, rows
    return SessionView(screen, make_ticking_clock())


def grown(lines: int) -> str:
    return "".join(f"line {number}\n" for number in range(lines))


def test_a_growing_diff_is_redrawn_in_place_and_shown_once() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    show_updates(view, [tool_call(kind="edit", title="Write a.py")])
    heights: list[int] = []
    updates = [tool_call_update(content=[diff(None, grown(lines))]) for lines in (2, 5, 9)]
    for update, lines in zip(updates, (2, 5, 9), strict=True):
        show_updates(view, [update])
        assert terminal.text.count("Write a.py") == 1
        assert f"line {lines - 1}" in terminal.text
        heights.append(terminal.text.count("\n"))
    assert heights == [4, 7, 11]
    show_updates(view, [tool_call_update(status="completed")])
    expected = render_plain(
        tool_call(kind="edit", title="Write a.py"), *updates, tool_call_update(status="completed")
    )
    assert f"{terminal.text}\n" == expected
    assert terminal.has_cursor


def test_a_growing_diff_shows_its_end_and_a_finished_one_its_beginning() -> None:
    terminal = FakeTerminal(rows=60)
    view = view_on(terminal, rows=60)
    show_updates(view, [tool_call(kind="edit"), tool_call_update(content=[diff(None, grown(40))])])
    assert "… 20 more lines" in terminal.text
    assert "line 39" in terminal.text
    assert "line 19\n" not in terminal.text
    show_updates(view, [tool_call_update(status="completed")])
    assert "line 19\n" in terminal.text
    assert "line 39" not in terminal.text


def test_animated_output_never_exceeds_the_terminal_height() -> None:
    terminal = FakeTerminal(rows=10)
    view = view_on(terminal, rows=10)
    calls = [tool_call(name, kind="edit", title=f"Write {name}") for name in "abc"]
    show_updates(view, calls)
    for lines in range(0, 40, 3):
        show_updates(
            view, [tool_call_update(name, content=[diff(None, grown(lines))]) for name in "abc"]
        )
    show_updates(view, [tool_call_update(name, status="completed") for name in "bca"])
    assert [terminal.text.count(f"Write {name}") for name in "abc"] == [1, 1, 1]
    assert terminal.text.count("… 19 more lines") == 3


def test_the_first_of_parallel_calls_stays_on_top_when_it_ends() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    show_updates(
        view, [tool_call("a", title="First"), tool_call("b", title="Second"), message_chunk("word")]
    )
    show_updates(view, [tool_call_update("a", status="completed"), terminal_output("out", "b")])
    assert terminal.text.splitlines()[1].startswith("  ⚙ other           First  ✓ completed")
    assert terminal.text.splitlines()[3].endswith("Second  … pending")
    show_updates(view, [tool_call_update("b", status="completed")])
    view.settle()
    assert terminal.text.endswith("✓ completed · 3.0 s\n\n  word")
    assert terminal.has_cursor


def test_a_permission_request_is_shown_and_answered_below_its_tool_call() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    show_updates(view, [tool_call(title="Run it", kind="execute")])
    request = permission_request()
    view.transcript.ask(request)
    view.redraw()
    assert "○ Allow once" in terminal.text
    view.transcript.answer(request, request.options[0])
    view.redraw()
    assert "● Allow once" in terminal.text
    assert terminal.text.count("Run it") == 1
    view.settle()


def test_a_tool_call_is_never_shown_without_its_title() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    show_updates(
        view, [message_chunk("word"), tool_call(title="First"), tool_call("d", title="Second")]
    )
    view.settle()
    assert not [state for state in terminal.screens if "a call" in state]


def test_each_redraw_is_one_write() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    show_updates(view, [tool_call(kind="edit"), tool_call_update(content=[diff(None, grown(5))])])
    before = len(terminal.writes)
    show_updates(view, [tool_call_update(content=[diff(None, grown(8))])])
    assert len(terminal.writes) == before + 1
    view.settle()


def test_colours_distinguish_added_from_removed_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def written() -> str:
        terminal = FakeTerminal()
        show_updates(
            view_on(terminal),
            [tool_call(kind="edit", status="completed", content=[diff("a", "b")])],
        )
        return "".join(terminal.writes)

    assert "\x1b[31m- a\x1b[0m" in written()
    assert "\x1b[32m+ b\x1b[0m" in written()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in written().replace("\x1b[3m", "")


def test_a_dumb_terminal_gets_the_same_output_as_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = FakeTerminal()
    view = view_on(terminal)
    updates = [
        tool_call(kind="edit"),
        tool_call_update(content=[diff(None, "x")]),
        tool_call_update(status="completed"),
    ]
    show_updates(view, updates)
    assert f"{terminal.text}\n" == render_plain(*updates)
    assert set(terminal.screens) == {"", terminal.text}  # nothing before it was over
