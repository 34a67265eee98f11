"""Converts between text and bytes: encoding, byte order mark, newlines.

Pure functions. A decoded file always encodes to exactly the same bytes again.
"""

import codecs
import io
from collections.abc import Iterator
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.files.errors import BinaryFileError, EncodingError
from acp_server.tools.files.file_types import describe_file_type

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
Newline = Literal["\n", "\r\n", "\r"]

BOM = "\ufeff"
_BOMS: dict[Encoding, bytes] = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}

# Tab, newlines, form feed, backspace and escape occur in texts and logs. The other control
# characters do not: a file with many of them is binary.
_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\b\t\n\f\r\x1b"))
_UPPER_CONTROLS = bytes(range(0x80, 0xA0))
_MIN_BYTES_PER_CONTROL = 20

_MIN_UTF16_CHARACTERS = 3  # shorter files are not recognized as UTF-16 without a byte order mark


@frozen_dataclass
class TextForm:
    """How a text is stored; `newline` is None if the file mixes newlines."""

    encoding: Encoding = "utf-8"
    has_bom: bool = False
    newline: Newline | None = "\n"


def decode(data: bytes, name: str = "this file") -> tuple[str, TextForm]:
    r"""Decode a file and return its text and form; `name` is used in errors.

    Newlines in the text are `\n`; if the file mixes newlines, they are kept as they are.

    Raises:
        BinaryFileError: It is not text.
    """
    for encoding, has_bom, body in _candidates(data):
        text = _try_decode(body, encoding)
        if text is not None:
            newline = detect_newline(text)
            normalized = text if newline is None else text.replace(newline, "\n")
            return normalized, TextForm(encoding, has_bom, newline)
    raise BinaryFileError(name, describe_file_type(data) or "binary data")


def encode(text: str, form: TextForm, name: str = "this file") -> bytes:
    r"""Encode a text in a form; every `\n` becomes the form's newline.

    Raises:
        EncodingError: The encoding lacks one of the text's characters.
    """
    styled = text if form.newline in {None, "\n"} else convert_newlines(text, form.newline)
    try:
        body = styled.encode(form.encoding)
    except UnicodeEncodeError as error:
        line = convert_newlines(styled[: error.start], "\n").count("\n") + 1
        character = styled[error.start]
        raise EncodingError(name, form.encoding, character, line) from None
    return _BOMS[form.encoding] + body if form.has_bom else body


def detect_newline(text: str) -> Newline | None:
    r"""Return the newline that a text uses; `\n` if it has none, None if it mixes several."""
    pairs = text.count("\r\n")
    counts: dict[Newline, int] = {
        "\n": text.count("\n") - pairs,
        "\r\n": pairs,
        "\r": text.count("\r") - pairs,
    }
    used: list[Newline] = [newline for newline, count in counts.items() if count]
    if len(used) > 1:
        return None
    return used[0] if used else "\n"


def split_lines(text: str) -> list[str]:
    r"""Return the lines with their line ends.

    Only `\n` ends a line, unlike in `str.splitlines`: line numbers must agree with those of
    editors, `search_files` and `patch`.
    """
    return io.StringIO(text, newline="\n").readlines()


def convert_newlines(text: str, newline: Newline | None) -> str:
    """Return a text with all newlines converted to one kind; None converts none."""
    if newline is None:
        return text
    normalized = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return normalized if newline == "\n" else normalized.replace("\n", newline)


def _candidates(data: bytes) -> Iterator[tuple[Encoding, bool, bytes]]:
    """Yield candidates, the most likely first: encoding, whether it has a BOM, the bytes after it.

    Every byte sequence is valid Latin-1, so that comes last, and only if no binary type matches.
    """
    for encoding, bom in _BOMS.items():
        if data.startswith(bom):
            yield encoding, True, data[len(bom) :]
    yield "utf-8", False, data
    if utf16_encoding := _detect_utf16(data):
        yield utf16_encoding, False, data
    if describe_file_type(data) is None:
        if data.translate(None, _UPPER_CONTROLS) != data:
            yield "cp1252", False, data
        yield "latin-1", False, data


def _detect_utf16(data: bytes) -> Literal["utf-16-le", "utf-16-be"] | None:
    """Recognize UTF-16 without a BOM: nine of ten high bytes are zero, and no low byte is."""
    even_bytes, odd_bytes = data[::2], data[1::2]
    if len(odd_bytes) < _MIN_UTF16_CHARACTERS or len(even_bytes) != len(odd_bytes):
        return None
    if b"\0" not in even_bytes and odd_bytes.count(0) * 10 >= len(odd_bytes) * 9:
        return "utf-16-le"
    if b"\0" not in odd_bytes and even_bytes.count(0) * 10 >= len(even_bytes) * 9:
        return "utf-16-be"
    return None


def _try_decode(body: bytes, encoding: Encoding) -> str | None:
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        return None
    data = text.encode() if encoding.startswith("utf-16") else body
    controls = _CONTROLS + (_UPPER_CONTROLS if encoding == "latin-1" else b"")
    control_count = len(data) - len(data.translate(None, controls))
    is_text = b"\0" not in data and control_count * _MIN_BYTES_PER_CONTROL <= len(data)
    return text if is_text else None
