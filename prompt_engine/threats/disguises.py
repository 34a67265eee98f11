"""Restores words that were split up, without moving a character.

Handles HTML entities, percent-encoded letters, inline tags and emphasis inside words, and words
written letter by letter.
Every step preserves the length: removed text becomes `FILLER`, which folding drops. Offsets
therefore need no mapping.
"""

import re
import sys
from functools import cache
from html.entities import html5

from prompt_engine.threats.engine import Re2Expression, compile_expression

FILLER = "\x7f"
"""A character that folding drops; an ASCII one, as an ASCII text is folded ten times as fast."""

DENSE_MARKS = 6
"""Characters per emphasis mark; in a text with more marks, those between words are dropped too."""

_WITHOUT_EMPHASIS = str.maketrans(dict.fromkeys("*`~", FILLER))
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});")
_PERCENT = re.compile(r"(?:%(?:[46][1-9a-fA-F]|[57][0-9aA])){3,}+")
"""Run of letters in percent-encoding; a shorter one hides no word."""
_TAG = r"</?(?:b|i|u|s|em|strong|code|mark|small|sub|sup|span|wbr)\s{0,3}/?>"
_TAGS = re.compile(rf"{_TAG}(?:{_TAG})*+", re.I)
_EMPHASIS_INSIDE = re.compile(
    r"[*`~](?=[*`~]{0,2}[^\W\d_])"
    r"(?:(?<=[^\W\d_][*`~])|(?<=[^\W\d_][*`~]{2})|(?<=[^\W\d_][*`~]{3}))"
)
# The literal comes first and the lookbehinds follow it: that is several times as fast.
_EMPHASIS_AROUND = {
    "_": re.compile(r"_(?:(?!_)(?<!\w_)|(?!\w)(?<!__))"),
    "__": re.compile(r"__(?!_)(?<!___)"),  # around and inside words
    "___": re.compile(r"___(?:(?!_)(?<!\w___)|(?!\w)(?<!____))"),
}
_BLANK_TO_FILL_IN = re.compile(r"_{4,}+")
_LETTER = r"[^\W\d_]"
_LETTERS_APART = re.compile(
    rf"(?<!{_LETTER}){_LETTER}(?:[ .*_-]{{1,4}}{_LETTER}(?!{_LETTER})){{5,}}+"
)
_TELLING_WORDS = (
    "instruction", "prompt", "rule", "guideline", "directive", "everything", "user", "ignore",
    "disregard", "forget", "override", "previous", "system",
)  # fmt: skip
_BETWEEN = " .*_-"
_WITHOUT_MARKS = str.maketrans("", "", _BETWEEN)
_MARK = re.compile(r"[.*_-]")
_WIDE = re.compile(r"  ")
_WIDE_AMONG_MARKS = re.compile(r" ")
_WORDS = re.compile(
    "(ignore|disregard|forget|override|bypass|reveal|print|show|repeat|hide|tell|inform|mention"
    "|everything|every|all|any|each|the|of|my|your|these|those|this|that|and|from|to|do|not"
    "|previous|prior|above|earlier|preceding|safety|security|system|user|instructions?|prompts?"
    "|rules?|guidelines?|directives?|orders?|messages?)"
)


def undo_disguises(text: str) -> str:
    """Return the text with its words restored; every character keeps its offset."""
    text = text.replace("\\\n", FILLER + " ")  # shell line continuation
    if "&" in text:
        text = _ENTITY.sub(_EntityTable().replacement, text)
    if "%" in text:
        text = text.replace("%20", " " + FILLER * 2)
        text = _PERCENT.sub(_decode_percent, text)
    if "<" in text:
        text = _TAGS.sub(lambda found: FILLER * len(found[0]), text)
    if "____" in text:
        text = _BLANK_TO_FILL_IN.sub(lambda found: " " * len(found[0]), text)
    for marks, emphasis in _EMPHASIS_AROUND.items():
        if marks in text:
            text = emphasis.sub(FILLER * len(marks), text)
    marks = sum(map(text.count, "*`~"))
    if marks > len(text) // DENSE_MARKS:
        text = text.translate(_WITHOUT_EMPHASIS)
    elif marks:
        text = _EMPHASIS_INSIDE.sub(FILLER, text)
    if _spaced_letters_expression().search(text.encode(errors="replace")):
        text = _LETTERS_APART.sub(lambda found: _join_letters(found[0]), text)
    return text


def _decode_percent(found: re.Match[str]) -> str:
    characters = bytes.fromhex(found[0].replace("%", "")).decode()
    return (FILLER * 2).join(characters) + FILLER * 2


class _EntityTable(dict[str, str]):
    """Replacements of HTML entities, padded to the entity's length; unknown entities are kept."""

    def __missing__(self, entity: str) -> str:
        if entity[1] != "#":
            character = html5.get(entity[1:], entity)
        else:
            code = int(entity[3:-1], 16) if entity[2] in "xX" else int(entity[2:-1])
            character = chr(code) if code <= sys.maxunicode else entity
        replacement = self[entity] = character + FILLER * (len(entity) - len(character))
        return replacement

    def replacement(self, found: re.Match[str]) -> str:
        """Return the replacement of a matched entity. Cached: most entities occur many times."""
        return self[found[0]]


def _join_letters(run: str) -> str:
    """Join single letters into words; a word ends at a wider gap or after a known word."""
    letters = run.translate(_WITHOUT_MARKS).lower()
    if letters.isascii() and not any(word in letters for word in _TELLING_WORDS):
        return run
    if run[1::2] == run[1] * (len(letters) - 1):
        # A fast path for identical gaps: runs can be long.
        parts = _WORDS.split(letters)
        parts[1::2] = [f"{word} " for word in parts[1::2]]
        spaced = FILLER.join("".join(parts).removesuffix(" "))
        return spaced.replace(f"{FILLER} {FILLER}", " ")
    positions = [offset for offset, character in enumerate(run) if character not in _BETWEEN]
    joined = [FILLER] * len(run)
    for position in positions:
        joined[position] = run[position]
    for word in _WORDS.finditer(letters):
        if word.end() < len(positions):
            joined[positions[word.end() - 1] + 1] = " "
    for gap in (_WIDE_AMONG_MARKS if _MARK.search(run) else _WIDE).finditer(run):
        joined[gap.start()] = " "
    return "".join(joined)


@cache
def _spaced_letters_expression() -> Re2Expression:
    """Match a run of spaced-out letters; a fast check, since most texts have none."""
    letter = r"[\pL\p{Nl}\p{No}]"
    return compile_expression(rf"(?:^|\PL){letter}(?:[ .*_-]{{1,4}}{letter}){{5}}(?:\PL|$)")
