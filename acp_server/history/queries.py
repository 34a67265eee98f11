"""What somebody looks for, read from what they typed. Pure; knows no database.

Nothing of a query is ever an expression of the database: it is read here, leniently, and what it
means is written anew. There is no query that is wrong; one without a word finds nothing.
"""

import re
from collections.abc import Iterator

from acp_server.frozen import frozen
from acp_server.history.spelling import CJK_RUN, is_word
from acp_server.surrogates import mended

MOST_CHARACTERS = 1_000
MOST_TERMS = 24

_PIECE = re.compile(r'(?P<minus>-?)"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+)')
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»「」『』", '"') | {"\0": " "})
_BEFORE, _BEHIND = "([{<'", ")]}>'?!.,;:"
"""What stands before or behind a word in a sentence and is no part of it."""


@frozen
class Term:
    """A word or a phrase."""

    text: str
    is_prefix: bool = False
    """Whether words count that only begin with it."""

    @property
    def is_literal(self) -> bool:
        """Whether signs at its ends matter, as in `.env`, `--flag` and `C++`."""
        return not (self.text[0].isalnum() and self.text[-1].isalnum())

    @property
    def is_cjk(self) -> bool:
        """Whether it is nothing but Chinese, Japanese or Korean."""
        return CJK_RUN.fullmatch(self.text) is not None

    @property
    def has_cjk(self) -> bool:
        """Whether there is any Chinese, Japanese or Korean in it."""
        return CJK_RUN.search(self.text) is not None


@frozen
class Query:
    """Texts in which each group of `wanted` has one of its terms, and which have none unwanted."""

    wanted: tuple[tuple[Term, ...], ...]
    unwanted: tuple[Term, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """All that are wanted."""
        return tuple(term for group in self.wanted for term in group)


@frozen
class _Piece:
    """A part of a query: a term, or a word that joins terms."""

    term: Term | None = None
    is_unwanted: bool = False
    is_or: bool = False
    is_not: bool = False


def parse(text: str) -> Query:
    """Return what a query means: words, "phrases", this OR that, -without, NOT this, begin*."""
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
    if not wanted:  # somebody looks for "-v", not for everything else
        wanted, unwanted = [[Term(f"-{term.text}")] for term in unwanted], []
    return Query(tuple(map(tuple, wanted)), tuple(unwanted))


def _pieces(text: str) -> Iterator[_Piece]:
    clean = mended(text)[:MOST_CHARACTERS].translate(_QUOTES)
    terms = 0
    for found in _PIECE.finditer(clean):
        piece = _word(found["word"]) if found["phrase"] is None else _phrase(found)
        terms += piece.term is not None
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
    bare = bare.lstrip(_BEFORE).rstrip(_BEHIND) or bare
    is_prefix = len(bare) > 1 and bare.endswith("*") and is_word(bare[-2])
    return _Piece(Term(bare[:-1] if is_prefix else bare, is_prefix), is_unwanted)
