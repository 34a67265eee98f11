import pytest

from acp_server.cli.screen import Screen
from acp_server.cli.session_view import SessionView
from tests.cli.fake_terminal import FakeTerminal
from tests.cli.views import (
    call,
    change,
    diff,
    every_second,
    feed,
    in_a_pipe,
    message,
    printed,
    question,
)


@pytest.fixture(autouse=True)
def colourful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def view_on(terminal: FakeTerminal, width: int = 80, rows: int = 24) -> SessionView:
    screen = Screen(file=terminal)
    screen.width, screen.height = width, rows
    return SessionView(screen, every_second())


def grown(lines: int) -> str:
    return "".join(f"line {number}\n" for number in range(lines))


def test_a_growing_diff_is_redrawn_in_place_and_stays_once() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    feed(view, [call(kind="edit", title="Write a.py")])
    heights: list[int] = []
    updates = [change(content=[diff(None, grown(lines))]) for lines in (2, 5, 9)]
    for update, lines in zip(updates, (2, 5, 9), strict=True):
        feed(view, [update])
        assert terminal.text.count("Write a.py") == 1
        assert f"line {lines - 1}" in terminal.text
        heights.append(terminal.text.count("\n"))
    assert heights == [4, 7, 11]
    feed(view, [change(status="completed")])
    expected = in_a_pipe(
        call(kind="edit", title="Write a.py"), *updates, change(status="completed")
    )
    assert f"{terminal.text}\n" == expected
    assert terminal.has_cursor


def test_while_a_diff_grows_its_end_is_in_sight_and_then_its_beginning() -> None:
    terminal = FakeTerminal(rows=60)
    view = view_on(terminal, rows=60)
    feed(view, [call(kind="edit"), change(content=[diff(None, grown(40))])])
    assert "… 20 more lines" in terminal.text
    assert "line 39" in terminal.text
    assert "line 19\n" not in terminal.text
    feed(view, [change(status="completed")])
    assert "line 19\n" in terminal.text
    assert "line 39" not in terminal.text


def test_what_is_taller_than_the_terminal_never_leaves_it_while_it_moves() -> None:
    terminal = FakeTerminal(rows=10)
    view = view_on(terminal, rows=10)
    calls = [call(name, kind="edit", title=f"Write {name}") for name in "abc"]
    feed(view, calls)
    for lines in range(0, 40, 3):
        feed(view, [change(name, content=[diff(None, grown(lines))]) for name in "abc"])
    feed(view, [change(name, status="completed") for name in "bca"])
    assert [terminal.text.count(f"Write {name}") for name in "abc"] == [1, 1, 1]
    assert terminal.text.count("… 19 more lines") == 3


def test_the_first_of_parallel_calls_stays_above_when_it_ends() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    feed(view, [call("a", title="First"), call("b", title="Second"), message("word")])
    feed(view, [change("a", status="completed"), printed("out", "b")])
    assert terminal.text.splitlines()[1].startswith("  ⚙ other           First  ✓ completed")
    assert terminal.text.splitlines()[3].endswith("Second  … pending")
    feed(view, [change("b", status="completed")])
    view.settle()
    assert terminal.text.endswith("✓ completed · 3.0 s\n\n  word")
    assert terminal.has_cursor


def test_a_question_is_asked_and_answered_where_the_call_stands() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    feed(view, [call(title="Run it", kind="execute")])
    request = question()
    view.asked(request)
    assert "○ Allow once" in terminal.text
    view.decided(request, request.options[0])
    assert "● Allow once" in terminal.text
    assert terminal.text.count("Run it") == 1
    view.settle()


def test_a_call_is_never_seen_without_its_title() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    feed(view, [message("word"), call(title="First"), call("d", title="Second")])
    view.settle()
    assert not [state for state in terminal.states if "a call" in state]


def test_each_state_is_one_write() -> None:
    terminal = FakeTerminal()
    view = view_on(terminal)
    feed(view, [call(kind="edit"), change(content=[diff(None, grown(5))])])
    before = len(terminal.writes)
    feed(view, [change(content=[diff(None, grown(8))])])
    assert len(terminal.writes) == before + 1
    view.settle()


def test_colours_tell_what_came_from_what_went(monkeypatch: pytest.MonkeyPatch) -> None:
    def written() -> str:
        terminal = FakeTerminal()
        feed(view_on(terminal), [call(kind="edit", status="completed", content=[diff("a", "b")])])
        return "".join(terminal.writes)

    assert "\x1b[31m- a\x1b[0m" in written()
    assert "\x1b[32m+ b\x1b[0m" in written()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in written().replace("\x1b[3m", "")


def test_a_dumb_terminal_gets_what_a_pipe_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = FakeTerminal()
    view = view_on(terminal)
    updates = [call(kind="edit"), change(content=[diff(None, "x")]), change(status="completed")]
    feed(view, updates)
    assert f"{terminal.text}\n" == in_a_pipe(*updates)
    assert set(terminal.states) == {"", terminal.text}  # nothing before it was over
