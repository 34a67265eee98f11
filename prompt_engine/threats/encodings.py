"""Instructions written in base64: models read it as fluently as English.

Looked into only when a telling word in base64 stands in the text, and one level deep. Other
encodings (rot13, hex) are left alone: a model needs to be told to decode them, and that sentence
is a finding of its own.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from prompt_engine.threats.engine import Expression, compiled

TELLING_WORDS = (
    "ignore", "disregard", "forget", "override", "instruction", "system prompt", "the user",
    "previous", "restrictions", "guidelines",
)  # fmt: skip

_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}+")
_URL_SAFE = str.maketrans("-_", "+/")
_BOUNDARY = "\n\x1e\n"
_ENCODED_BOUNDARY = "Ch4K"


@dataclass(frozen=True, slots=True)
class Decoded:
    """All runs of base64, decoded into one text, and where each of them begins."""

    text: str
    starts: tuple[int, ...]

    def origin(self, at: int) -> int:
        """Return where the run begins that the character `at` of the text comes from."""
        run = self.text.count(_BOUNDARY, 0, at)
        return self.starts[min(run, len(self.starts) - 1)]


def decoded(text: str) -> Decoded | None:
    """Return what the text says in base64; None when there is no telling word in it.

    All runs are decoded at once: a text can hold tens of thousands of them.
    """
    if _fragments().search(text.encode(errors="replace")) is None:
        return None
    runs = list(_RUN.finditer(text))
    raw = b64decode(_ENCODED_BOUNDARY.join(_padded(run[0]) for run in runs).translate(_URL_SAFE))
    said = raw.decode(errors="replace")
    return Decoded(said, tuple(run.start() for run in runs)) if runs else None


def _padded(run: str) -> str:
    """Fill the last group of four with zero bits; a single character in it says nothing."""
    over = len(run) % 4
    return run[:-1] if over == 1 else run + "A" * (-over % 4)


@cache
def _fragments() -> Expression:
    """Match what a telling word looks like in base64, at each of the three ways it can fall."""
    spellings = {
        spelling
        for word in TELLING_WORDS
        for spelling in (word, word.capitalize(), word.title(), word.upper())
    }
    return compiled("|".join(sorted({part for each in spellings for part in _encoded(each)})))


def _encoded(word: str) -> Iterator[str]:
    """Yield the characters that are the same whatever stands before and behind the word."""
    for before in range(3):
        raw = b"\0" * before + word.encode()
        aligned = raw[: len(raw) // 3 * 3]
        characters = binascii.b2a_base64(aligned, newline=False).decode()
        yield re.escape(characters[(0, 2, 3)[before] :])
