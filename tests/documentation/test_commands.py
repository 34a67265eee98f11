"""Commands of the documentation exist, take the options that are shown, and run where they can."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import cast

import click
import pytest
from pydantic import JsonValue

from acp_server.cli.main import COMMANDS, group, run_command
from tests.architecture.test_vocabulary import ROOT
from tests.documentation.pages import Code, code_of, commands_of, documentation
from tests.handlers.expected import COMMANDS as SESSION_COMMANDS
from tests.support.editor import json_at

TABLE = Path(__file__).with_name("commands.toml")
OPTION = re.compile(r"--[a-z][a-z-]+")
SLASH_COMMAND = re.compile(r"/[a-z_-]+( .*)?$")
UV_OPTIONS_WITH_VALUE = frozenset(["--directory", "--group"])


@cache
def table() -> dict[str, dict[str, str]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def code() -> Iterator[Code]:
    for page in documentation():
        yield from code_of(page)


def documented_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the words of each command in blocks and in the help texts, after its place."""
    for each in code():
        if each.language == "sh":
            for words in commands_of(each.text):
                yield each.page, words
    help_texts = tomllib.loads((ROOT / "acp_server/cli/examples.toml").read_text(encoding="utf-8"))
    for name, text in help_texts.items():
        for line in text.partition("\n\n")[0].splitlines():
            # Behind two blanks is what an example does.
            for words in commands_of(line.strip().partition("   ")[0]):
                if words[0] != "Examples:":
                    yield f"acp-server {name} --help", words


def own_arguments(words: Sequence[str]) -> list[str] | None:
    """Return the arguments that acp-server gets from a command, or None if it does not run it."""
    if words[:2] == ["uv", "run"]:
        words = words[2:]
        while words and words[0].startswith("--"):
            words = words[2 if words[0] in UV_OPTIONS_WITH_VALUE else 1 :]
    elif "--agent" in words:
        words = words[words.index("--agent") + 1].split()
    elif words[0] == "ssh":
        words = words[3 if words[1].startswith("-") else 2 :]
    return list(words[1:]) if words[:1] == ["acp-server"] else None


def command_for(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and what is behind its name."""
    command: click.Command = group
    rest = list(words)
    while rest and isinstance(command, click.Group):
        inner = command.get_command(click.Context(command), rest[0])
        if inner is None:
            break
        command, rest = inner, rest[1:]
    return command, rest


def usage_problem(words: Sequence[str]) -> str | None:
    """Return what the real parser says against a command line."""
    command, rest = command_for(words)
    if words == []:
        return None  # the server itself
    try:
        command.make_context(str(command.name), [at_home(word) for word in rest])
    except click.UsageError as error:
        return error.format_message()
    except click.exceptions.Exit:
        pass
    return None


def at_home(word: str) -> str:
    """Return a word as a shell hands it over."""
    return str(Path(word).expanduser()) if word.startswith("~/") else word


def options_of(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts} | {"--help"}


def all_options(command: click.Command) -> set[str]:
    found = options_of(command)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found |= all_options(cast("click.Command", command.get_command(context, name)))
    return found


def test_every_command_line_of_this_program_parses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("code/app", ".agents/skills", ".hermes/skills/release", "results"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("AGENTS.md", "task.md", "tasks.jsonl", "tls.toml", "count.json"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    found: list[str] = []
    parsed = 0
    for place, words in documented_commands():
        arguments = own_arguments(words)
        if arguments is not None:
            parsed += 1
            if problem := usage_problem(arguments):
                found.append(f"{place}: {' '.join(arguments)}: {problem}")
    assert parsed > 100
    assert found == []


def test_every_other_command_is_run_by_a_test_or_has_a_reason() -> None:
    others = table()["others"]
    lines = [" ".join(words) for _, words in documented_commands() if own_arguments(words) is None]
    assert [line for line in lines if not line.startswith(tuple(others))] == []
    assert [start for start in others if not any(line.startswith(start) for line in lines)] == []
    files = re.findall(r"tests/[\w/.]+", TABLE.read_text(encoding="utf-8"))
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_inline_commands_have_the_options_that_are_shown() -> None:
    unknown: list[str] = []
    for each in code():
        if each.is_block or not each.text.startswith("acp-server "):
            continue
        command, rest = command_for(each.text.split()[1:])
        is_named = command is not group or rest[0] == "COMMAND" or rest[0].startswith("-")
        options = set(OPTION.findall(" ".join(rest)))
        if not is_named or not options <= options_of(command):
            unknown.append(str(each))
    assert unknown == []


def test_every_option_that_is_named_alone_exists() -> None:
    known = all_options(group) | set(table()["options_of_others"])
    spans = [each for each in code() if not each.is_block and OPTION.match(each.text)]
    assert spans
    unknown = [str(each) for each in spans if not set(OPTION.findall(each.text)) <= known]
    assert unknown == []


def test_the_page_of_the_command_line_has_every_command() -> None:
    page = (ROOT / "docs/command_line.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"| `acp-server {name}" not in page] == ["serve"]


def test_commands_that_only_read_run_in_a_new_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "AGENTS.md").write_text("Tests run with just.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    lines = {" ".join(words) for _, words in documented_commands()}
    for line, expected in table()["runs"].items():
        assert line in lines, f"{line} is not documented"
        exit_code = run_command(line.split()[1:], lambda _: 1)
        printed = capsys.readouterr()
        assert exit_code == 0, f"{line}: {printed.err}"
        assert expected in printed.out, f"{line}: {printed.out}"


def test_slash_commands_are_those_of_a_session_and_each_is_explained() -> None:
    listed = cast("list[JsonValue]", json_at(SESSION_COMMANDS, "availableCommands"))
    names = {f"/{json_at(each, 'name')}" for each in listed}
    spans = {each.text.split()[0] for each in code() if SLASH_COMMAND.match(each.text)}
    assert spans - names == set(table()["slash_commands_of_others"])
    page = {each.text.split()[0] for each in code_of(ROOT / "docs/sessions.md") if each.text}
    assert names <= page
