"""What an editor leaves on disk, put right: newlines, byte order mark, encoding, mode. It blocks.

Its text is left alone: an editor may format what it saves.
"""

from acp_server.tools.files.disk import MAX_BYTES, read_disk, replace
from acp_server.tools.files.encoding import TextForm, decode, encode, with_newline
from acp_server.tools.files.errors import BinaryFileError, HugeFileError
from acp_server.tools.files.paths import Place
from acp_server.tools.files.snapshot import OnDisk, Snapshot, digest_of


def encoded(text: str, form: TextForm, place: Place) -> bytes:
    """Return the bytes of a text that is to be written.

    Raises:
        EncodingError: the file's encoding lacks a character.
        BinaryFileError: it would be no text any more.
        HugeFileError: it would be too large to be read again.
    """
    data = encode(text, form, place.given)
    if len(data) > MAX_BYTES:
        raise HugeFileError(place.given, len(data), "write it in parts, or by a command")
    if "\0" in text:  # which could even be read again, as another encoding
        raise BinaryFileError(place.given, "binary data")
    decode(data, place.given)
    return data


def mend(
    place: Place, text: str, form: TextForm, base: Snapshot | None
) -> tuple[OnDisk | None, bool]:
    """Put right what the editor made of a write; return what is on disk, and whether it was mended.

    `base` is what was there before. An editor that has not touched the disk keeps the text in its
    buffer, which is its right.

    Raises:
        FileError: the disk cannot be read or written.
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
    """Return the bytes of the text that was found, stored as the file was before.

    Where a file mixes newlines, nobody knows which ones a text that the editor changed should have.
    """
    plain = with_newline(found.text, "\n")
    if plain == with_newline(text, "\n"):
        return encode(text, form)
    return encode(found.text, found.form) if form.newline is None else encode(plain, form)
