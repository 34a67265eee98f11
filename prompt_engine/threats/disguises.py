"""Undoes what keeps the letters of a word apart, without moving a single character.

HTML entities, inline tags and emphasis inside words, and words written letter by letter. Every
step returns as many characters as it was given: what is taken out becomes `FILLER`, which folding
drops. So places need no table of their own.
"""

import re
from functools import cache
from html.entities import html5

from prompt_engine.threats.engine import Expression, compiled

FILLER = "\N{SOFT HYPHEN}"

_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));")
_TAG = re.compile(r"</?(?:b|i|u|s|em|strong|code|mark|small|sub|sup|span|wbr)\s{0,3}/?>", re.I)
_EMPHASIS_INSIDE = re.compile(
    r"[*`~](?=[*`~]{0,2}[^\W\d_])"
    r"(?:(?<=[^\W\d_][*`~])|(?<=[^\W\d_][*`~]{2})|(?<=[^\W\d_][*`~]{3}))"
)
_EMPHASIS_AROUND = re.compile(r"_{1,3}(?:(?![^\W_])|(?<![^\W_]_)(?<![^\W_]__)(?<![^\W_]___))")
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
    "ignore|disregard|forget|override|bypass|reveal|print|show|repeat|hide|tell|inform|mention"
    "|everything|every|all|any|each|the|of|my|your|these|those|this|that|and|from|to|do|not"
    "|previous|prior|above|earlier|preceding|safety|security|system|user|instructions?|prompts?"
    "|rules?|guidelines?|directives?|orders?|messages?"
)


def undisguised(text: str) -> str:
    """Return the text with its words whole, every character in its old place."""
    text = text.replace("\\\n", FILLER + " ")  # a command goes on in the next line
    if "&" in text:
        text = _ENTITY.sub(_named_character, text)
    if "<" in text:
        text = _TAG.sub(_filler, text)
    if "_" in text:
        text = _EMPHASIS_AROUND.sub(_filler, text)
    text = _EMPHASIS_INSIDE.sub(FILLER, text)
    if _letters_apart().search(text.encode(errors="replace")):
        text = _LETTERS_APART.sub(lambda found: _joined(found[0]), text)
    return text


def _filler(found: re.Match[str]) -> str:
    return FILLER * (found.end() - found.start())


def _named_character(entity: re.Match[str]) -> str:
    """Return what an entity stands for, as long as it was; an unknown one stays."""
    whole, decimal, hexadecimal, name = entity.group(0, 1, 2, 3)
    if name:
        character = html5.get(f"{name};", whole)
    else:
        code = int(decimal) if decimal else int(hexadecimal, 16)
        character = chr(code) if code <= 0x10FFFF else whole  # noqa: PLR2004  # the last there is
    return character + FILLER * (len(whole) - len(character))


def _joined(run: str) -> str:
    """Join letters that stand alone; words end where a gap is wider, or a known word ends."""
    squeezed = run.translate(_WITHOUT_MARKS).lower()
    if squeezed.isascii() and not any(word in squeezed for word in _TELLING_WORDS):
        return run
    is_tight = len(run) == 2 * len(squeezed) - 1  # then letters and gaps alternate
    places = range(0, len(run), 2) if is_tight else _letter_places(run)
    joined = [FILLER] * len(run)
    for at in places:
        joined[at] = run[at]
    for word in _WORDS.finditer(squeezed):
        if word.end() < len(places):
            joined[places[word.end() - 1] + 1] = " "
    for gap in (_WIDE_AMONG_MARKS if _MARK.search(run) else _WIDE).finditer(run):
        joined[gap.start()] = " "
    return "".join(joined)


def _letter_places(run: str) -> list[int]:
    return [at for at, character in enumerate(run) if character not in _BETWEEN]


@cache
def _letters_apart() -> Expression:
    """Say quickly whether there may be anything to join; most texts have nothing."""
    return compiled(r"\pL(?:[ .*_-]{1,4}\pL){5}")
