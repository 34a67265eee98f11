"""Reads a range of lines, from a text in memory or from a file too large for it. It blocks."""

import dataclasses
import io
from collections.abc import Callable
from typing import BinaryIO, Literal, TextIO

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.files.disk import open_file, stat_file
from acp_server.tools.files.encoding import Newline, TextForm, decode, detect_newline
from acp_server.tools.files.errors import (
    BinaryFileError,
    FileNotReadableError,
    HugeFileError,
    NoSuchFileError,
)
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import FileExcerpt

MAX_STREAM_BYTES = 1024**3
MAX_PART_CHARACTERS = 1024**2
_HEAD_BYTES = 64 * 1024
_BLOCK_CHARACTERS = 256 * 1024
_LONGEST_CHARACTER_BYTES = 4


@frozen_dataclass
class LineRequest:
    """Which lines to read; `check` is called between blocks and may raise to stop the reading."""

    first_line: int
    line_count: int
    check: Callable[[], None]


def extract_lines(text: str, first_line: int, line_count: int) -> FileExcerpt:
    """Return a range of lines of a text in memory, with the total number of lines."""
    excerpt = _read(
        io.StringIO(text, newline="\n"), "\n", LineRequest(first_line, line_count, _no_check)
    )
    total = text.count("\n") + (not text.endswith("\n") and text != "")
    return dataclasses.replace(excerpt, total_lines=total)


def stream_lines(
    resolved: ResolvedPath, first_line: int, line_count: int, check: Callable[[], None]
) -> FileExcerpt:
    """Return a range of lines of a file without loading the rest; `check` is called between blocks.

    Bytes that are invalid in the file's encoding become replacement characters.

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
            return _stream(file, form, LineRequest(first_line, line_count, check))
    except FileNotFoundError:
        raise NoSuchFileError(resolved.raw_path, ()) from None
    except OSError as error:
        raise FileNotReadableError(resolved.raw_path, str(error)) from None


def _stream(file: BinaryIO, form: TextForm, request: LineRequest) -> FileExcerpt:
    line_end = _split_character(form.newline)
    with io.TextIOWrapper(file, form.encoding, errors="replace", newline=line_end) as text:
        text.read(int(form.has_bom))  # skips the byte order mark, one character
        excerpt = _read(text, line_end, request)
    normalized = excerpt.text if form.newline is None else excerpt.text.replace(form.newline, "\n")
    return dataclasses.replace(excerpt, text=normalized)


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


def _split_character(newline: Newline | None) -> Literal["\n", "\r"]:
    r"""Return the character to split lines at.

    For `\r\n` that is `\n` alone: a pair could be torn apart where a long line is cut.
    """
    return "\r" if newline == "\r" else "\n"


def _read(text: TextIO, line_end: str, request: LineRequest) -> FileExcerpt:
    skipped, remainder = _skip(text, line_end, request)
    buffered = io.StringIO(remainder, newline=line_end)
    lines: list[str] = []
    characters_left = MAX_PART_CHARACTERS
    while len(lines) < request.line_count and characters_left > 0:
        line = buffered.readline(characters_left)
        if not line.endswith(line_end):
            line += text.readline(characters_left - len(line))
        if not line:
            break
        lines.append(line)
        characters_left -= len(line)
    has_reached_end = len(lines) < request.line_count and characters_left > 0
    is_cut = characters_left <= 0 and not (
        len(lines) == request.line_count and lines[-1].endswith(line_end)
    )
    total = skipped + len(lines) if has_reached_end else None
    return FileExcerpt("".join(lines), request.first_line, len(lines), total, is_cut)


def _skip(text: TextIO, line_end: str, request: LineRequest) -> tuple[int, str]:
    """Skip the lines before the requested ones.

    Returns the number of skipped lines, and the text that was read beyond them.
    """
    skipped, last_block = 0, line_end
    while (lines_left := request.first_line - 1 - skipped) > 0:
        request.check()
        block = text.read(_BLOCK_CHARACTERS)
        if not block:
            return skipped + (not last_block.endswith(line_end)), ""
        line_count = block.count(line_end)
        if line_count >= lines_left:
            return skipped + lines_left, block.split(line_end, lines_left)[-1]
        skipped, last_block = skipped + line_count, block
    return skipped, ""


def _no_check() -> None:
    """Do nothing: a text in memory is read at once, so there is no need to stop."""
