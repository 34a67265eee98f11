"""Parses search queries. Pure; knows no database.

User input is never passed to the database as an expression: it is parsed leniently here and written
again by `index_queries`. No query is invalid; one without a word finds nothing.
"""

import re
from collections.abc import Iterator

from acp_server.history.cjk_tokens import CJK_RUN, has_word_character
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.surrogates import repair_surrogates

MAX_CHARACTERS = 1_000
MAX_TERMS = 24

_PIECE = re.compile(r'(?P<minus>-?)"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+)')
_QUOTE_TABLE = str.maketrans(dict.fromkeys("“”„‟«»「」『』", '"') | {"\0": " "})
_LEADING_PUNCTUATION, _BEHIND = "([{<'", ")]}>'?!.,;:"
"""Punctuation before or after a word that is not part of it."""


@frozen_dataclass
class SearchTerm:
    """A word or a phrase."""

    text: str
    is_prefix: bool = False
    """Whether words that only start with it match too."""

    @property
    def is_literal(self) -> bool:
        """Whether signs at its ends matter, as in `.env`, `--flag` and `C++`."""
        return not (self.text[0].isalnum() and self.text[-1].isalnum())

    @property
    def is_cjk(self) -> bool:
        """Whether it is entirely Chinese, Japanese or Korean."""
        return CJK_RUN.fullmatch(self.text) is not None

    @property
    def has_cjk(self) -> bool:
        """Whether it contains Chinese, Japanese or Korean."""
        return CJK_RUN.search(self.text) is not None


@frozen_dataclass
class SearchQuery:
    """Texts that have a term of each `required` group and no `excluded` term."""

    required: tuple[tuple[SearchTerm, ...], ...]
    excluded: tuple[SearchTerm, ...] = ()

    @property
    def terms(self) -> tuple[SearchTerm, ...]:
        """All required terms."""
        return tuple(term for group in self.required for term in group)


@frozen_dataclass
class _QueryToken:
    """A token of a query: a term or an operator."""

    term: SearchTerm | None = None
    is_excluded: bool = False
    is_or: bool = False
    is_not: bool = False


def parse(text: str) -> SearchQuery:
    """Return the parsed query: words, "phrases", this OR that, -without, NOT this, begin*."""
    required: list[list[SearchTerm]] = []
    excluded: list[SearchTerm] = []
    previous = _QueryToken()
    for piece in _tokens(text):
        if piece.term is not None:
            if piece.is_excluded or previous.is_not:
                excluded.append(piece.term)
            elif previous.is_or and required:
                required[-1].append(piece.term)
            else:
                required.append([piece.term])
        previous = piece
    if not required:  # "-v" alone is a flag to search for, not an exclusion
        required, excluded = [[SearchTerm(f"-{term.text}")] for term in excluded], []
    return SearchQuery(tuple(map(tuple, required)), tuple(excluded))


def _tokens(text: str) -> Iterator[_QueryToken]:
    clean = repair_surrogates(text)[:MAX_CHARACTERS].translate(_QUOTE_TABLE)
    term_count = 0
    for found in _PIECE.finditer(clean):
        if found["phrase"] is None:
            piece = _word_token(found["word"])
        else:
            words = " ".join(found["phrase"].split())
            is_excluded = bool(found["minus"] and words)
            piece = _QueryToken(SearchTerm(words) if words else None, is_excluded)
        term_count += piece.term is not None
        # Bounds the index query, which grows with each term.
        if term_count > MAX_TERMS:
            return
        if piece != _QueryToken():
            yield piece


def _word_token(text: str) -> _QueryToken:
    if text in {"OR", "|", "||"}:
        return _QueryToken(is_or=True)
    if text == "NOT":
        return _QueryToken(is_not=True)
    if text in {"AND", "&", "&&"}:
        return _QueryToken()
    is_excluded = len(text) > 1 and text[0] == "-" and text[1] != "-"
    word = text[1:] if is_excluded else text
    # A piece of punctuation alone stays as it is: it may be meant.
    word = word.lstrip(_LEADING_PUNCTUATION).rstrip(_BEHIND) or word
    is_prefix = len(word) > 1 and word.endswith("*") and has_word_character(word[-2])
    return _QueryToken(SearchTerm(word[:-1] if is_prefix else word, is_prefix), is_excluded)
