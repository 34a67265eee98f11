"""Threat patterns, read from the tables in `families/` and compiled on first use.

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Literal, NotRequired, TypedDict, cast

from prompt_engine.findings import ScanScope, ThreatSeverity
from prompt_engine.threats.engine import Re2Expression, compile_expression
from prompt_engine.threats.folding import fold
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
class ThreatPattern:
    """Threat pattern with all its wordings."""

    id: str
    family: str
    scope: ScanScope
    expression: str
    severity: ThreatSeverity = "dangerous"
    signal: Signal | None = None
    exemption: Exemption | None = None


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Patterns matched in one pass over the text.

    The expression has no capture groups. To fill them, the engine would process the match again,
    many times slower, and a match can be as long as the text.
    """

    scope: ScanScope
    patterns: tuple[ThreatPattern, ...]
    expression: Re2Expression
    is_word_bounded: bool
    has_only_ascii: bool
    """Whether no wording names a character beyond ASCII."""

    def matches(
        self, text: bytes, is_exempt: Callable[[ThreatPattern, int, int], bool], max_checks: int
    ) -> Iterator[tuple[ThreatPattern, int, int]]:
        """Yield pattern, start and end of the matches that are not exempt.

        Only the first `max_checks` are checked, which bounds the time for hostile texts.
        """
        *others, last = self.patterns
        for count, match in enumerate(self.expression.finditer(text)):
            start, end = match.start(), match.end()
            if self.is_word_bounded and text.startswith(_LINKING_MARK, start):
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
    """Compile a table: one group per family, and one for small families together.

    Larger groups need fewer passes but many more states: a hostile mix of words is then slow.
    Patterns for skills, which have many wordings each, are groups of their own.
    """
    is_for_skills = table in SKILL_TABLES
    is_word_bounded = _read_table(table).get("is_word_bounded", False)
    boundary = rf"(?:\b|{_LINKING_MARK.decode()})" if is_word_bounded else ""
    shared = SHARING_FAMILIES.get(table, frozenset[str]())

    def group_key(pattern: ThreatPattern) -> tuple[str, ScanScope]:
        if is_for_skills:
            return pattern.id, pattern.scope
        return ("" if pattern.family in shared else pattern.family, pattern.scope)

    groups: list[PatternGroup] = []
    for (_, scope), found in groupby(_patterns(table), key=group_key):
        chosen = tuple(found)
        alternatives = "|".join(f"(?:{pattern.expression})" for pattern in chosen)
        expression = compile_expression(f"{boundary}(?:{alternatives})", ignores_case=is_for_skills)
        has_only_ascii = alternatives.isascii()
        groups.append(PatternGroup(scope, chosen, expression, is_word_bounded, has_only_ascii))
    return tuple(groups)


@cache
def _compile_alone(pattern: ThreatPattern) -> Re2Expression:
    return compile_expression(pattern.expression)


@cache
def _patterns(table: str) -> tuple[ThreatPattern, ...]:
    document = _read_table(table)
    vocabulary = _vocabulary(document.get("vocabulary", "vocabulary"))
    gap = document.get("gap")

    def expression(wordings: list[str]) -> str:
        joined = "|".join(f"(?:{wording})" for wording in wordings)
        while _ENTRY.search(joined):  # entries may contain entries themselves
            joined = _ENTRY.sub(lambda found: vocabulary[found[1]], joined)
        if gap is not None:
            return joined.replace(" ", gap)
        joined = joined.replace("~", _MAYBE_GAP).replace(" ", _GAP)
        return _BEYOND_ASCII.sub(lambda found: fold(found[0]), joined)

    return tuple(
        ThreatPattern(
            id_,
            each["family"],
            each.get("scope", "all"),
            expression(wordings),
            each.get("severity", "dangerous"),
            each.get("signal"),
            each.get("exemption"),
        )
        for each in document["table"]
        for id_, wordings in each["patterns"].items()
    )


@cache
def _vocabulary(name: str) -> dict[str, str]:
    document = cast("dict[str, dict[str, list[str]]]", read_toml("threats/families", name))
    # Each letter may be the digit or sign that often replaces it.
    digits = str.maketrans({letter: f"[{signs}]" for letter, signs in _DIGITS.items()})
    plain = {name: f"(?:{'|'.join(words)})" for name, words in document["words"].items()}
    disguised = {
        name: f"(?:{'|'.join(words).translate(digits)})"
        for name, words in document.get("disguised", {}).items()
    }
    return plain | disguised


def _read_table(table: str) -> _TableFile:
    return cast("_TableFile", read_toml("threats/families", table))
