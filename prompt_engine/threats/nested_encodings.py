"""Decodes base64 and hexadecimal text in the files of a skill, nested up to two levels.

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
    """Return the decoded pieces, each with the line where its run starts.

    Pieces nested in another piece inherit its line.
    """
    found: list[tuple[int, str]] = []
    waiting = [(0, text)]
    budget = MAX_CHARACTERS
    for _ in range(_DEPTH):
        pieces: list[tuple[int, str]] = []
        for line, source in waiting:
            position, seen = 0, 1
            for run in _BASE64.finditer(source):
                budget -= len(run[0])
                if budget < 0 or len(pieces) >= MAX_RUNS:
                    break
                seen += source.count("\n", position, run.start())
                position = run.start()
                if (decoded := _decode_run(run[0])) is not None:
                    pieces.append((line or seen, decoded))
        found += pieces
        waiting = pieces
    return found


def _decode_run(run: str) -> str | None:
    """Decode as hexadecimal if possible, else as base64; return None if it is no readable text."""
    characters = run.translate(_URL_SAFE)
    if _HEXADECIMAL.fullmatch(characters):
        data = binascii.unhexlify(characters[: len(characters) // 2 * 2])
    else:
        complete = characters[: len(characters) - (len(characters) % 4 == 1)]
        data = b64decode(complete + "=" * (-len(complete) % 4))
    # Every other byte is zero in UTF-16, which encoded PowerShell commands use.
    is_utf_16 = data[1::2].count(0) > len(data) // 4
    text = data.decode("utf-16-le" if is_utf_16 else "utf-8", errors="replace")
    if len(text) < _MIN_CHARACTERS or len(_READABLE.findall(text)) < _READABLE_SHARE * len(text):
        return None
    return text
