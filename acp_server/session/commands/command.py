"""Slash commands: their kinds, and how a prompt is parsed as one."""

import re
from collections.abc import Awaitable, Callable

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import TurnSink

_FIRST_WORD = re.compile(r"/([a-z][\w.:-]{0,99})(?:\s+(.*))?", re.DOTALL)


@frozen_dataclass
class SlashCommand:
    """A slash command that the session answers itself, without the model."""

    name: str
    description: str
    run: Callable[[str, TurnSink], Awaitable[str]]
    """Takes the argument text and a sink for progress events; returns Markdown."""
    hint: str | None = None
    only_reads: bool = False
    """Whether it changes nothing and shows no progress: it is answered while a turn runs."""


@frozen_dataclass
class PreparedPrompt:
    """The prompt that a command stands for."""

    text: str
    model: str | None = None
    """The model that the command asks for, by its id or a part of it."""
    references: str = ""
    """The part of the text in which `@path` refers to files, as in what the user types."""


@frozen_dataclass
class PromptCommand:
    """A prompt command: the model carries it out in a turn whose prompt replaces the typed text.

    `prepare` takes the argument text and a sink for the calls that it needs, and returns the
    prompt. It raises PromptCommandError.
    """

    name: str
    description: str
    prepare: Callable[[str, TurnSink], Awaitable[PreparedPrompt]]
    hint: str | None = None


class PromptCommandError(Exception):
    """The command cannot be carried out now; the text tells the user why and how to proceed."""


@frozen_dataclass
class ListedCommand:
    """A command that is listed here but looked up elsewhere: a skill, which becomes a prompt."""

    name: str
    description: str
    hint: str | None = None


Command = SlashCommand | PromptCommand | ListedCommand


@frozen_dataclass
class CommandInvocation:
    """A command as the user typed it."""

    name: str
    arguments: str


def parse_invocation(text: str) -> CommandInvocation | None:
    """Parse a prompt as a slash command; return None for ordinary text.

    A command is a slash and a name without another slash as the first word, so `/etc/hosts is
    broken` is ordinary text.
    """
    found = _FIRST_WORD.fullmatch(text.strip())
    return CommandInvocation(found[1], (found[2] or "").strip()) if found else None
