"""What a reader sees in a text: one spelling for every way to write a letter, and the way back.

Each character is folded on its own, so the order of the text never matters and a place in the
folded text has exactly one origin. Compatibility forms are taken apart (NFKD), marks and
invisible characters dropped, letters that look like an ASCII letter become it, case is folded.
Accents go as well: the patterns are folded by the same rule.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate

BLOCK_CHARACTERS = 256
"""The text is folded in blocks, so that finding an origin means measuring one of them."""

MOST_PARTS = 3
"""So much of what a character stands for counts: some stand for whole sentences, and a text of them
would be many times as long to match."""

_SPOKEN_LETTER = re.compile(
    r"(?:LATIN|NEGATIVE|REGIONAL INDICATOR)\b.*\bLETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?"
)
_MARKS = {
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{PRIME}": "'",
    "\N{DOUBLE LOW-9 QUOTATION MARK}": '"',
    "\N{IDEOGRAPHIC FULL STOP}": ".",
    "\N{DEVANAGARI DANDA}": ".",
    "\N{ARABIC FULL STOP}": ".",
}
_MARK_CATEGORIES = {"Zs": " ", "Zl": " ", "Zp": " ", "Pd": "-", "Pi": '"', "Pf": '"'}
_DROPPED = {"Mn", "Me", "Cf", "Cc", "Cs", "Cn", "Co"}


class Folding(dict[int, str]):
    """A table for `str.translate` that fills itself with the characters that appear."""

    def __init__(self) -> None:
        super().__init__((code, chr(code).lower()) for code in range(0x20, 0x7F))
        self.update({0x09: " ", 0x0A: "\n", 0x0B: " ", 0x0C: " ", 0x0D: " ", 0x85: " ", 0x7F: ""})

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded(chr(code))
        return folded


@cache
def folding() -> Folding:
    """Return the table; there is one, for it only grows by what is always true."""
    return Folding()


def fold(text: str) -> str:
    """Return the text as it is matched."""
    return text.translate(folding())


class FoldedText:
    """A folded text in UTF-8, and where each byte of it comes from."""

    def __init__(self, text: str) -> None:
        self._text = text
        starts = range(0, len(text), BLOCK_CHARACTERS)
        blocks = [fold(text[at : at + BLOCK_CHARACTERS]).encode() for at in starts]
        self._ends = list(accumulate(map(len, blocks)))
        self._measured: dict[int, Sequence[int]] = {}
        self.data = b"".join(blocks)

    def origin(self, offset: int) -> int:
        """Return the index of the character that the byte at `offset` comes from."""
        block = bisect_right(self._ends, offset)
        left = offset - (self._ends[block - 1] if block else 0)
        ends = self._measured.get(block)
        if ends is None:
            ends = self._measured[block] = self._measure(block)
        return block * BLOCK_CHARACTERS + bisect_right(ends, left)

    def _measure(self, block: int) -> Sequence[int]:
        """Return where in a folded block the bytes of each of its characters end."""
        characters = self._text[block * BLOCK_CHARACTERS : (block + 1) * BLOCK_CHARACTERS]
        table = folding()
        return list(accumulate(len(table[ord(each)].encode()) for each in characters))


def _folded(character: str) -> str:
    category = unicodedata.category(character)
    if category in _DROPPED:
        return ""
    mark = _MARKS.get(character) or _MARK_CATEGORIES.get(category)
    if mark:
        return mark
    if category == "Lo" and not unicodedata.decomposition(character) and not _is_hangul(character):
        return _look_alikes().get(character, character)
    return "".join(map(_folded_part, unicodedata.normalize("NFKD", character)[:MOST_PARTS]))


@lru_cache(maxsize=2048)
def _folded_part(character: str) -> str:
    """Fold one character of a decomposition; both cases of a letter fold alike, but for Greek."""
    if unicodedata.category(character) in _DROPPED:
        return ""
    if character.isascii():
        return character.lower()
    small, large = character.lower(), character.upper()
    forms = (character, small) if _is_greek(character) else (small, large, character)
    letters = (_look_alikes().get(form) or spoken(form) for form in forms)
    return next(filter(None, letters), character.casefold())


def _is_hangul(character: str) -> bool:
    """Syllables are taken apart by rule, not by a decomposition of their own."""
    return "\uac00" <= character <= "\ud7a3"


def _is_greek(character: str) -> bool:
    """Small and capital Greek letters look like different ones: nu like v, and like N."""
    return "\u0370" <= character <= "\u03ff"


def spoken(character: str) -> str:
    """Return the letter that the character's name says it is, if it does."""
    name = unicodedata.name(character, "") if len(character) == 1 else ""
    named = _SPOKEN_LETTER.fullmatch(name)
    return named[1].lower() if named else ""


@cache
def _look_alikes() -> dict[str, str]:
    """Return the characters that look like one ASCII letter.

    The table is made of the published one, which takes many times as long to read
    (`python -m tests.prompt_engine.threats.look_alikes`).
    """
    raw = files("prompt_engine.threats").joinpath("look_alikes.json").read_text("utf-8")
    table: dict[str, str] = json.loads(raw)
    return {each: letter for letter, similar in table.items() for each in similar.split()}
