"""Restores words with digits and signs for letters, such as `1gn0re`, without moving a byte.

Works on folded text. Only words of a short list are restored, and only those with such a sign, so
that a number or a name stays what it is.
"""

from functools import cache
from itertools import islice

from prompt_engine.threats.engine import Re2Expression, compile_expression

MAX_WORDS = 3000
"""Maximum number of words that are restored; bounds the time for hostile texts."""

_SIGNS = {
    "a": "4@", "b": "8", "e": "3", "g": "96", "i": "1!|", "l": "1|", "o": "0", "s": "5$", "t": "7+",
}  # fmt: skip
_WORDS = (
    "ignore", "disregard", "forget", "override", "bypass", "disable", "disabled", "reveal",
    "repeat", "execute", "follow", "respond", "instead", "pretend", "unrestricted", "developer",
    "everything", "previous", "prior", "earlier", "above", "below", "before", "safety",
    "security", "filters", "system", "prompt", "prompts", "instruction", "instructions", "rules",
    "guidelines", "restrictions", "constraints", "protocols", "directives", "password", "secrets",
    "assistant", "conversation", "admin", "these", "those", "all", "any", "your", "are", "you",
    "not",
)  # fmt: skip


def restore_spelled_words(text: bytes) -> bytes:
    """Return folded text with these words in letters; every byte keeps its offset."""
    restored, words = bytearray(text), _words_by_shape()
    for found in islice(_expression().finditer(text), MAX_WORDS):
        start, end = found.start(), found.end()
        restored[start:end] = words[_shape_of(text[start:end])]
    return bytes(restored)


_SHAPES = bytes.maketrans(b"4@83961!|l05$7+", b"aabeggiiiiosstt")


def _shape_of(word: bytes) -> bytes:
    """Return a word with one letter for all signs that may stand for each other."""
    return word.translate(_SHAPES)


@cache
def _words_by_shape() -> dict[bytes, bytes]:
    return {_shape_of(word): word for word in map(str.encode, _WORDS)}


@cache
def _expression() -> Re2Expression:
    return compile_expression("|".join(wording for word in _WORDS for wording in _spellings(word)))


def _spellings(word: str) -> list[str]:
    """Return expressions for a word with at least one sign, by the place of the first one."""
    any_form = [f"[{letter}{_SIGNS.get(letter, '')}]" for letter in word]
    return [
        f"{word[:place]}[{_SIGNS[letter]}]{''.join(any_form[place + 1 :])}"
        for place, letter in enumerate(word)
        if letter in _SIGNS
    ]
