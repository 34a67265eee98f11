import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from acp_server.__main__ import OPTION_CHOICES, SERVE_OPTIONS
from acp_server.cli.main import COMMANDS, group, run_command
from acp_server.cli.serve import command as serve_command
from acp_server.cli.serve import setting_options
from acp_server.config.settings import setting_sources
from acp_server.version import __version__
from tests.cli.command_line import command_line, environment, run, run_in_new_process

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}

OPTIONS = [option.opts[0] for option in setting_options()]


def serve_nothing(options: dict[str, str]) -> int:
    raise AssertionError(f"not to be served: {options}")


def test_the_version_is_one_line_of_two_words(tmp_path: Path) -> None:
    outcome = run_in_new_process(tmp_path, "--version")
    assert (outcome.exit_code, outcome.stdout) == (0, f"acp-server {__version__}\n")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_the_commands_and_gives_examples(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([flag], serve_nothing) == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: acp-server [OPTIONS] COMMAND")
    assert all(f"  {name} " in text and summary in text for name, summary in COMMANDS.items())
    assert "  Examples:\n    acp-server demo " in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([name, "--help"], serve_nothing) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: acp-server {name}")
    assert f"  Examples:\n    {'eval' if name == 'completion' else 'acp-server'}" in text


def all_commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all commands below it."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from all_commands(inner, (*words, name))


def test_every_command_at_any_level_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for words in all_commands(group):
        assert run_command([*words, "--help"], serve_nothing) == 0
        text = capsys.readouterr().out.partition("\n  Examples:\n")[2]
        assert " ".join(("acp-server", *words)) in text, words


def test_top_level_help_imports_no_command(tmp_path: Path) -> None:
    source = (
        "import sys; from acp_server.cli.main import run_command; run_command(['-h'], int);"
        "slow = {'pydantic', 'anyio', 'rich', 'acp_server.config.settings'} & set(sys.modules);"
        "sys.exit(', '.join(slow) or 0)"
    )
    command = [*command_line()[:1], "-c", source]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_mistyped_command_suggests_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["docter"], serve_nothing) == 2
    assert "No such command 'docter'. Did you mean 'doctor'?" in capsys.readouterr().err


def test_an_unrecognizable_command_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["zzz"], serve_nothing) == 2
    assert f"Available: {', '.join(COMMANDS)}." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["serve", "--bogus"], "No such option '--bogus'."),
        (["serve", "--bogus"], f"Available options: {', '.join(OPTIONS)}, --help"),
        (["serve", "--model"], "Option '--model' requires an argument."),
        (["serve", "extra"], "Got unexpected extra argument (extra)"),
        (["--bogus"], "Available options: --profile, --version, --help"),
        (["demo", "--bogus"], "Available options: --json, --fast, --prompt, --help"),
        (["completion", "tcsh"], "is not one of 'bash', 'zsh', 'fish'"),
        (["completion"], "Missing argument"),
    ],
)
def test_a_usage_error_names_the_mistake_and_exits_with_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments, serve_nothing) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.out == ""


def test_a_mistyped_serve_option_is_a_usage_error(tmp_path: Path) -> None:
    outcome = run(tmp_path, "serve", "--bogus", "x")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "Available options: --model" in outcome.stderr


@pytest.mark.parametrize("arguments", [["--mode", "pln"], ["--log-level", "loud"]])
def test_an_invalid_choice_is_a_usage_error_and_no_server_starts(
    tmp_path: Path, arguments: list[str]
) -> None:
    outcome = run(tmp_path, "serve", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert f"{arguments[1]!r} is not one of " in outcome.stderr


def test_the_choices_of_the_short_form_match_the_settings() -> None:
    of_settings = {
        option.opts[0]: tuple(option.type.choices)
        for option in setting_options()
        if isinstance(option.type, click.Choice)
    }
    assert of_settings == OPTION_CHOICES


def test_both_forms_of_serve_accept_the_options_of_the_settings() -> None:
    expected = {source.option for source in setting_sources().values() if source.option}
    assert {option.opts[0] for option in setting_options()} == expected
    assert set(SERVE_OPTIONS) == expected


def test_serve_passes_its_options_on_like_the_short_form() -> None:
    served: list[dict[str, str]] = []

    def serve(options: dict[str, str]) -> int:
        served.append(options)
        return 7

    assert run_command(["serve", "--model=scripted:demo", "--log-file", "x"], serve) == 7
    assert served == [{"--model": "scripted:demo", "--log-file": "x"}]


def test_serve_accepts_options_with_an_equals_sign(tmp_path: Path) -> None:
    done = subprocess.run(
        command_line("serve", "--model=scripted:demo"),
        input=json.dumps(INITIALIZE) + "\n",
        env=environment(tmp_path),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["result"]["protocolVersion"] == 1


def test_serve_help_names_the_variables_and_the_choices(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command(["serve", "--help"], serve_nothing) == 0
    text = capsys.readouterr().out
    assert "--mode ask|accept_edits|plan|bypass" in text
    assert all(source.variable in text for source in setting_sources().values() if source.option)
    assert isinstance(serve_command, click.Command)


def test_ctrl_c_exits_with_130() -> None:
    def interrupted(options: dict[str, str]) -> int:
        raise KeyboardInterrupt(options)

    assert run_command(["serve", "--mode=plan"], interrupted) == 130


def test_every_command_is_in_the_module_of_its_name() -> None:
    context = click.Context(group)
    for name in COMMANDS:
        found = group.get_command(context, name)
        assert found is not None
        assert found.name in {name, "command"}
    assert group.get_command(context, "main") is None
