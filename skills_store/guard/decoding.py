"""Decodes base64 and hexadecimal text, nested up to two levels. Independent of the rules.

Only readable results are kept. The amount decoded is limited, so that a file of nothing but
encoded text takes no longer than others.
"""

import binascii
import re
from base64 import b64decode

MAX_CHARACTERS = 512 * 1024
"""Maximum encoded characters that are tried, of all runs together."""
MAX_RUNS = 4_000
_DEPTH = 2
_READABLE_SHARE = 0.9
_MIN_CHARACTERS = 16

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}(?:\n[A-Za-z0-9+/_-]{20,}={0,2})*")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_URL_SAFE = str.maketrans("-_", "+/", "=\n")
_READABLE = re.compile(r"[\t\n\r -~\u00a0-\ud7ff\ue000-\ufffc]")


def decode_hidden_text(text: str) -> list[tuple[int, str]]:
    """Return the decoded pieces, each with the line where its run starts."""
    found: list[tuple[int, str]] = []
    waiting = [(0, text)]
    budget = MAX_CHARACTERS
    for _ in range(_DEPTH):
        pieces: list[tuple[int, str]] = []
        for line, source in waiting:
            budget = _collect_decoded(source, line, budget, pieces)
        found += pieces
        waiting = pieces
    return found


def _collect_decoded(source: str, line: int, budget: int, pieces: list[tuple[int, str]]) -> int:
    """Decode the runs of one text; return the remaining budget.

    `line` is 0 for the file itself. For a decoded piece it is the line of its run, which all nested
    pieces inherit.
    """
    position, seen = 0, 1
    for run in _BASE64.finditer(source):
        budget -= len(run[0])
        if budget < 0 or len(pieces) >= MAX_RUNS:
            break
        seen += source.count("\n", position, run.start())
        position = run.start()
        decoded = _decode_run(run[0])
        if decoded is not None:
            pieces.append((line or seen, decoded))
    return budget


def _decode_run(run: str) -> str | None:
    characters = run.translate(_URL_SAFE)
    if _HEXADECIMAL.fullmatch(characters):
        data = binascii.unhexlify(characters[: len(characters) // 2 * 2])
    else:
        complete = characters[: len(characters) - (len(characters) % 4 == 1)]
        data = b64decode(complete + "=" * (-len(complete) % 4))
    text = _decode_bytes(data)
    if len(text) < _MIN_CHARACTERS or len(_READABLE.findall(text)) < _READABLE_SHARE * len(text):
        return None
    return text


def _decode_bytes(data: bytes) -> str:
    """Decode as UTF-16 if every other byte is zero (encoded PowerShell commands), else as UTF-8."""
    if data[1::2].count(0) > len(data) // 4:
        return data.decode("utf-16-le", errors="replace")
    return data.decode("utf-8", errors="replace")
