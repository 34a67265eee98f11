"""Repairs files after an editor saved them: newlines, byte order mark, encoding, mode. It blocks.

The saved text itself is not changed: an editor may format on save.
"""

from acp_server.tools.files.disk import MAX_BYTES, read_text_file, replace
from acp_server.tools.files.encoding import TextForm, convert_newlines, decode, encode
from acp_server.tools.files.errors import BinaryFileError, HugeFileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import DiskFile, FileSnapshot, bytes_digest


def encode_checked(text: str, form: TextForm, resolved: ResolvedPath) -> bytes:
    """Encode a text for writing, and make sure that the file could be read again.

    Raises:
        EncodingError: The file's encoding lacks a character.
        BinaryFileError: The file would no longer be recognized as text.
        HugeFileError: The file would be too large to be read again.
    """
    data = encode(text, form, resolved.raw_path)
    if len(data) > MAX_BYTES:
        raise HugeFileError(resolved.raw_path, len(data), "write it in parts, or by a command")
    if "\0" in text:  # must be checked here: it may decode without an error, as UTF-16
        raise BinaryFileError(resolved.raw_path, "binary data")
    decode(data, resolved.raw_path)
    return data


def repair(
    resolved: ResolvedPath, text: str, form: TextForm, base: FileSnapshot | None
) -> DiskFile | None:
    """Repair the file on disk after a write through the editor.

    `base` is the file before the write. If the disk is unchanged, the editor keeps the text in its
    buffer, unsaved, which is allowed; then nothing is repaired.

    Returns the file on disk.

    Raises:
        FileError: The disk cannot be read or written.
    """
    disk_file = read_text_file(resolved)
    previous_digest = base.disk_digest if base else None
    if disk_file is None or disk_file.digest == previous_digest:
        return disk_file
    # The bytes that the file should have: the saved text in the file's previous form. If the file
    # mixes newlines and the editor changed the text, the right newlines are unknown, so those of
    # the saved file are kept.
    normalized = convert_newlines(disk_file.text, "\n")
    if normalized == convert_newlines(text, "\n"):
        data = encode(text, form)
    elif form.newline is None:
        data = encode(disk_file.text, disk_file.form)
    else:
        data = encode(normalized, form)
    mode = base.mode if base and previous_digest else disk_file.mode
    if bytes_digest(data) == disk_file.digest and mode == disk_file.mode:
        return disk_file
    replace(resolved, data, disk_file.digest, mode)
    return read_text_file(resolved)
