"""Threat patterns, read from the tables in `families/` and compiled on first use.

A table belongs to a family and a scope and holds patterns by id. In a pattern a space represents
the gap between two words (whitespace, line ends, Markdown and comment marks), `~` an optional gap,
and `{name}` an entry of `vocabulary.toml`.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TypedDict

from prompt_engine.findings import ScanScope
from prompt_engine.threats.engine import Re2Expression, Re2Match, compile_expression
from prompt_engine.threats.folding import fold

SCOPES: tuple[ScanScope, ...] = ("all", "context", "strict")
"""Each scope includes the ones before it."""

TABLES = ("english", "errands", "languages", "scripts", "kept")
"""Tables in reading order. `scripts` is for writing systems without ASCII letters."""

SHARING_FAMILIES = frozenset({"override-system-prompt", "no-restrictions", "prompt-leak"})
"""Families with few patterns outside English; adjacent ones share a pass over the text."""

WORD_BOUNDED_TABLES = ("english", "languages")
"""Their patterns start at a word boundary, with a letter or a sign, never with `_`."""

_LINKING_MARK = b"_"
"""A word character for the engine but Markdown emphasis for a reader: a word may start after it."""

_MARKS = r",\"'`*_~>#|/\\()\[\]<-"
_GAP = rf"(?:[{_MARKS}]*\s[\s{_MARKS}]*)"
_MAYBE_GAP = rf"[\s{_MARKS}]*"
_ENTRY = re.compile(r"\{([a-z-]+)\}")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_DIGITS = {
    "a": "a4@", "e": "e3", "g": "g9", "i": "i1!|l", "l": "l1|i", "o": "o0", "s": "s5$", "t": "t7",
}  # fmt: skip


class _Table(TypedDict):
    family: str
    scope: ScanScope
    patterns: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class ThreatPattern:
    """Threat pattern with all its wordings."""

    id: str
    family: str
    scope: ScanScope
    expression: str


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Patterns matched in one pass; `identify` determines afterwards which of them matched.

    The expression has no capture groups. To fill them, the engine would process the match again,
    many times slower, and a match can be as long as the text.
    """

    scope: ScanScope
    patterns: tuple[ThreatPattern, ...]
    expression: Re2Expression
    is_word_bounded: bool

    def identify(self, match: Re2Match, text: bytes) -> tuple[ThreatPattern, int]:
        """Return the first pattern that fits a match, and the offset at which it starts."""
        start = match.start()
        if self.is_word_bounded and text.startswith(_LINKING_MARK, start):
            start += len(_LINKING_MARK)
        *others, last = self.patterns
        matching = (each for each in others if _compile_alone(each).match(text, start, match.end()))
        return next(matching, last), start


@cache
def pattern_groups(scope: ScanScope, *, with_scripts: bool) -> tuple[PatternGroup, ...]:
    """Return the pattern groups of a scope; set `with_scripts` if the text is not pure ASCII."""
    included_scopes = SCOPES[: SCOPES.index(scope) + 1]
    tables = [table for table in TABLES if with_scripts or table != "scripts"]
    return tuple(
        group for table in tables for group in _groups(table) if group.scope in included_scopes
    )


def all_patterns() -> Iterator[ThreatPattern]:
    """Yield every pattern."""
    for table in TABLES:
        yield from _patterns(table)


@cache
def _groups(table: str) -> tuple[PatternGroup, ...]:
    """Compile one group per family of a table, and one for small families together.

    Larger groups need fewer passes but many more states: a hostile mix of words is then slow.
    """
    shared = SHARING_FAMILIES if table in {"languages", "scripts"} else frozenset[str]()

    def group_key(pattern: ThreatPattern) -> tuple[str, ScanScope]:
        return ("" if pattern.family in shared else pattern.family, pattern.scope)

    families = groupby(_patterns(table), key=group_key)
    return tuple(_group(table, scope, tuple(chosen)) for (_, scope), chosen in families)


def _group(table: str, scope: ScanScope, chosen: tuple[ThreatPattern, ...]) -> PatternGroup:
    alternatives = "|".join(f"(?:{pattern.expression})" for pattern in chosen)
    is_word_bounded = table in WORD_BOUNDED_TABLES
    boundary = rf"(?:\b|{_LINKING_MARK.decode()})" if is_word_bounded else ""
    return PatternGroup(
        scope, chosen, compile_expression(f"{boundary}(?:{alternatives})"), is_word_bounded
    )


@cache
def _compile_alone(pattern: ThreatPattern) -> Re2Expression:
    return compile_expression(pattern.expression)


@cache
def _patterns(table: str) -> tuple[ThreatPattern, ...]:
    document: dict[str, list[_Table]] = tomllib.loads(_read_table(table))
    return tuple(
        ThreatPattern(id_, each["family"], each["scope"], _expression(wordings))
        for each in document["table"]
        for id_, wordings in each["patterns"].items()
    )


def _expression(wordings: list[str]) -> str:
    alternatives = (f"(?:{_expand_vocabulary(wording)})" for wording in wordings)
    joined = "|".join(alternatives).replace("~", _MAYBE_GAP).replace(" ", _GAP)
    return _BEYOND_ASCII.sub(lambda found: fold(found[0]), joined)


def _expand_vocabulary(wording: str) -> str:
    """Expand the vocabulary entries, which may contain entries themselves."""
    while _ENTRY.search(wording):
        wording = _ENTRY.sub(lambda found: _vocabulary()[found[1]], wording)
    return wording


@cache
def _vocabulary() -> dict[str, str]:
    document: dict[str, dict[str, list[str]]] = tomllib.loads(_read_table("vocabulary"))
    plain = {name: f"(?:{'|'.join(words)})" for name, words in document["words"].items()}
    disguised = {
        name: f"(?:{'|'.join(map(_allow_digits, words))})"
        for name, words in document["disguised"].items()
    }
    return plain | disguised


def _allow_digits(word: str) -> str:
    """Allow each letter to be the digit or sign that often replaces it."""
    return "".join(f"[{_DIGITS[letter]}]" if letter in _DIGITS else letter for letter in word)


def _read_table(table: str) -> str:
    return files("prompt_engine.threats").joinpath("families", f"{table}.toml").read_text("utf-8")
