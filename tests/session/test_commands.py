"""Slash commands: what is one, and what those say that need no model."""

from collections.abc import Sequence

import pytest

from acp_server.session.commands.command import (
    Command,
    CommandInvocation,
    ListedCommand,
    PreparedPrompt,
    PromptCommand,
    SlashCommand,
    parse_invocation,
)
from acp_server.session.commands.registry import CommandRegistry
from acp_server.session.ports.observer import NullObserver
from acp_server.turn.ports import TurnSink
from acp_server.version import __version__
from tests.support.case_table import each_case
from tests.turn.fake_sinks import MemorySink


class RecordingObserver(NullObserver):
    """Records the command lists that a client would get."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []

    def commands_changed(self, commands: Sequence[Command]) -> None:
        self.lists.append([command.name for command in commands])


async def shout(arguments: str, sink: TurnSink) -> str:
    del sink
    return arguments.upper()


async def prepared(arguments: str, sink: TurnSink) -> PreparedPrompt:
    del sink
    return PreparedPrompt(f"Please do {arguments}")


async def twice(arguments: str, sink: TurnSink) -> str:
    del sink
    return arguments + arguments


SHOUT = SlashCommand("shout", "Say it louder", shout, "<words>")
ALL = """\
Commands:

- `/help [command]`: List the commands, or explain one
- `/shout <words>`: Say it louder
- `/version`: Show the version of acp-server"""


@each_case(
    ("text", "invocation"),
    [
        ("/help", CommandInvocation("help", "")),
        ("/help version", CommandInvocation("help", "version")),
        (" \n/help  version \t", CommandInvocation("help", "version")),
        ("/review\nthe last\ncommit", CommandInvocation("review", "the last\ncommit")),
        ("/plugin:skill.name-2 a b", CommandInvocation("plugin:skill.name-2", "a b")),
        ("/do_it now", CommandInvocation("do_it", "now")),
        ("/cd /etc/hosts", CommandInvocation("cd", "/etc/hosts")),
        ("/srv is full", CommandInvocation("srv", "is full")),
    ],
)
def test_a_slash_and_a_name_form_a_command(text: str, invocation: CommandInvocation) -> None:
    assert parse_invocation(text) == invocation


@each_case(
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


def test_a_long_text_is_recognized_as_no_command_quickly() -> None:
    words = "/etc/" + "a " * 5_000_000
    assert parse_invocation(words) is None


def test_commands_are_listed_by_name() -> None:
    commands = CommandRegistry()
    commands.add(SHOUT)
    assert [command.name for command in commands.all()] == ["help", "shout", "version"]


def test_a_command_replaces_one_of_the_same_name() -> None:
    commands = CommandRegistry()
    commands.add(SHOUT)
    other = SlashCommand("shout", "Say it twice", twice)
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
async def test_each_command_has_its_response(name: str, arguments: str, answer: str) -> None:
    commands = CommandRegistry()
    commands.add(SHOUT)
    assert await commands.run(CommandInvocation(name, arguments), MemorySink()) == answer


async def test_a_mistyped_command_suggests_at_most_three_similar_ones_nearest_first() -> None:
    commands = CommandRegistry()
    for name in ("review", "reviews", "reviewer", "preview"):
        commands.add(SlashCommand(name, "", shout))
    assert await commands.run(CommandInvocation("revieww", ""), MemorySink()) == (
        "There is no command `/revieww`. Did you mean `/review` or `/reviews` or `/preview`? "
        "`/help` lists them all."
    )


async def test_registered_commands_are_added_and_removed_with_their_owner() -> None:
    observer = RecordingObserver()
    registry = CommandRegistry((SHOUT,), observer)
    registry.announce()
    observer.lists.clear()
    registry.set_owned(
        "one", (SlashCommand("shout", "Another one", twice), SlashCommand("two", "", twice))
    )
    registry.set_owned("other", (PromptCommand("do", "Have it done", prepared),))
    assert [each.name for each in registry.all()] == ["do", "help", "shout", "two", "version"]
    sink = MemorySink()
    assert await registry.run(CommandInvocation("shout", "a"), sink) == "A"
    assert await registry.run(CommandInvocation("two", "a"), sink) == "aa"
    prompt_command = registry.find_prompt_command("do")
    assert prompt_command is not None
    assert await prompt_command.prepare("it", sink) == PreparedPrompt("Please do it")
    assert (registry.find_prompt_command("shout"), registry.is_known("do")) == (None, True)
    registry.set_owned("other", ())
    assert not registry.is_known("do")
    assert observer.lists == [
        ["help", "shout", "two", "version"],
        ["do", "help", "shout", "two", "version"],
        ["help", "shout", "two", "version"],
    ]


async def test_an_unchanged_command_list_is_not_reported_again() -> None:
    observer = RecordingObserver()
    registry = CommandRegistry((), observer)
    registry.announce()
    for _ in range(2):
        registry.set_owned("one", (SlashCommand("two", "", twice),))
    assert len(observer.lists) == 2


async def test_commands_are_reported_once_all_of_their_sources_are_read() -> None:
    observer = RecordingObserver()
    registry = CommandRegistry((), observer)
    registry.set_owned("one", (SlashCommand("two", "", twice),))
    registry.set_listed((ListedCommand("skill", "A skill"),))
    assert observer.lists == []
    registry.announce()
    registry.announce()
    assert observer.lists == [["help", "skill", "two", "version"]]
