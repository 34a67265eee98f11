"""The table of names that other agents have for tools and arguments (`aliases.toml`).

It is read at the first name that is not one of ours.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict, cast

from acp_server.startup.fast_dataclass import frozen_dataclass

Words = Mapping[str, str]
"""Lists of words, each a text that is split at white space."""

_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")


class _CommandTable(TypedDict):
    names: str
    tools: Mapping[str, str]
    advice: Mapping[str, str]


class _AliasDocument(TypedDict):
    tools: Words
    commands: "_CommandTable"
    implied: Mapping[str, Mapping[str, Words]]
    units: Words
    advice: Mapping[str, str]
    arguments: Mapping[str, Words]
    items: Mapping[str, Mapping[str, Words]]
    values: Mapping[str, Mapping[str, Words]]
    file_types: Words
    comments: Words
    harmless: Words
    negated: Words


@frozen_dataclass
class AliasTable:
    """The table, arranged for look-ups by squashed name."""

    tools: Mapping[str, str]
    """Our tools by name."""
    command_names: frozenset[str]
    commands: Mapping[str, str]
    """Our tools by the value of `command`."""
    command_advice: Mapping[str, str]
    """What to do instead, by the values of `command` that have no counterpart."""
    implied: Mapping[str, Mapping[str, str]]
    """Arguments by tool name."""
    milliseconds: frozenset[str]
    advice: Mapping[str, str]
    arguments: Mapping[str, Mapping[str, str]]
    """Our arguments by tool, or by tool and list as `tool.list`, then by name."""
    values: Mapping[str, Mapping[str, Mapping[str, str]]]
    """Our values by tool and argument, then by value."""
    file_types: Mapping[str, str]
    """Endings of files by the name of their type."""
    comments: Mapping[str, frozenset[str]]
    harmless: Mapping[str, frozenset[str]]
    negated: Mapping[str, frozenset[str]]


def squash(name: str) -> str:
    """Return a name small and without punctuation.

    >>> squash("filePath"), squash("file_path"), squash("-i")
    ('filepath', 'filepath', 'i')
    """
    return _NOT_ALPHANUMERIC.sub("", name.lower())


@cache
def alias_table() -> AliasTable:
    """Return the table, read once."""
    text = Path(__file__).with_name("aliases.toml").read_text("utf-8")
    document = cast("_AliasDocument", tomllib.loads(text))
    commands = document["commands"]
    return AliasTable(
        tools=_inverted(document["tools"]),
        command_names=frozenset(commands["names"].split()),
        commands={squash(each): tool for each, tool in commands["tools"].items()},
        command_advice={squash(each): text for each, text in commands["advice"].items()},
        implied=dict(_implied(document["implied"])),
        milliseconds=frozenset(document["units"]["milliseconds"].split()),
        advice=document["advice"],
        arguments={
            **{tool: _inverted(words) for tool, words in document["arguments"].items()},
            **{
                f"{tool}.{name}": _inverted(words)
                for tool, lists in document["items"].items()
                for name, words in lists.items()
            },
        },
        values={
            tool: {name: _inverted(words) for name, words in names.items()}
            for tool, names in document["values"].items()
        },
        file_types=_inverted(document["file_types"]),
        comments=_sets(document["comments"]),
        harmless=_sets(document["harmless"]),
        negated=_sets(document["negated"]),
    )


def _inverted(words: Words) -> Mapping[str, str]:
    return {alias: name for name, aliases in words.items() for alias in aliases.split()}


def _sets(words: Words) -> Mapping[str, frozenset[str]]:
    return {name: frozenset(each.split()) for name, each in words.items()}


def _implied(
    implied: Mapping[str, Mapping[str, Words]],
) -> Iterator[tuple[str, Mapping[str, str]]]:
    for arguments in implied.values():
        for argument, values in arguments.items():
            for value, names in values.items():
                yield from ((name, {argument: value}) for name in names.split())
