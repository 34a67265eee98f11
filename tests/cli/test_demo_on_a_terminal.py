"""The demo on a terminal of the system's own."""

import os
import pty
import signal
from pathlib import Path

import pytest

from tests.cli.command_line import environment
from tests.support.fork_server import CommandLine, ForkedProcess, get_fork_server


def on_a_terminal(home: Path, *arguments: str, **variables: str) -> tuple[int, ForkedProcess]:
    """Start a command on a terminal; return our end of it, and the process."""
    ours, its = pty.openpty()
    line = CommandLine(arguments, environment(home, **variables))
    process = get_fork_server().start(line, (its, its, its))
    os.close(its)
    return ours, process


def read_until(terminal: int, words: bytes) -> bytes:
    """Read what a terminal shows until these words, or to its end."""
    seen = b""
    while words not in seen:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not more:
            break
        seen += more
    return seen


SHOW_CURSOR, HIDE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"


@pytest.mark.full
def test_on_a_terminal_the_demo_redraws_and_restores_the_cursor(tmp_path: Path) -> None:
    terminal, process = on_a_terminal(tmp_path, "demo", "--fast")
    seen = read_until(terminal, b"(never)")
    os.close(terminal)
    assert process.wait() == 0
    assert b"\x1b[36m" in seen
    assert b"\x1b[2K" in seen
    assert seen.rindex(SHOW_CURSOR) > seen.rindex(HIDE_CURSOR)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--prompt", "/version"], id="one prompt"),
        pytest.param(["--fast"], id="the whole demo", marks=pytest.mark.full),
    ],
)
def test_on_a_terminal_no_color_is_honoured(tmp_path: Path, arguments: list[str]) -> None:
    terminal, process = on_a_terminal(tmp_path, "demo", *arguments, NO_COLOR="1")
    seen = read_until(terminal, b"(never)")
    os.close(terminal)
    assert process.wait() == 0
    assert seen.rindex(SHOW_CURSOR) > seen.rindex(HIDE_CURSOR)
    assert b"\x1b[3" not in seen.replace(b"\x1b[3m", b"")


@pytest.mark.parametrize(
    ("moment", "number", "exit_code"),
    [
        (b"First the code", signal.SIGINT, 130),
        (b"allow it?", signal.SIGTERM, 143),
    ],
    ids=["while it thinks", "while it asks"],
)
def test_an_interrupted_demo_leaves_no_files_behind(
    moment: bytes, number: signal.Signals, exit_code: int, tmp_path: Path
) -> None:
    terminal, process = on_a_terminal(tmp_path, "demo")
    seen = read_until(terminal, moment)
    process.send_signal(number)
    seen += read_until(terminal, b"(never)")
    os.close(terminal)
    assert process.wait() == exit_code
    assert b"Traceback" not in seen
    assert b"\x1b[36m" in seen
    assert b"\x1b[2K" in seen
    assert seen.rindex(SHOW_CURSOR) > seen.rindex(HIDE_CURSOR)
    assert list(tmp_path.iterdir()) == []
