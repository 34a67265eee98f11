"""Slash commands: what is one, and what those say that need no model."""

import pytest

from acp_server.session.commands.registry import (
    Command,
    CommandRegistry,
    Errand,
    Invocation,
    parse_invocation,
)
from acp_server.turn.ports import Sink
from acp_server.version import __version__
from tests.turn.fake_sinks import RecordingSink


async def shout(arguments: str, sink: Sink) -> str:
    del sink
    return arguments.upper()


async def prepared(arguments: str) -> str:
    return f"Please do {arguments}"


async def twice(arguments: str, sink: Sink) -> str:
    del sink
    return arguments + arguments


SHOUT = Command("shout", "Say it louder", shout, "<words>")
ALL = """\
Commands:

- `/help [command]`: List the commands, or explain one
- `/shout <words>`: Say it louder
- `/version`: Show the version of acp-server"""


@pytest.mark.parametrize(
    ("text", "invocation"),
    [
        ("/help", Invocation("help", "")),
        ("/help version", Invocation("help", "version")),
        (" \n/help  version \t", Invocation("help", "version")),
        ("/review\nthe last\ncommit", Invocation("review", "the last\ncommit")),
        ("/plugin:skill.name-2 a b", Invocation("plugin:skill.name-2", "a b")),
        ("/do_it now", Invocation("do_it", "now")),
        ("/cd /etc/hosts", Invocation("cd", "/etc/hosts")),
        ("/srv is full", Invocation("srv", "is full")),
    ],
)
def test_a_slash_and_a_name_are_a_command(text: str, invocation: Invocation) -> None:
    assert parse_invocation(text) == invocation


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "help",
        "/etc/hosts is broken",
        "/usr/bin/env",
        "/ help",
        "//help",
        "/Help",
        "/1st",
        "/-x",
        "/help!",
        "/help, please",
        "see /help",
        "/ünïcödé/x",
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert parse_invocation(text) is None


def test_a_long_text_is_told_from_a_command_at_once() -> None:
    words = "/etc/" + "a " * 5_000_000
    assert parse_invocation(words) is None


def test_the_commands_are_listed_by_name() -> None:
    commands = CommandRegistry()
    commands.add(SHOUT)
    assert [command.name for command in commands.all()] == ["help", "shout", "version"]


def test_a_command_takes_the_place_of_one_of_the_same_name() -> None:
    commands = CommandRegistry()
    commands.add(SHOUT)
    other = Command("shout", "Say it twice", twice)
    commands.add(other)
    assert other in commands.all()
    assert SHOUT not in commands.all()


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("shout", "hello", "HELLO"),
        ("shout", "", ""),
        ("version", "", f"acp-server {__version__}"),
        ("help", "shout", "`/shout <words>`: Say it louder"),
        ("help", "/shout", "`/shout <words>`: Say it louder"),
        (
            "help",
            "",
            ALL,
        ),
        (
            "shoot",
            "him",
            "There is no command `/shoot`. Did you mean `/shout`? `/help` lists them all.",
        ),
        ("zzz", "", "There is no command `/zzz`. `/help` lists them all."),
        ("help", "zzz", "There is no command `/zzz`. `/help` lists them all."),
    ],
)
async def test_each_command_has_its_answer(name: str, arguments: str, answer: str) -> None:
    commands = CommandRegistry()
    commands.add(SHOUT)
    assert await commands.answer(Invocation(name, arguments), RecordingSink()) == answer


async def test_a_mistyped_command_is_answered_with_three_near_ones_at_most_the_nearest_first() -> (
    None
):
    commands = CommandRegistry()
    for name in ("review", "reviews", "reviewer", "preview"):
        commands.add(Command(name, "", shout))
    assert await commands.answer(Invocation("revieww", ""), RecordingSink()) == (
        "There is no command `/revieww`. Did you mean `/review` or `/reviews` or `/preview`? "
        "`/help` lists them all."
    )


async def test_commands_that_are_served_come_and_go_with_their_owner() -> None:
    changes: list[str] = []
    registry = CommandRegistry((SHOUT,))
    registry.on_change = lambda: changes.append("changed")
    registry.serve("one", (Command("shout", "Another one", twice), Command("two", "", twice)))
    registry.serve("other", (Errand("do", "Have it done", prepared),))
    assert [each.name for each in registry.all()] == ["do", "help", "shout", "two", "version"]
    sink = RecordingSink()
    assert await registry.answer(Invocation("shout", "a"), sink) == "A"
    assert await registry.answer(Invocation("two", "a"), sink) == "aa"
    errand = registry.errand("do")
    assert errand is not None
    assert await errand.prepare("it") == "Please do it"
    assert (registry.errand("shout"), registry.is_known("do")) == (None, True)
    registry.serve("other", ())
    assert not registry.is_known("do")
    assert changes == ["changed"] * 3
