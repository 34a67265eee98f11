import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from acp_server.cli.demo_runner import program_as_started
from tests.cli.command_line import CliResult, command_line, environment, run
from tests.support.published_schema import schema_errors

Message = dict[str, object]
OWN_PROMPTS = ("--prompt", "/version", "--prompt", "[bold]\x1b[31mhi")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[CliResult, Path]:
    """The demo in a pipe, and the folder that was its home and its place for temporary files."""
    home = tmp_path_factory.mktemp("plain")
    return run(home, "demo", ACP_SERVER_MODE="plan", ACP_SERVER_LOG_FILE=str(home / "log")), home


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> CliResult:
    return run(tmp_path_factory.mktemp("wire"), "demo", "--json")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> CliResult:
    """The demo with prompts of one's own, begun where variables speak of another repository."""
    return run(
        tmp_path_factory.mktemp("own"),
        *("demo", *OWN_PROMPTS),
        GIT_DIR="/nowhere",
        GIT_WORK_TREE="/nowhere",
        GIT_INDEX_FILE="/nowhere/index",
    )


def messages(outcome: CliResult) -> Iterator[tuple[str, Message]]:
    for line in outcome.stdout.splitlines():
        record = cast("dict[str, object]", json.loads(line))
        assert list(record) == ["from", "message"]
        yield cast("str", record["from"]), cast("Message", record["message"])


def test_the_next_steps_name_the_program_as_it_was_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "acp-server"
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    assert program_as_started({"PATH": str(tmp_path)}) == "acp-server"
    assert program_as_started({"PATH": ""}) == str(program)
    assert program_as_started({"PATH": "", "UV_RUN_RECURSION_DEPTH": "1"}) == "uv run acp-server"


def test_the_demo_succeeds_in_time(plain: tuple[CliResult, Path]) -> None:
    outcome, _ = plain
    assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_piped_output_has_no_control_characters_and_no_trailing_blanks(
    plain: tuple[CliResult, Path],
) -> None:
    text = plain[0].stdout
    assert all(character.isprintable() or character == "\n" for character in text)
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_piped_answers_are_complete_and_fit_the_width(plain: tuple[CliResult, Path]) -> None:
    text = plain[0].stdout
    assert "  one two three four five six seven eight nine ten eleven twelve" in text
    assert text.count("  Done, and all tests pass.") == 1
    assert max(len(line) for line in text.splitlines()) <= 80


def test_the_demo_shows_its_parts_in_order(plain: tuple[CliResult, Path]) -> None:
    text = plain[0].stdout
    position = 0
    for words in (
        "Hermes Agent   hermes-acp-server 0.1.0 · ACP version 1",
        "✓ initialize ",
        "✓ session/new ",
        "options         Mode: Ask",
        "commands        /",
        "\u276f The test fails. Find out why and mend it.",
        "│ First the code that the test is about",
        "◆ think           Update the plan  ✓ completed",
        "│ \u276f See the test fail",
        "◎ search          Search `median\\(`: 3 found  ✓ completed",
        "≡ read            Read averages.py  ✓ completed",
        "$ execute         `python3 -m unittest`  ✗ failed",
        "\u276f you             Allow once",
        "│ AssertionError: 3 != 2.5",
        "│ FAILED (failures=1)",
        "± edit            Edit averages.py  ✓ completed",
        "│ averages.py · +13 -2",
        "│ -     return ordered[len(ordered) // 2]",
        "│ +     return mean(ordered[middle - 1 : middle + 1])",
        "? allow it?       ○ Allow once",
        "● Allow edits in this workspace for this session",
        "\u276f you             Allow edits in this workspace for this session",
        "│ averages.py was written by the editor",
        "± edit            Create test_median.py  ✓ completed",
        "│ test_median.py · +27 · new file",
        "│ … 7 more lines",
        "│ test_median.py was written by the editor",
        "$ execute         `python3 -m unittest -v`  ✓ completed",
        "│ Ran 8 tests in ",
        "│ OK",
        "  Done, and all tests pass.",
        "✓ end_turn ",
        "\u276f /help",
        "■ session/cancel  sent after 12 words",
        "✓ cancelled ",
        "4 of 4 · the next prompt works at once",
        "✓ tests           Ran 8 tests in ",
        "✓ git diff        averages.py +13 -2, test_median.py +27\n",
        "with exit code 0",
        "4 prompts · ",
    ):
        assert words in text[position:], words
        position = text.index(words, position) + len(words)
    assert text.count("✓ end_turn ") == 3


VARYING = re.compile(
    r"[\d.]+m?s|acp-demo-\w{8}|(?<=/own)\d+|\d+(?:updates|chunks)|│[.F]{3}|(?<=twelve)[\w-]*(?=■)"
)
"""Times; names that are drawn or counted; and what is said until a cancel arrives."""


def without_what_varies(text: str) -> str:
    """Return a text in which times, and where lines are folded for them, are all alike."""
    return VARYING.sub("#", "".join(text.split()))  # a long folder's name is folded anywhere


def test_output_is_deterministic_except_for_times_and_the_directory(
    own: CliResult, tmp_path_factory: pytest.TempPathFactory
) -> None:
    again = run(tmp_path_factory.mktemp("own"), "demo", *OWN_PROMPTS)
    assert without_what_varies(again.stdout) == without_what_varies(own.stdout)


@pytest.mark.full
def test_demo_output_is_deterministic_except_for_times_and_the_directory(
    plain: tuple[CliResult, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("plain")  # a path of the same length is folded alike
    again = run(home, "demo", "--fast").stdout.replace(str(home), str(plain[1]))
    assert without_what_varies(again) == without_what_varies(plain[0].stdout)


def test_the_demo_leaves_the_home_and_temporary_directories_unchanged(
    plain: tuple[CliResult, Path],
) -> None:
    assert list(plain[1].iterdir()) == []


def test_the_wire_log_starts_with_the_handshake_and_ends_with_a_response(wire: CliResult) -> None:
    lines = list(messages(wire))
    assert wire.exit_code == 0
    assert [sender for sender, _ in lines[:4]] == ["client", "agent", "client", "agent"]
    assert [message.get("method") for _, message in lines[:4]] == [
        "initialize",
        None,
        "session/new",
        None,
    ]
    assert cast("Message", lines[-1][1]["result"])["stopReason"] == "end_turn"
    assert all(message["jsonrpc"] == "2.0" for _, message in lines)


def test_every_prompt_is_answered_once_after_its_updates(wire: CliResult) -> None:
    open_prompt: object = None
    reasons: list[object] = []
    for sender, message in messages(wire):
        if message.get("method") == "session/prompt":
            open_prompt = message["id"]
        elif sender == "agent" and "method" not in message and message["id"] == open_prompt:
            reasons.append(cast("Message", message["result"])["stopReason"])
            open_prompt = None
        elif message.get("method") == "session/update" and not _is_about_commands(message):
            assert open_prompt is not None, message
    assert reasons == ["end_turn", "end_turn", "cancelled", "end_turn"]


ASKED_OF_CLIENTS = {
    "session/request_permission": "RequestPermission",
    "fs/read_text_file": "ReadTextFile",
    "fs/write_text_file": "WriteTextFile",
}
ASKED_OF_AGENTS = {
    "initialize": "Initialize",
    "session/new": "NewSession",
    "session/prompt": "Prompt",
}
NOTIFICATIONS = {"session/update": "SessionNotification", "session/cancel": "CancelNotification"}


def test_every_message_on_the_wire_matches_the_schema(wire: CliResult) -> None:
    names = {**ASKED_OF_CLIENTS, **ASKED_OF_AGENTS}
    asked: dict[tuple[str, object], str] = {}
    seen: set[str] = set()
    errors: list[str] = []
    for sender, message in messages(wire):
        method = message.get("method")
        if isinstance(method, str):
            seen.add(method)
            definition = NOTIFICATIONS.get(method) or f"{names[method]}Request"
            asked[sender, message.get("id")] = method
            value = message["params"]
        else:
            asker = "agent" if sender == "client" else "client"
            method = asked.pop((asker, message["id"]))
            definition = "Error" if "error" in message else f"{names[method]}Response"
            value = message.get("error", message.get("result"))
            errors += [method] if "error" in message else []
        assert schema_errors(definition, cast("JsonValue", value)) == [], message
    assert seen == {*names, *NOTIFICATIONS}
    assert set(errors) == {"fs/read_text_file"}  # is there a file of that name yet? there is not


def test_a_growing_diff_is_sent_several_times(wire: CliResult) -> None:
    sizes: list[int] = []
    for _, message in messages(wire):
        update = cast("Message", cast("Message", message.get("params", {})).get("update", {}))
        blocks = cast("list[Message]", update.get("content")) if "toolCallId" in update else []
        diffs = [block for block in blocks or [] if str(block.get("path")).endswith("_median.py")]
        sizes += [len(str(block["newText"])) for block in diffs]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) >= 3


def _is_about_commands(message: Message) -> bool:
    update = cast("Message", cast("Message", message["params"])["update"])
    return update["sessionUpdate"] == "available_commands_update"


def test_the_wire_log_contains_no_human_readable_output(wire: CliResult) -> None:
    assert wire.stderr.startswith("acp-server demo: 4 prompts, ")
    assert wire.stderr.count("\n") == 1


def test_custom_prompts_replace_the_demo_script(own: CliResult) -> None:
    assert own.exit_code == 0
    assert "1 of 2 · your prompt" in own.stdout
    assert "\u276f /version\n\n  acp-server 0.1.0\n" in own.stdout
    assert "\u276f [bold]\ufffd[31mhi" in own.stdout


def test_missing_git_is_reported(tmp_path: Path) -> None:
    outcome = run(tmp_path, "demo", PATH=str(tmp_path))
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "git was not found" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_git_environment_of_the_caller_is_ignored(own: CliResult) -> None:
    assert (own.exit_code, own.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments", [["demo"], pytest.param(["demo", "--json"], marks=pytest.mark.full)]
)
def test_a_closed_output_pipe_ends_the_demo_quietly(arguments: list[str], tmp_path: Path) -> None:
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


def test_a_narrow_terminal_without_unicode_is_supported(tmp_path: Path) -> None:
    outcome = run(tmp_path, "demo", COLUMNS="50", PYTHONIOENCODING="ascii")
    assert outcome.exit_code == 0
    assert outcome.stdout.isascii()
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 50
    assert "  # session/cancel  sent after 12 words" in outcome.stdout
