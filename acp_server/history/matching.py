"""Checks whether a text matches a query, scores it and builds its snippet. Pure.

Texts and queries are compared without case and accents, by a rule that preserves the position of
every character.
"""

import math
import re
import unicodedata
from collections.abc import Iterable
from itertools import islice

from acp_server.history.cjk_tokens import CJK_RUN
from acp_server.history.search_queries import SearchQuery, SearchTerm
from acp_server.session.ports.session_search import MARK_BEGIN, MARK_END, Role

SNIPPET_CHARACTERS = 240
MAX_MATCHES = 100
"""Matches in one text that are considered for its snippet."""

_WEIGHTS: dict[Role, float] = {"user": 1.2, "assistant": 1.0, "tool": 0.7}
_TYPICAL_CHARACTERS = 600
_HALF_LIFE_SECONDS = 30 * 86_400


class Matcher:
    """A query compiled for many texts."""

    def __init__(self, query: SearchQuery, *, is_whole_word: bool) -> None:
        """Compile a query; with `is_whole_word` only whole words match, else parts of words too."""
        self._groups = [_pattern(group, is_whole_word=is_whole_word) for group in query.required]
        self._any = _pattern(query.terms, is_whole_word=is_whole_word)
        self._excluded = _pattern(query.excluded, is_whole_word=True) if query.excluded else None

    def accepts(self, text: str) -> bool:
        """Whether a text has all required terms and no excluded one."""
        folded = fold(text)
        if self._excluded is not None and self._excluded.search(folded):
            return False
        return all(group.search(folded) for group in self._groups)

    def score(self, text: str, role: Role, age_seconds: float) -> float:
        """Return the relevance: frequent, in a short text, said by a person, recent."""
        folded = fold(text)
        # Saturating term frequency with length normalization, as in BM25, without corpus
        # statistics.
        length = 0.3 + 0.7 * len(folded) / _TYPICAL_CHARACTERS
        counts = [len(group.findall(folded)) for group in self._groups]
        frequency = sum(count / (count + 1.2 * length) for count in counts) / max(1, len(counts))
        freshness = math.exp2(-max(0.0, age_seconds) / _HALF_LIFE_SECONDS)
        return frequency * _WEIGHTS[role] + 0.2 * freshness

    def snippet(self, text: str) -> str:
        """Return one line around the densest group of matches."""
        spans = [found.span() for found in islice(self._any.finditer(fold(text)), MAX_MATCHES)]
        if not spans:
            return _one_line(text[:SNIPPET_CHARACTERS])

        def count_matches(begin: int) -> int:
            return sum(begin <= first < begin + SNIPPET_CHARACTERS // 2 for first, _ in spans)

        densest_start = max((first for first, _ in spans), key=count_matches)
        begin = max(0, densest_start - SNIPPET_CHARACTERS // 4)
        end = begin + SNIPPET_CHARACTERS
        line, position = "", begin
        for first, last in spans:
            if position <= first and last <= end:
                line += f"{text[position:first]}{MARK_BEGIN}{text[first:last]}{MARK_END}"
                position = last
        prefix, suffix = "…" if begin else "", "…" if end < len(text) else ""
        return f"{prefix}{_one_line(line + text[position:end])}{suffix}"


class _FoldTable(dict[int, int]):
    """Character table that removes case and accents one for one; filled on demand."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        if not CJK_RUN.match(character):
            # Exactly one character for one, or positions in the folded text would not fit the
            # original.
            character = unicodedata.normalize("NFD", character)[0]
        self[code] = ord(character.lower()[0])
        return self[code]


_FOLD_TABLE = _FoldTable()


def fold(text: str) -> str:
    """Return the text without case and accents, in the same length."""
    return text.lower() if text.isascii() else text.translate(_FOLD_TABLE)


def _pattern(terms: Iterable[SearchTerm], *, is_whole_word: bool) -> re.Pattern[str]:
    """Return a pattern that finds any of the terms in a folded text."""
    found = [
        _whole_word_pattern(term) if is_whole_word else re.escape(fold(term.text)) for term in terms
    ]
    return re.compile("|".join(found))


def _whole_word_pattern(term: SearchTerm) -> str:
    text = fold(term.text)
    words: list[str] = re.findall(r"[^\W_]+", text)
    signs_matter = term.is_literal or not words
    core = re.escape(text) if signs_matter else r"[\W_]+".join(map(re.escape, words))
    first, last = text[0], text[-1]
    left_boundary = r"(?<![^\W_])" if _needs_boundary(first) else ""
    right_boundary = r"(?![^\W_])" if _needs_boundary(last) and not term.is_prefix else ""
    return f"{left_boundary}{core}{right_boundary}"


def _needs_boundary(character: str) -> bool:
    """Whether a word that ends in this character needs a boundary after it."""
    return character.isalnum() and not CJK_RUN.match(character)


def _one_line(text: str) -> str:
    return " ".join(text.split())
