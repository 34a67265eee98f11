"""Folds a text to the letters a reader sees, and maps offsets back.

Each character is folded independently, so the order of the text is preserved and each offset in the
folded text has exactly one origin. Compatibility forms are decomposed (NFKD), marks and invisible
characters removed, ASCII look-alikes replaced by the ASCII letter, and case is folded. Accents are
removed as well: the patterns are folded by the same rule.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise

BLOCK_CHARACTERS = 256
"""Block size for folding: finding an origin only measures one block."""

MAX_PARTS = 3
"""Maximum characters kept of a decomposition; one fewer if it is not ASCII. Some characters expand
to whole phrases; a text of them would take many times as long to match.
"""

_LETTER_NAME = re.compile(
    r"(?:LATIN|NEGATIVE|REGIONAL INDICATOR)\b.*\bLETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?"
)
_OTHER_CHARACTERS = re.compile(rb"[\x80-\xff]+")
_MARK_OF_OTHERS = "\x80".encode()
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


class FoldingTable(dict[int, str | None]):
    """Table for `str.translate` that is filled on demand. A dropped character is None."""

    def __init__(self) -> None:
        super().__init__((code, chr(code).lower()) for code in range(0x20, 0x7F))
        self.update({0x09: " ", 0x0A: "\n", 0x0B: " ", 0x0C: " ", 0x0D: " ", 0x85: " ", 0x7F: None})

    def __missing__(self, code: int) -> str | None:
        folded = self[code] = _folded(chr(code)) or None
        return folded


@cache
def folding_table() -> FoldingTable:
    """Return the shared table. Sharing is safe: entries are only added and never change."""
    return FoldingTable()


def fold(text: str) -> str:
    """Return the text in the form that is matched."""
    return text.translate(folding_table())


class FoldedText:
    """Folded text in UTF-8, with a mapping from its bytes to the original characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        starts = range(0, len(text), BLOCK_CHARACTERS)
        self.blocks = [fold(text[start : start + BLOCK_CHARACTERS]).encode() for start in starts]
        self._ends = list(accumulate(map(len, self.blocks)))
        self._measured: dict[int, Sequence[int]] = {}
        self.data = b"".join(self.blocks)

    def set_data(self, data: bytes) -> None:
        """Set the folded text; every byte must keep its offset."""
        starts = (0, *self._ends)
        self.blocks = [data[start:end] for start, end in pairwise(starts)]
        self.data = data

    def origin(self, offset: int) -> int:
        """Return the index of the character that the byte at `offset` comes from."""
        block = bisect_right(self._ends, offset)
        block_offset = offset - (self._ends[block - 1] if block else 0)
        return self.origin_in_block(block, block_offset)

    def origin_in_block(self, block: int, block_offset: int) -> int:
        """Return the index of the character that a byte of a block comes from."""
        ends = self._measured.get(block)
        if ends is None:
            characters = self._text[block * BLOCK_CHARACTERS : (block + 1) * BLOCK_CHARACTERS]
            table = folding_table()
            ends = list(accumulate(len((table[ord(each)] or "").encode()) for each in characters))
            self._measured[block] = ends
        return block * BLOCK_CHARACTERS + bisect_right(ends, block_offset)


class AsciiView:
    """Folded text whose other characters are one mark per run, for patterns in ASCII alone.

    Most patterns are: on a text of another writing system they have a third of the bytes to read.
    """

    def __init__(self, folded: FoldedText) -> None:
        self._folded = folded
        blocks = [_OTHER_CHARACTERS.sub(_MARK_OF_OTHERS, block) for block in folded.blocks]
        self._ends = list(accumulate(map(len, blocks)))
        self.data = b"".join(blocks)

    def origin(self, offset: int) -> int:
        """Return the index of the character that the byte at `offset` comes from."""
        block = bisect_right(self._ends, offset)
        block_offset = offset - (self._ends[block - 1] if block else 0)
        if block == len(self._ends):  # behind the last byte
            return self._folded.origin(len(self._folded.data))
        removed = 0
        for run in _OTHER_CHARACTERS.finditer(self._folded.blocks[block]):
            if run.start() - removed >= block_offset:
                break
            removed += run.end() - run.start() - len(_MARK_OF_OTHERS)
        return self._folded.origin_in_block(block, block_offset + removed)


def _folded(character: str) -> str:
    category = unicodedata.category(character)
    if category in _DROPPED:
        return ""
    mark = _MARKS.get(character) or _MARK_CATEGORIES.get(category)
    if mark:
        return mark
    # Hangul syllables decompose by rule, not by a table entry.
    is_hangul = "\uac00" <= character <= "\ud7a3"
    if category == "Lo" and not unicodedata.decomposition(character) and not is_hangul:
        return _look_alikes().get(character, character)
    parts = unicodedata.normalize("NFKD", character)
    has_spare_parts = not is_hangul and not parts.isascii()
    return "".join(map(_folded_part, parts[: MAX_PARTS - has_spare_parts]))


@lru_cache(maxsize=2048)
def _folded_part(character: str) -> str:
    """Fold one character of a decomposition. Upper and lower case fold alike, except in Greek."""
    if unicodedata.category(character) in _DROPPED:
        return ""
    if character.isascii():
        return character.lower()
    lower, upper = character.lower(), character.upper()
    # In Greek the cases look like different letters (nu: v and N).
    is_greek = "\u0370" <= character <= "\u03ff"
    forms = (character, lower) if is_greek else (lower, upper, character)
    letters = (_look_alikes().get(form) or letter_from_name(form) for form in forms)
    return next(filter(None, letters), character.casefold())


def letter_from_name(character: str) -> str:
    """Return the ASCII letter in the character's Unicode name, or an empty string."""
    name = unicodedata.name(character, "") if len(character) == 1 else ""
    match = _LETTER_NAME.fullmatch(name)
    return match[1].lower() if match else ""


@cache
def _look_alikes() -> dict[str, str]:
    """Return the characters that look like one ASCII letter.

    The table is derived from the published one, which takes many times as long to read
    (`python -m tests.prompt_engine.threats.look_alikes`).
    """
    raw = files("prompt_engine.threats").joinpath("look_alikes.json").read_text("utf-8")
    table: dict[str, str] = json.loads(raw)
    return {each: letter for letter, similar in table.items() for each in similar.split()}
