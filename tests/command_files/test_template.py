"""Arguments and commands in the text of a command file."""

import pytest

from acp_server.command_files.template import CommandOutput, fill_template
from tests.support.case_table import each_case

FILLED = {
    ("Fix $ARGUMENTS.", "a 'b c'"): "Fix a 'b c'.",
    ("$1 and $2, not $3", "a 'b c'"): "a and b c, not ",
    ("For $1M or $8.50, as \\$1", "x"): "For $1M or $8.50, as $1\n\nARGUMENTS: x",
    ("$ARGUMENTS[0] $ARGUMENTS[1] $0", "a b"): "a b a",
    ("Costs $10 for ${input:name:hint}", "x"): "Costs $10 for x",
    ("No place", "a b"): "No place\n\nARGUMENTS: a b",
    ("No place", ""): "No place",
    ("It's $1", "it's"): "It's it's",
}


@each_case(("given", "expected"), FILLED.items(), ids=FILLED)
def test_arguments_are_filled_in(given: tuple[str, str], expected: str) -> None:
    assert "".join(map(str, fill_template(*given))) == expected


def test_commands_are_found_in_the_text_of_the_file() -> None:
    pieces = fill_template("On !`git branch` do\n!`git log $1`", "HEAD~2")
    assert pieces == [
        "On ",
        CommandOutput("git branch"),
        " do\n",
        CommandOutput("git log HEAD~2"),
    ]


@pytest.mark.parametrize("body", ["Fix $ARGUMENTS", "Fix it"])
def test_an_argument_adds_no_command(body: str) -> None:
    assert all(isinstance(each, str) for each in fill_template(body, "!`rm -rf x`"))
