"""Repairs files after an editor saved them: newlines, byte order mark, encoding, mode. It blocks.

The saved text itself is not changed: an editor may format on save.
"""

from acp_server.tools.files.disk import MAX_BYTES, read_disk, replace
from acp_server.tools.files.encoding import TextForm, decode, encode, with_newline
from acp_server.tools.files.errors import BinaryFileError, HugeFileError
from acp_server.tools.files.paths import Place
from acp_server.tools.files.snapshot import OnDisk, Snapshot, digest_of


def encoded(text: str, form: TextForm, place: Place) -> bytes:
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


def mend(
    place: Place, text: str, form: TextForm, base: Snapshot | None
) -> tuple[OnDisk | None, bool]:
    """Repair the file on disk after a write through the editor.

    `base` is the file before the write. If the disk is unchanged, the editor keeps the text in its
    buffer, unsaved, which is allowed; then nothing is repaired.

    Returns the file on disk, and whether it was repaired.

    Raises:
        FileError: The disk cannot be read or written.
    """
    found = read_disk(place)
    before = base.disk_digest if base else None
    if found is None or found.digest == before:
        return found, False
    data = _as_it_should_be(found, text, form)
    mode = base.mode if base and before else found.mode
    if digest_of(data) == found.digest and mode == found.mode:
        return found, False
    replace(place, data, found.digest, mode)
    return read_disk(place), True


def _as_it_should_be(found: OnDisk, text: str, form: TextForm) -> bytes:
    """Return the bytes that the file should have: the saved text in the file's previous form.

    If the file mixes newlines and the editor changed the text, the right newlines are unknown, so
    those of the saved file are kept.
    """
    plain = with_newline(found.text, "\n")
    if plain == with_newline(text, "\n"):
        return encode(text, form)
    return encode(found.text, found.form) if form.newline is None else encode(plain, form)
