"""Threat patterns, read from the tables in `families/` and compiled on first use.

For a short text only the wordings are compiled that can match it (`stored_tables`).

A table belongs to a family and holds patterns by id: for texts that reach a model, with their
scope; for skills, with a severity and the description as id. In a pattern a space represents the
gap between two words, and `{name}` an entry of the vocabulary.

A text with a pattern of the scope `mark` is not blocked but shown with a warning: a harmless text
may hold such a wording.

Patterns for texts match folded text (`folding`): a gap is whitespace, line ends, Markdown and
comment marks, and `~` an optional gap. Patterns for skills match the text in any case; their file
says what a gap is, as a command ends with its line and a sentence does not.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Literal, NotRequired, TypedDict, cast

from prompt_engine.findings import ScanScope, ThreatSeverity
from prompt_engine.threats.engine import Re2Expression, compile_expression
from prompt_engine.threats.folding import fold
from prompt_engine.threats.stored_tables import (
    Required,
    StoredTables,
    TextSequences,
    stored_tables,
)
from prompt_engine.toml_tables import read_toml

INCLUDED_SCOPES: Mapping[ScanScope, tuple[ScanScope, ...]] = {
    "all": ("all",),
    "context": ("all", "context"),
    "strict": ("all", "context", "strict"),
    "mark": ("all", "context", "mark"),
}
"""Scopes whose patterns a scan looks for."""

TABLES = ("english", "errands", "languages", "scripts", "kept", "marked", "marked_scripts")
"""Tables in reading order."""

SCRIPT_TABLES = frozenset({"scripts", "marked_scripts"})
"""Tables for writing systems without ASCII letters."""

TABLES_OF_ONE_SCOPE: Mapping[str, ScanScope] = {
    "kept": "strict",
    "marked": "mark",
    "marked_scripts": "mark",
}
"""Tables that are not even compiled for other scopes."""

SKILL_TABLES = ("commands", "prose")
"""Tables for the files of a skill."""

SHARING_FAMILIES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("languages", "scripts"),
        frozenset({"override-system-prompt", "no-restrictions", "prompt-leak"}),
    ),
    "marked": frozenset({"hide-from-user", "translate-and-execute", "exfiltration"}),
}
"""Families with few patterns, by table; adjacent ones share a pass over the text."""

Signal = Literal["source", "sink", "drop-box", "decodes", "executes"]
"""Property of a file that a pattern implies, for combined findings (reads secrets and sends)."""

Exemption = Literal["known-hosts", "placeholders"]
"""Harmless matches: commands for well-known installation hosts, or placeholders of keys."""

MAX_PARTS = 4
"""How often a part of a group is compiled for a text; the next time all of the group is."""

_LINKING_MARK = b"_"
"""A word character for the engine but Markdown emphasis for a reader: a word may start after it."""

# Ranges that adjoin: ten thousand gaps are compiled, and each range of a class costs time.
_GAP = r"(?:[\x21-\x2d/<>\[-`|~]*[\t-\x20][\t-\x2d/<>\[-`|~]*)"
_MAYBE_GAP = r"[\t-\x2d/<>\[-`|~]*"
_ENTRY = re.compile(r"\{([a-z-]+)\}")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_DIGITS = {
    "a": "a4@", "e": "e3", "g": "g9", "i": "i1!|l", "l": "l1|i", "o": "o0", "s": "s5$", "t": "t7",
}  # fmt: skip


class _Table(TypedDict):
    family: str
    patterns: dict[str, list[str]]
    scope: NotRequired[ScanScope]
    severity: NotRequired[ThreatSeverity]
    signal: NotRequired[Signal]
    exemption: NotRequired[Exemption]


class _TableFile(TypedDict):
    table: list[_Table]
    is_word_bounded: NotRequired[bool]
    """Whether patterns start at a word boundary, with a letter or a sign, never with `_`."""
    gap: NotRequired[str]
    """Gap of patterns that match the text as it is, not folded."""
    vocabulary: NotRequired[str]


@dataclass(frozen=True, slots=True)
class _Wording:
    """One wording of a pattern, as it is written in its table."""

    text: str
    table: str
    required: Required = ()
    """What a text must contain, for texts that the stored tables know."""

    @property
    def expression(self) -> str:
        """The wording with its vocabulary and gaps."""
        document = _read_table(self.table)
        vocabulary = _vocabulary(document.get("vocabulary", "vocabulary"))
        gap, text = document.get("gap"), f"(?:{self.text})"
        while _ENTRY.search(text):  # entries may contain entries themselves
            text = _ENTRY.sub(lambda found: vocabulary[found[1]], text)
        if gap is not None:
            return text.replace(" ", gap)
        text = text.replace("~", _MAYBE_GAP).replace(" ", _GAP)
        return _BEYOND_ASCII.sub(lambda found: fold(found[0]), text)


@dataclass(frozen=True, slots=True)
class ThreatPattern:
    """Threat pattern with all its wordings."""

    id: str
    family: str
    scope: ScanScope
    wordings: tuple[_Wording, ...]
    severity: ThreatSeverity = "dangerous"
    signal: Signal | None = None
    exemption: Exemption | None = None

    @property
    def expression(self) -> str:
        """The wordings as one expression."""
        return "|".join(wording.expression for wording in self.wordings)


class PatternGroup:
    """Patterns matched in one pass over the text.

    The expression has no capture groups. To fill them, the engine would process the match again,
    many times slower, and a match can be as long as the text.
    """

    def __init__(
        self,
        patterns: Sequence[ThreatPattern],
        *,
        is_word_bounded: bool,
        ignores_case: bool,
        has_only_ascii: bool | None,
    ) -> None:
        """Prepare; nothing is compiled before it is used."""
        self.patterns = tuple(patterns)
        self.scope = self.patterns[0].scope
        self._is_word_bounded = is_word_bounded
        self._ignores_case = ignores_case
        self._has_only_ascii = has_only_ascii
        self._expression: Re2Expression | None = None
        self._parts: dict[tuple[tuple[_Wording, ...], ...], PatternGroup] = {}

    @property
    def has_only_ascii(self) -> bool:
        """Whether no wording names a character beyond ASCII."""
        if self._has_only_ascii is None:
            self._has_only_ascii = all(each.expression.isascii() for each in self.patterns)
        return self._has_only_ascii

    @property
    def expression(self) -> Re2Expression:
        """The compiled expression."""
        if self._expression is None:
            boundary = rf"(?:\b|{_LINKING_MARK.decode()})" if self._is_word_bounded else ""
            alternatives = "|".join(f"(?:{pattern.expression})" for pattern in self.patterns)
            self._expression = compile_expression(
                f"{boundary}(?:{alternatives})", ignores_case=self._ignores_case
            )
        return self._expression

    def for_text(self, sequences: TextSequences | None) -> "PatternGroup | None":
        """Return the part of the group that can match a text; None if nothing can.

        It is the whole group if the sequences are None, and once it is compiled.
        """
        if sequences is None or self._expression is not None:
            return self
        wordings = [
            tuple(each for each in pattern.wordings if sequences.has_all(each.required))
            for pattern in self.patterns
        ]
        if not any(wordings):
            return None
        key = tuple(wordings)
        part = self._parts.get(key)
        if part is None:
            if len(self._parts) == MAX_PARTS:
                self._parts.clear()
                self.expression  # noqa: B018  from now on, all of it
                return self
            part = self._parts[key] = PatternGroup(
                [
                    replace(pattern, wordings=chosen)
                    for pattern, chosen in zip(self.patterns, wordings, strict=True)
                    if chosen
                ],
                is_word_bounded=self._is_word_bounded,
                ignores_case=self._ignores_case,
                has_only_ascii=self.has_only_ascii,
            )
        return part

    def matches(
        self, text: bytes, is_exempt: Callable[[ThreatPattern, int, int], bool], max_checks: int
    ) -> Iterator[tuple[ThreatPattern, int, int]]:
        """Yield pattern, start and end of the matches that are not exempt.

        Only the first `max_checks` are checked, which bounds the time for hostile texts.
        """
        *others, last = self.patterns
        for count, match in enumerate(self.expression.finditer(text)):
            start, end = match.start(), match.end()
            if self._is_word_bounded and text.startswith(_LINKING_MARK, start):
                start += len(_LINKING_MARK)
            matching = (each for each in others if _compile_alone(each).match(text, start, end))
            pattern = next(matching, last)
            if count >= max_checks or not is_exempt(pattern, start, end):
                yield pattern, start, end


@cache
def pattern_groups(scope: ScanScope, *, with_scripts: bool) -> tuple[PatternGroup, ...]:
    """Return the pattern groups of a scope; set `with_scripts` if the text is not pure ASCII."""
    included_scopes = INCLUDED_SCOPES[scope]
    tables = [
        table
        for table in TABLES
        if (with_scripts or table not in SCRIPT_TABLES)
        and TABLES_OF_ONE_SCOPE.get(table, scope) == scope
    ]
    return tuple(
        group for table in tables for group in _groups(table) if group.scope in included_scopes
    )


@cache
def skill_pattern_groups() -> tuple[PatternGroup, ...]:
    """Return the pattern groups for the files of a skill."""
    return tuple(group for table in SKILL_TABLES for group in _groups(table))


@cache
def _groups(table: str) -> tuple[PatternGroup, ...]:
    return make_groups(table, None if table in SKILL_TABLES else stored_tables())


def make_groups(table: str, stored: StoredTables | None) -> tuple[PatternGroup, ...]:
    """Return the groups of a table: one per family, and one for small families together.

    Larger groups need fewer passes but many more states: a hostile mix of words is then slow.
    Patterns for skills, which have many wordings each, are groups of their own.
    """
    is_for_skills = table in SKILL_TABLES
    is_word_bounded = _read_table(table).get("is_word_bounded", False)
    shared = SHARING_FAMILIES.get(table, frozenset[str]())

    def group_key(pattern: ThreatPattern) -> tuple[str, ScanScope]:
        if is_for_skills:
            return pattern.id, pattern.scope
        return ("" if pattern.family in shared else pattern.family, pattern.scope)

    only_ascii = iter(() if stored is None else stored.only_ascii[table])
    return tuple(
        PatternGroup(
            tuple(found),
            is_word_bounded=is_word_bounded,
            ignores_case=is_for_skills,
            has_only_ascii=next(only_ascii, None),
        )
        for _, found in groupby(_patterns(table, stored), key=group_key)
    )


@cache
def _compile_alone(pattern: ThreatPattern) -> Re2Expression:
    return compile_expression(pattern.expression)


def _patterns(table: str, stored: StoredTables | None) -> Iterator[ThreatPattern]:
    def wordings(id_: str, texts: Sequence[str]) -> tuple[_Wording, ...]:
        if stored is None:
            return tuple(_Wording(text, table) for text in texts)
        required = stored.required(table, id_)
        return tuple(
            _Wording(text, table, tuple(sets)) for text, sets in zip(texts, required, strict=True)
        )

    for each in _read_table(table)["table"]:
        for id_, texts in each["patterns"].items():
            yield ThreatPattern(
                id_,
                each["family"],
                each.get("scope", "all"),
                wordings(id_, texts),
                each.get("severity", "dangerous"),
                each.get("signal"),
                each.get("exemption"),
            )


@cache
def _vocabulary(name: str) -> dict[str, str]:
    document = cast("dict[str, dict[str, list[str]]]", _read_document(name))
    # Each letter may be the digit or sign that often replaces it.
    digits = str.maketrans({letter: f"[{signs}]" for letter, signs in _DIGITS.items()})
    plain = {name: f"(?:{'|'.join(words)})" for name, words in document["words"].items()}
    disguised = {
        name: f"(?:{'|'.join(words).translate(digits)})"
        for name, words in document.get("disguised", {}).items()
    }
    return plain | disguised


def _read_table(table: str) -> _TableFile:
    return cast("_TableFile", _read_document(table))


def _read_document(name: str) -> object:
    """Return the content of a table or a vocabulary."""
    stored = stored_tables()
    document = None if stored is None else stored.documents.get(name)
    return read_toml("threats/families", name) if document is None else document
