"""Detects instructions in base64, which models read as fluently as English.

Decodes only if the text contains a telling word in base64, and one level deep. Other encodings
(rot13, hex) are ignored: a model must be told to decode them, and that sentence is a finding of its
own.
"""

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from functools import cache

from prompt_engine.threats.engine import Re2Expression, compile_expression

TELLING_WORDS = (
    "ignore", "disregard", "forget", "override", "instruction", "system prompt", "the user",
    "previous", "restrictions", "guidelines",
)  # fmt: skip

_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}+")
_URL_SAFE = str.maketrans("-_", "+/")
_BOUNDARY = "\n\x1e\n"
_ENCODED_BOUNDARY = "Ch4K"


@dataclass(frozen=True, slots=True)
class DecodedRuns:
    """All base64 runs, decoded into one text, with the offset of each run."""

    text: str
    starts: tuple[int, ...]

    def origin(self, offset: int) -> int:
        """Return the start of the run that the decoded character at `offset` comes from."""
        run = self.text.count(_BOUNDARY, 0, offset)
        return self.starts[min(run, len(self.starts) - 1)]


def decode_base64(text: str) -> DecodedRuns | None:
    """Decode the base64 runs of a text; return None if it contains no telling word in base64.

    All runs are decoded at once: a text can contain tens of thousands.
    """
    if _encoded_words_expression().search(text.encode(errors="replace")) is None:
        return None
    runs = list(_RUN.finditer(text))
    raw = b64decode(_ENCODED_BOUNDARY.join(_pad(run[0]) for run in runs).translate(_URL_SAFE))
    decoded = raw.decode(errors="replace")
    return DecodedRuns(decoded, tuple(run.start() for run in runs)) if runs else None


def _pad(run: str) -> str:
    """Pad the last group of four with zero bits; a single leftover character carries no byte."""
    remainder = len(run) % 4
    return run[:-1] if remainder == 1 else run + "A" * (-remainder % 4)


@cache
def _encoded_words_expression() -> Re2Expression:
    """Match the base64 forms of the telling words, at each of the three byte alignments."""
    spellings = {
        spelling
        for word in TELLING_WORDS
        for spelling in (word, word.capitalize(), word.title(), word.upper())
    }
    forms: set[str] = set()
    for spelling in spellings:
        for padding, dependent_characters in enumerate((0, 2, 3)):
            raw = b"\0" * padding + spelling.encode()
            encoded = b64encode(raw[: len(raw) // 3 * 3]).decode()
            # Without the characters that depend on the bytes before the word.
            forms.add(re.escape(encoded[dependent_characters:]))
    return compile_expression("|".join(sorted(forms)))
