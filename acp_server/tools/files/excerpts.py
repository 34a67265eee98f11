"""Reads a range of lines of a file that is too large to be read in one piece. It blocks."""

import io
from collections.abc import Callable
from typing import TextIO

from acp_server.tools.files.disk import open_file, stat_file
from acp_server.tools.files.encoding import TextForm, decode, detect_newline
from acp_server.tools.files.errors import (
    BinaryFileError,
    FileNotReadableError,
    HugeFileError,
    NoSuchFileError,
)
from acp_server.tools.files.paths import ResolvedPath

MAX_STREAM_BYTES = 1024**3
MAX_PART_CHARACTERS = 1024**2
_HEAD_BYTES = 64 * 1024
_BLOCK_CHARACTERS = 256 * 1024
_LONGEST_CHARACTER_BYTES = 4


def stream_lines(
    resolved: ResolvedPath, first_line: int, line_count: int, check: Callable[[], None]
) -> tuple[str, int | None]:
    """Return a range of lines of a file without loading the rest; the first line is 1.

    Also returns the number of all lines, None if the end was not reached. Bytes that are invalid in
    the file's encoding become replacement characters. `check` is called between blocks and may
    raise to stop the reading.

    Raises:
        FileError: It is not text, does not exist, or is larger than `MAX_STREAM_BYTES`.
    """
    status = stat_file(resolved)
    if status is not None and status.st_size > MAX_STREAM_BYTES:
        raise HugeFileError(resolved.raw_path, status.st_size, "cut it by a command")
    try:
        with open_file(resolved) as file:
            form = _detect_form(file.read(_HEAD_BYTES), resolved.raw_path)
            file.seek(0)
            # For `\r\n`, lines are split at `\n` alone: a pair could be torn apart where a long
            # line is cut.
            line_end = "\r" if form.newline == "\r" else "\n"
            with io.TextIOWrapper(file, form.encoding, errors="replace", newline=line_end) as text:
                text.read(int(form.has_bom))  # skips the byte order mark, one character
                skipped, remainder = _skip(text, line_end, first_line - 1, check)
                lines, has_reached_end = _read(text, line_end, remainder, line_count)
    except FileNotFoundError:
        raise NoSuchFileError(resolved.raw_path, ()) from None
    except OSError as error:
        raise FileNotReadableError(resolved.raw_path, str(error)) from None
    excerpt = "".join(lines)
    excerpt = excerpt if form.newline is None else excerpt.replace(form.newline, "\n")
    return excerpt, skipped + len(lines) if has_reached_end else None


def _detect_form(head: bytes, name: str) -> TextForm:
    """Return the text form of a file from its first bytes.

    The bytes may end in the middle of a character or of a newline pair.
    """
    for cut_bytes in range(_LONGEST_CHARACTER_BYTES):
        try:
            text, form = decode(head[: len(head) - cut_bytes], name)
        except BinaryFileError:
            continue
        if form.encoding.startswith("utf"):
            newline = form.newline or detect_newline(text.removesuffix("\r"))
            return TextForm(form.encoding, form.has_bom, newline)
    return decode(head, name)[1]


def _read(text: TextIO, line_end: str, remainder: str, line_count: int) -> tuple[list[str], bool]:
    """Read lines from the remainder and then from the file, up to `MAX_PART_CHARACTERS`.

    Returns the lines, and whether the end of the file was reached.
    """
    buffered = io.StringIO(remainder, newline=line_end)
    lines: list[str] = []
    characters_left = MAX_PART_CHARACTERS
    while len(lines) < line_count and characters_left > 0:
        line = buffered.readline(characters_left)
        if not line.endswith(line_end):
            line += text.readline(characters_left - len(line))
        if not line:
            break
        lines.append(line)
        characters_left -= len(line)
    return lines, len(lines) < line_count and characters_left > 0


def _skip(
    text: TextIO, line_end: str, line_count: int, check: Callable[[], None]
) -> tuple[int, str]:
    """Skip lines.

    Returns the number of skipped lines, and the text that was read beyond them.
    """
    skipped, last_block = 0, line_end
    while (lines_left := line_count - skipped) > 0:
        check()
        block = text.read(_BLOCK_CHARACTERS)
        if not block:
            return skipped + (not last_block.endswith(line_end)), ""
        block_lines = block.count(line_end)
        if block_lines >= lines_left:
            return skipped + lines_left, block.split(line_end, lines_left)[-1]
        skipped, last_block = skipped + block_lines, block
    return skipped, ""
