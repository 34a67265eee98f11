"""Repairs files after an editor saved them: newlines, byte order mark, encoding, mode. It blocks.

The saved text itself is not changed: an editor may format on save.
"""

from acp_server.tools.files.disk import MAX_BYTES, read_text_file, replace
from acp_server.tools.files.encoding import TextForm, convert_newlines, decode, encode
from acp_server.tools.files.errors import BinaryFileError, HugeFileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import DiskFile, FileSnapshot, bytes_digest


def encode_checked(text: str, form: TextForm, place: ResolvedPath) -> bytes:
    """Encode a text for writing, and make sure that the file could be read again.

    Raises:
        EncodingError: The file's encoding lacks a character.
        BinaryFileError: The file would no longer be recognized as text.
        HugeFileError: The file would be too large to be read again.
    """
    data = encode(text, form, place.given)
    if len(data) > MAX_BYTES:
        raise HugeFileError(place.given, len(data), "write it in parts, or by a command")
    if "\0" in text:  # must be checked here: it may decode without an error, as UTF-16
        raise BinaryFileError(place.given, "binary data")
    decode(data, place.given)
    return data


def repair(
    place: ResolvedPath, text: str, form: TextForm, base: FileSnapshot | None
) -> tuple[DiskFile | None, bool]:
    """Repair the file on disk after a write through the editor.

    `base` is the file before the write. If the disk is unchanged, the editor keeps the text in its
    buffer, unsaved, which is allowed; then nothing is repaired.

    Returns the file on disk, and whether it was repaired.

    Raises:
        FileError: The disk cannot be read or written.
    """
    found = read_text_file(place)
    before = base.disk_digest if base else None
    if found is None or found.digest == before:
        return found, False
    data = _expected_bytes(found, text, form)
    mode = base.mode if base and before else found.mode
    if bytes_digest(data) == found.digest and mode == found.mode:
        return found, False
    replace(place, data, found.digest, mode)
    return read_text_file(place), True


def _expected_bytes(found: DiskFile, text: str, form: TextForm) -> bytes:
    """Return the bytes that the file should have: the saved text in the file's previous form.

    If the file mixes newlines and the editor changed the text, the right newlines are unknown, so
    those of the saved file are kept.
    """
    plain = convert_newlines(found.text, "\n")
    if plain == convert_newlines(text, "\n"):
        return encode(text, form)
    return encode(found.text, found.form) if form.newline is None else encode(plain, form)
