"""Views of a skill's file: as written, without obfuscation, and decoded.

Every view maps back to line numbers of the file. Independent of the patterns.
"""

import codecs
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from prompt_engine.threats.nested_encodings import decode_hidden_text
from prompt_engine.threats.shell_disguises import undo_disguises

_STYLED = re.compile("[\uff01-\uff5e\u2100-\u214f\U0001d400-\U0001d7ff\ufb00-\ufb06]{1,1000}")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]{1,1000}"
)
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u04bb\u0501\u0261\u03bf\u03b1\u03bd"
    "\u0131\u0410\u0415\u041e\u0420\u0421\u0422\u041d\u041a\u041c\u0412",
    "aeopcyxishdgoaviAEOPCTHKMB",
)
_LOOK_ALIKE_LETTERS = "".join(map(chr, _LOOK_ALIKES))
_BETWEEN_LETTERS = re.compile(
    f"(?<=[A-Za-z])[{_LOOK_ALIKE_LETTERS}]{{1,8}}|[{_LOOK_ALIKE_LETTERS}]{{1,8}}(?=[A-Za-z])"
)
_CONTINUED = re.compile(r"[\\^`][ \t]{0,8}\n")
_REVERSING_WORDS = ("| rev", "|rev", "[::-1]", "reverse", "strrev")
_ROTATING_WORDS = ("rot13", "rot_13", "n-za-m")
_BLOCK_BYTES = 4096
_MAX_LINE_BYTES = 500
"""In bytes. A longer line is cut, which bounds patterns that match words far apart."""
_OVERLAP = 200
_CUT_MARK = b"\r\n"
_LONG_LINE = re.compile(rb"[^\n]{500}[^\n]+")
_TELLING_INVISIBLE = re.compile(
    "[\u202a-\u202e\u2066-\u2069]|[\U000e0000-\U000e007f]{4}"
    "|(?<=[A-Za-z ])[\u200b\u2060-\u2064\u180e\u3164](?=[A-Za-z ])"
)


@dataclass(frozen=True, slots=True)
class TextView:
    """View of a file in UTF-8, with the file's line number for each of its parts."""

    data: bytes
    starts: tuple[int, ...]
    lines: tuple[int, ...]
    is_decoded: bool = False
    """Whether the text is not visible when reading the file."""
    has_lines: bool = True
    """Whether line ends within a part are line ends of the file."""

    def line_at(self, offset: int) -> int:
        """Return the file's line, counted from 1, that a byte comes from."""
        part = bisect_right(self.starts, offset) - 1
        newlines = _line_ends(self.data, self.starts[part], offset) if self.has_lines else 0
        return self.lines[part] + newlines


def text_views(text: str) -> Iterator[TextView]:
    """Yield every view of a text; the first is the least processed."""
    normalized = _normalize(text)
    yield _line_view(normalized)
    undisguised = undo_disguises(normalized)
    if undisguised != normalized:
        yield _line_view(undisguised)
    lowered = normalized.lower()
    if any(word in lowered for word in _REVERSING_WORDS):
        yield _line_view("\n".join(line[::-1] for line in normalized.split("\n")), is_decoded=True)
    if any(word in lowered for word in _ROTATING_WORDS):
        yield _line_view(codecs.encode(normalized, "rot13"), is_decoded=True)
    if decoded := decode_hidden_text(normalized):
        pieces = [
            _cut_long_lines(_normalize(piece).encode(errors="replace")) + b"\n"
            for _, piece in decoded
        ]
        starts = accumulate((len(piece) for piece in pieces[:-1]), initial=0)
        lines = tuple(line for line, _ in decoded)
        data = b"".join(pieces)
        yield TextView(data, tuple(starts), lines, is_decoded=True, has_lines=False)


def hidden_line(text: str) -> int:
    """Return the first line with characters that hide or reorder text; 0 if there is none.

    A byte order mark, and joiners in emoji and in scripts that need them, do not count.
    """
    found = None if text.isascii() else _TELLING_INVISIBLE.search(text, 1)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _normalize(text: str) -> str:
    """Normalise styled and look-alike letters, invisible characters and line continuations."""
    if not text.isascii():
        text = _INVISIBLE.sub(_decode_tags, text)
        text = _STYLED.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
        text = _BETWEEN_LETTERS.sub(lambda found: found[0].translate(_LOOK_ALIKES), text)
    return _CONTINUED.sub("\f", text)


def _decode_tags(run: re.Match[str]) -> str:
    """Return the ASCII text that tag characters encode; other characters are dropped."""
    codes = (ord(character) - 0xE0000 for character in run[0])
    return "".join(chr(code) for code in codes if 0x20 <= code < 0x7F)  # noqa: PLR2004  # ASCII


def _line_view(text: str, *, is_decoded: bool = False) -> TextView:
    """Return a view with the file's lines; a continued line counts as two."""
    data = _cut_long_lines(text.encode(errors="replace"))
    starts = range(0, max(len(data), 1), _BLOCK_BYTES)
    lines = accumulate(
        (_line_ends(data, start, start + _BLOCK_BYTES) for start in starts[:-1]), initial=1
    )
    return TextView(data, tuple(starts), tuple(lines), is_decoded)


def _line_ends(data: bytes, start: int, end: int) -> int:
    """Count the file's line ends in a range, without inserted cuts."""
    ends = data.count(b"\n", start, end) + data.count(b"\f", start, end)
    return ends - data.count(_CUT_MARK, start, end)


def _cut_long_lines(data: bytes) -> bytes:
    """Cut long lines into overlapping pieces: each short command is whole in one of them."""

    def cut(found: re.Match[bytes]) -> bytes:
        line = found[0]
        starts = range(0, len(line) - _OVERLAP, _MAX_LINE_BYTES - _OVERLAP)
        return _CUT_MARK.join(line[start : start + _MAX_LINE_BYTES] for start in starts)

    return _LONG_LINE.sub(cut, data)
