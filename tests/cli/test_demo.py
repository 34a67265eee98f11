import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.cli.command_line import Outcome, command_line, environment, run

Message = dict[str, object]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """The demo in a pipe, and the folder that was its home and its place for temporary files."""
    home = tmp_path_factory.mktemp("plain")
    return run(home, "demo", ACP_SERVER_MODE="plan", ACP_SERVER_LOG_FILE=str(home / "log")), home


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run(tmp_path_factory.mktemp("wire"), "demo", "--json")


def messages(outcome: Outcome) -> Iterator[tuple[str, Message]]:
    for line in outcome.stdout.splitlines():
        record = cast("dict[str, object]", json.loads(line))
        assert list(record) == ["from", "message"]
        yield cast("str", record["from"]), cast("Message", record["message"])


def test_it_ends_well_and_in_time(plain: tuple[Outcome, Path]) -> None:
    outcome, _ = plain
    assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_in_a_pipe_there_is_no_control_character_and_no_trailing_blank(
    plain: tuple[Outcome, Path],
) -> None:
    text = plain[0].stdout
    assert all(character.isprintable() or character == "\n" for character in text)
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_in_a_pipe_answers_are_whole_and_fit_the_width(plain: tuple[Outcome, Path]) -> None:
    text = plain[0].stdout
    assert "  one two three four five six seven eight nine ten eleven twelve" in text
    assert text.count("Hello! You are talking to a real acp-server process") == 1
    assert max(len(line) for line in text.splitlines()) <= 80


def test_it_shows_the_handshake_the_turns_and_the_end(plain: tuple[Outcome, Path]) -> None:
    text = plain[0].stdout
    for words in (
        "Hermes Agent   hermes-acp-server 0.1.0 · ACP version 1",
        "✓ initialize ",
        "✓ session/new ",
        "commands        /help  /version",
        "options         Mode: Ask",
        "│ They want to see what this is.",
        "\u276f /help",
        "■ session/cancel  sent after 12 words",
        "✓ cancelled ",
        "4 of 4 · the next prompt works at once",
        "with exit code 0",
        "4 prompts · ",
    ):
        assert words in text
    assert text.count("✓ end_turn ") == 3


def test_the_users_home_and_the_temporary_folder_are_left_as_they_were(
    plain: tuple[Outcome, Path],
) -> None:
    assert list(plain[1].iterdir()) == []


def test_the_wire_starts_with_the_handshake_and_ends_with_an_answer(wire: Outcome) -> None:
    lines = list(messages(wire))
    assert wire.exit_code == 0
    assert [sender for sender, _ in lines[:4]] == ["client", "agent", "client", "agent"]
    assert [message.get("method") for _, message in lines[:4]] == [
        "initialize",
        None,
        "session/new",
        None,
    ]
    assert lines[-1][1]["result"] == {"stopReason": "end_turn"}
    assert all(message["jsonrpc"] == "2.0" for _, message in lines)


def test_every_prompt_is_answered_once_and_after_its_updates(wire: Outcome) -> None:
    open_prompt: object = None
    reasons: list[object] = []
    for sender, message in messages(wire):
        if message.get("method") == "session/prompt":
            open_prompt = message["id"]
        elif sender == "agent" and message.get("id") == open_prompt and open_prompt is not None:
            reasons.append(cast("Message", message["result"])["stopReason"])
            open_prompt = None
        elif message.get("method") == "session/update" and not _is_about_commands(message):
            assert open_prompt is not None, message
    assert reasons == ["end_turn", "end_turn", "cancelled", "end_turn"]


def _is_about_commands(message: Message) -> bool:
    update = cast("Message", cast("Message", message["params"])["update"])
    return update["sessionUpdate"] == "available_commands_update"


def test_nothing_human_is_on_the_wire(wire: Outcome) -> None:
    assert wire.stderr.startswith("acp-server demo: 4 prompts, ")
    assert wire.stderr.count("\n") == 1


def test_prompts_of_ones_own_replace_the_tour(tmp_path: Path) -> None:
    outcome = run(tmp_path, "demo", "--prompt", "/version", "--prompt", "[bold]\x1b[31mhi")
    assert outcome.exit_code == 0
    assert "1 of 2 · a prompt of yours" in outcome.stdout
    assert "\u276f /version\n\n  acp-server 0.1.0\n" in outcome.stdout
    assert "\u276f [bold]\ufffd[31mhi" in outcome.stdout


def test_without_git_it_says_so(tmp_path: Path) -> None:
    outcome = run(tmp_path, "demo", PATH=str(tmp_path))
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "git was not found" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_it_is_not_led_astray_by_the_git_it_is_started_in(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "demo",
        "--prompt",
        "/version",
        GIT_DIR="/nowhere",
        GIT_WORK_TREE="/nowhere",
        GIT_INDEX_FILE="/nowhere/index",
    )
    assert (outcome.exit_code, outcome.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["demo"], ["demo", "--json"]])
def test_a_reader_that_goes_away_ends_it_quietly(arguments: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        command_line(*arguments),
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_a_narrow_place_without_unicode_is_respected(tmp_path: Path) -> None:
    outcome = run(tmp_path, "demo", COLUMNS="50", PYTHONIOENCODING="ascii")
    assert outcome.exit_code == 0
    assert outcome.stdout.isascii()
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 50
    assert "  # session/cancel  sent after 12 words" in outcome.stdout


def on_a_terminal(
    home: Path, *arguments: str, **variables: str
) -> tuple[int, subprocess.Popen[bytes]]:
    """Start a command on a terminal; return our end of it, and the process."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        command_line(*arguments),
        env=environment(home, **variables),
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
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


def test_on_a_terminal_it_redraws_and_gives_the_cursor_back(tmp_path: Path) -> None:
    terminal, process = on_a_terminal(tmp_path, "demo", "--fast")
    seen = read_until(terminal, b"(never)")
    os.close(terminal)
    assert process.wait() == 0
    assert b"\x1b[36m" in seen
    assert b"\x1b[2K" in seen
    assert seen.rindex(SHOW_CURSOR) > seen.rindex(HIDE_CURSOR)


def test_on_a_terminal_no_color_is_honoured(tmp_path: Path) -> None:
    terminal, process = on_a_terminal(tmp_path, "demo", "--fast", NO_COLOR="1")
    seen = read_until(terminal, b"(never)")
    os.close(terminal)
    assert process.wait() == 0
    assert b"\x1b[3" not in seen.replace(b"\x1b[3m", b"")


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_leaves_nothing_behind(
    number: signal.Signals, exit_code: int, tmp_path: Path
) -> None:
    terminal, process = on_a_terminal(tmp_path, "demo")
    seen = read_until(terminal, b"They want")
    process.send_signal(number)
    seen += read_until(terminal, b"(never)")
    os.close(terminal)
    assert process.wait() == exit_code
    assert b"Traceback" not in seen
    assert seen.rindex(SHOW_CURSOR) > seen.rindex(HIDE_CURSOR)
    assert list(tmp_path.iterdir()) == []
