"""Parses search queries. Pure; knows no database.

User input is never passed to the database as an expression: it is parsed leniently here and written
again by `expressions`. No query is invalid; one without a word finds nothing.
"""

import re
from collections.abc import Iterator

from acp_server.history.cjk_tokens import CJK_RUN, is_word
from acp_server.startup.fast_dataclass import frozen
from acp_server.text.surrogates import mended

MOST_CHARACTERS = 1_000
MOST_TERMS = 24

_PIECE = re.compile(r'(?P<minus>-?)"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+)')
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»「」『』", '"') | {"\0": " "})
_BEFORE, _BEHIND = "([{<'", ")]}>'?!.,;:"
"""Punctuation before or after a word that is not part of it."""


@frozen
class Term:
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


@frozen
class Query:
    """Texts that have a term of each `wanted` group and no `unwanted` term."""

    wanted: tuple[tuple[Term, ...], ...]
    unwanted: tuple[Term, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """All wanted terms."""
        return tuple(term for group in self.wanted for term in group)


@frozen
class _Piece:
    """A token of a query: a term or an operator."""

    term: Term | None = None
    is_unwanted: bool = False
    is_or: bool = False
    is_not: bool = False


def parse(text: str) -> Query:
    """Return the parsed query: words, "phrases", this OR that, -without, NOT this, begin*."""
    wanted: list[list[Term]] = []
    unwanted: list[Term] = []
    previous = _Piece()
    for piece in _pieces(text):
        if piece.term is not None:
            if piece.is_unwanted or previous.is_not:
                unwanted.append(piece.term)
            elif previous.is_or and wanted:
                wanted[-1].append(piece.term)
            else:
                wanted.append([piece.term])
        previous = piece
    if not wanted:  # "-v" alone is a flag to search for, not an exclusion
        wanted, unwanted = [[Term(f"-{term.text}")] for term in unwanted], []
    return Query(tuple(map(tuple, wanted)), tuple(unwanted))


def _pieces(text: str) -> Iterator[_Piece]:
    clean = mended(text)[:MOST_CHARACTERS].translate(_QUOTES)
    terms = 0
    for found in _PIECE.finditer(clean):
        piece = _word(found["word"]) if found["phrase"] is None else _phrase(found)
        terms += piece.term is not None
        # Bounds the index query, which grows with each term.
        if terms > MOST_TERMS:
            return
        if piece != _Piece():
            yield piece


def _phrase(found: re.Match[str]) -> _Piece:
    text = " ".join(found["phrase"].split())
    return _Piece(Term(text) if text else None, is_unwanted=bool(found["minus"]) and bool(text))


def _word(text: str) -> _Piece:
    if text in {"OR", "|", "||"}:
        return _Piece(is_or=True)
    if text == "NOT":
        return _Piece(is_not=True)
    if text in {"AND", "&", "&&"}:
        return _Piece()
    is_unwanted = len(text) > 1 and text[0] == "-" and text[1] != "-"
    bare = text[1:] if is_unwanted else text
    # A piece of punctuation alone stays as it is: it may be meant.
    bare = bare.lstrip(_BEFORE).rstrip(_BEHIND) or bare
    is_prefix = len(bare) > 1 and bare.endswith("*") and is_word(bare[-2])
    return _Piece(Term(bare[:-1] if is_prefix else bare, is_prefix), is_unwanted)
