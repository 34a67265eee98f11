"""Wrong input to every command: one clear error and an exit code, never a traceback."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from acp_server.cli.main import group
from tests.cli.command_line import run
from tests.support.case_table import each_case

LONG = "x" * 5000
WRONG = ("/nope", "", "/etc", "\u202ex", "-", LONG, "../..", "[", "0")
STARTING = {("serve",), ("demo",)}
"""They run until they are ended; what they do with wrong options has tests of its own."""


def leaf_commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command that has no commands below it, with its words."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from leaf_commands(inner, (*words, name))


LEAVES = {words: leaf for words, leaf in leaf_commands(group) if words not in STARTING}


def wrong_lines(words: tuple[str, ...], value: str) -> Iterator[tuple[str, ...]]:
    """Yield command lines in which this value stands for an argument, or for an option's value."""
    parameters = LEAVES[words].params
    arguments = [each for each in parameters if isinstance(each, click.Argument)]
    model = ("--model", "scripted:demo") if words == ("run",) else ()
    if arguments:
        yield (*words, *([value] * len(arguments)), *model)
    required = ["x" for each in arguments if each.required]
    for option in parameters:
        if isinstance(option, click.Option) and not option.is_flag:
            yield (*words, *required, *model, option.opts[0], value)


def broken_home(folder: Path) -> Path:
    """Create a home whose files cannot be read as what they are."""
    (folder / "acp").mkdir(parents=True)
    (folder / "acp/config.yaml").write_text("a: [\n")
    (folder / "acp/trust.json").write_text("{")
    (folder / "acp/sessions.db").write_bytes(b"junk" * 500)
    (folder / "memories").mkdir()
    (folder / "memories/MEMORY.md").write_bytes(b"\xff\xfe\0")
    return folder


def check(home: Path, line: tuple[str, ...]) -> None:
    ended = run(home, *line)
    assert "Traceback" not in ended.stdout + ended.stderr, ended.stderr
    assert "validation error" not in ended.stderr, ended.stderr
    assert ended.exit_code in {*range(9), 75}, ended


@each_case("words", LEAVES, ids=" ".join)
def test_a_name_that_is_too_long_gives_one_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    for line in list(wrong_lines(words, LONG))[:1]:
        check(tmp_path, line)


@pytest.mark.full
@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_no_wrong_input_gives_a_traceback(tmp_path: Path, words: tuple[str, ...]) -> None:
    for value in WRONG:
        for line in wrong_lines(words, value):
            check(tmp_path, line)
    check(broken_home(tmp_path / "broken"), words)
    (tmp_path / "file").write_text("no directory")
    check(tmp_path / "file", words)
