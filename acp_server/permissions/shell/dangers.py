"""Ranks the commands of a line by what they may do, so that a question names the worst."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from acp_server.permissions import reasons
from acp_server.permissions.shell.command_line import NOT_WORDS
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import iter_commands, iter_descendants, node_text
from acp_server.permissions.shell.scope import ShellScope
from acp_server.permissions.shell.words import Word
from acp_server.permissions.word_lists import read_word_lists

if TYPE_CHECKING:
    from tree_sitter import Node

    from acp_server.permissions.shell.command_line import CommandSource

_INPUTS = ("heredoc_body", "herestring_redirect")
_SCHEMES = ("http://", "https://")
_LOCALHOST = frozenset({"localhost", "127.0.0.1", "::1"})
_AMBIGUOUS = frozenset("\\@{} ")
"""Characters by which programs disagree about the host, or that stand for several addresses."""
_WORD_BREAK = re.compile(r"[^\w./+-]+")
KINDS: tuple[reasons.ProgramKind, ...] = ("other", "changes", "sends", "removes", "runs_code")
"""Kinds of programs, from the least dangerous."""


def find_rank(words: Sequence[Word]) -> int:
    """Return the rank of a command that asks; that of the shell's own words is 0."""
    return KINDS.index(_find_kind(words)) + 1


def _find_kind(words: Sequence[Word]) -> reasons.ProgramKind:
    return _worst_kind(_names_of(words)) or "other"


def _worst_kind(names: Set[str]) -> reasons.ProgramKind | None:
    """Return the most dangerous kind that these names have; None if no list has one of them."""
    lists = _lists()
    return next((kind for kind in reversed(KINDS) if names & lists.get(kind, frozenset())), None)


def describe_program(words: Sequence[Word]) -> str:
    """Return the reason to ask about a program that is not known to only read."""
    names = _names_of(words)
    hosts, are_all = _find_hosts(words) if names & _lists()["fetches"] else ((), True)
    if hosts:
        return reasons.contacts(hosts, are_all=are_all)
    if names & _lists()["stops"]:
        return reasons.program("stops", words[0].text)
    return reasons.program(_find_kind(words), words[0].text)


def describe_git(subcommand: str) -> str:
    """Return the reason to ask about a command of git that is not known to only read."""
    kind = _worst_kind({f"git-{subcommand}"})
    return reasons.GIT_COMMAND if kind is None else reasons.program(kind, f"git {subcommand}")


def find_downloads(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the hosts that a command downloads from; empty if it fetches nothing."""
    return _find_hosts(words)[0] if words and _names_of(words) & _lists()["fetches"] else ()


def describe_input(
    words: Sequence[Word], *, has_input: bool, input_hosts: Sequence[str]
) -> str | None:
    """Return the reason to ask if a command runs its input as code; None if it does not.

    `input_hosts`: where the input is downloaded from, as far as the pipeline says it.
    """
    operands = [word for word in words[1:] if word.text not in {"-", "-s", "/dev/stdin"}]
    if not has_input or operands or _find_kind(words) != "runs_code":
        return None
    return reasons.runs_input(words[0].text, input_hosts)


def removes_or_sends(root: "Node", source: "CommandSource") -> bool:
    """Return whether a line names a program that removes files or sends data, at any depth.

    Whatever runs other programs (`xargs rm`) is searched word by word; if there is a shell, all
    texts of the line are. What other code does by itself is not seen.
    """
    kept_back = _lists()["removes"] | _lists()["sends"]
    commands = [tuple(_readable_words(each, source)) for each in iter_commands(root)]
    # A program that is only known when it runs may be any of them.
    if not all(words and words[0].is_literal for words in commands):
        return True
    names = [_names_of(words) for words in commands]
    runs_texts = any(each & _lists()["runs_texts"] for each in names)
    inputs = [each for kind in _INPUTS for each in iter_descendants(root, kind)]
    texts = [node_text(each) for each in inputs if runs_texts]
    for words, own_names in zip(commands, names, strict=True):
        stays_here = bool(own_names & _lists()["fetches"]) and _names_only_localhost(words)
        if (own_names & kept_back and not stays_here) or any(
            word.text == "-delete" for word in words
        ):
            return True
        if "git" in own_names and any(_destroys(word.text) for word in words[1:]):
            return True
        if runs_texts or own_names & _lists()["runs_others"]:
            texts += [word.text for word in words]
    return any(_names_in(text) & kept_back for text in texts)


def _names_only_localhost(words: Sequence[Word]) -> bool:
    """Return whether a command that fetches names no host but localhost.

    In the private network of the sandbox that is a server of another command, and no proxy is used.
    """
    if not all(word.is_literal for word in words):
        return False
    texts = iter(word.text for word in words[1:])
    has_address = False
    for text in texts:
        if text in _lists()["fetch_flags_with_value"]:
            next(texts, None)
        elif text not in _lists()["fetch_flags"]:
            if not _is_at_localhost(text):
                return False
            has_address = True
    return has_address


def _find_hosts(words: Sequence[Word]) -> tuple[tuple[str, ...], bool]:
    """Return the hosts of a command's addresses, as far as all readers agree on them.

    The second value says whether these are all. A word after a flag that is not known is taken for
    an address only if it is written as one: it may be the flag's value.
    """
    lists = _lists()
    with_value = lists["fetch_flags_with_value"] | lists["fetch_file_flags"]
    if "wget" in _names_of(words):
        with_value |= lists["wget_file_flags"]
    known = with_value | lists["fetch_flags"] | lists["fetch_other_flags"]
    hosts: list[str] = []
    are_all, may_be_value = True, False
    rest = iter(words[1:])
    for word in rest:
        is_flag = word.text.startswith("-")
        if is_flag and word.text in with_value:
            next(rest, None)
        elif not is_flag:
            is_address = not may_be_value or word.text.startswith(_SCHEMES)
            host = _find_host(word) if is_address else ""
            # A value without a dot, such as a number, is no host.
            are_all = are_all and (bool(host) or (may_be_value and "." not in word.text))
            hosts += [host] if host else []
        may_be_value = is_flag and word.text not in known
    return tuple(dict.fromkeys(hosts)), are_all


def _find_host(word: Word) -> str:
    """Return the host of an address with or without a scheme; empty if it is not certain."""
    text = word.text if "://" in word.text else f"http://{word.text}"
    parts = _parse_address(text) if word.is_literal else None
    return (parts and parts.hostname) or ""


def _is_at_localhost(address: str) -> bool:
    """Return whether every reader of an address takes it for one of localhost."""
    parts = _parse_address(address if "://" in address else f"http://{address}")
    return parts is not None and parts.scheme in {"http", "https"} and parts.hostname in _LOCALHOST


def _parse_address(address: str) -> SplitResult | None:
    """Return the parts of an address; None if its readers may disagree about its host."""
    if not address.isascii() or not address.isprintable() or set(address) & _AMBIGUOUS:
        return None
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _readable_words(command: "Node", source: "CommandSource") -> Iterator[Word]:
    """Yield the words of a command; those that are not known are empty."""
    for node in command.children:
        if node.type in NOT_WORDS:
            continue
        try:
            yield source.expand_word(node, ShellScope("/", ("/",), None))
        except UndecidableCommand:
            yield Word("", is_known=False)


def _destroys(word: str) -> bool:
    """Return whether a word of a git command makes it remove files or history, or send."""
    lists = _lists()
    return word in lists["git_destroys"] or f"git-{word}" in lists["removes"] | lists["sends"]


def _names_in(text: str) -> set[str]:
    """Return every word of a text of shell that may be the name of a program."""
    return {word.rpartition("/")[2] for word in _WORD_BREAK.split(text)}


def _names_of(words: Sequence[Word]) -> set[str]:
    """Return the name of a program, its name without a version, and with its subcommand."""
    name = words[0].text.rpartition("/")[2]
    second = words[1].text if len(words) > 1 else ""
    return {name, name.rstrip("0123456789."), f"{name}-{second}"}


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    return {key: frozenset(words) for key, words in read_word_lists(__file__).items()}
