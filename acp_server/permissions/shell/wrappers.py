"""Commands that only limit or measure another one: `timeout 60 go test`, `time make`."""

import re
from collections.abc import Sequence

from acp_server.permissions.shell.assignments import Assignment
from acp_server.permissions.shell.words import Word

_SETTING = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_DURATION = re.compile(r"[0-9.]+[smhd]?")
_FLAGS = {
    "timeout": re.compile(
        r"--foreground|--preserve-status|-v|--verbose|-[ks].+|--(?:kill-after|signal)=.+"
    ),
    "time": re.compile(r"-p"),
    "nice": re.compile(r"-n?-?\d+|--adjustment=-?\d+"),
    "stdbuf": re.compile(r"-[ioe][0L]"),
}
_VALUE_FLAGS = {"timeout": {"-k", "-s"}, "nice": {"-n"}}


def split_wrappers(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Return the names of wrappers, and the command that they run.

    Without a wrapper, or if one is unclear, all words are the command: a wrapper with unknown flags
    is judged like any other command.
    """
    wrappers: list[Word] = []
    inner = words
    while inner and inner[0].is_literal and inner[0].text in _FLAGS:
        rest = _skip_flags(inner)
        if not rest:
            return (), words
        wrappers.append(inner[0])
        inner = rest
    return tuple(wrappers), inner


def split_env(words: tuple[Word, ...]) -> tuple[tuple[Assignment, ...], tuple[Word, ...]]:
    """Return the variables that `env CI=1 npm test` sets, and the command that it runs.

    Any other use of `env` is a command of its own: alone it prints the environment, with flags it
    clears it or splits texts into words.
    """
    assignments: list[Assignment] = []
    if not words[0].is_literal or words[0].text != "env":
        return (), words
    for index, word in enumerate(words[1:], start=1):
        found = _SETTING.fullmatch(word.text)
        # `env` takes any word with `=` for a variable.
        if not word.is_literal or (found is None and ("=" in word.text or word.text[:1] == "-")):
            break
        if found is None:
            return tuple(assignments), words[index:] if assignments else words
        assignments.append(Assignment(found[1], Word(found[2])))
    return (), words


def _skip_flags(words: Sequence[Word]) -> tuple[Word, ...]:
    """Return the words behind a wrapper and its own words; none if they are of another form."""
    name, rest = words[0].text, list(words[1:])
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0)
        if not flag.is_literal:
            return ()
        if flag.text in _VALUE_FLAGS.get(name, set()):
            if not rest or not rest[0].is_literal or rest.pop(0).text.startswith("--"):
                return ()
        elif _FLAGS[name].fullmatch(flag.text) is None:
            return ()
    if name == "timeout" and (
        not rest or not rest[0].is_literal or _DURATION.fullmatch(rest.pop(0).text) is None
    ):
        return ()
    return tuple(rest)
