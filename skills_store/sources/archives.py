"""Unpack an archive of skills: plain files only, inside the target, within size limits.

No library writes files: each one is read, counted and written here. Links, devices, absolute paths,
duplicate names and passwords cause the whole archive to be rejected.
"""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from typing_extensions import Buffer

from skills_store.sources.errors import ArchiveRefusedError

MAX_ENTRIES = 5_000
MAX_BYTES = 64 * 1024 * 1024
"""Limit for the unpacked size of all files together."""
MAX_PACKED_BYTES = 32 * 1024 * 1024
_MAX_NAME_CHARACTERS = 400
_CHUNK_BYTES = 64 * 1024
_FILE_MODE = 0o644
_EXECUTABLE_MODE = 0o755
_EXECUTE_BITS = 0o111
_ENCRYPTED = 0x1
_UNPACK_ERRORS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError,
    NotImplementedError, UnicodeError, ValueError, RuntimeError, OSError,
)  # fmt: skip
"""Exceptions that the libraries raise for damaged archives or other file types."""


@dataclass(frozen=True, slots=True)
class _ArchiveMember:
    """A file of an archive. Read it before the next one, which closes its stream."""

    name: str
    is_executable: bool
    content: IO[bytes]


class _LimitedStream(io.RawIOBase):
    """A decompressed stream that raises once more than `MAX_BYTES` were read."""

    def __init__(self, stream: gzip.GzipFile, archive: Path) -> None:
        self._stream = stream
        self._archive = archive
        self._remaining_bytes = MAX_BYTES

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer and return the number of bytes."""
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        self._remaining_bytes -= len(data)
        if self._remaining_bytes < 0:
            raise _too_large(self._archive)
        view[: len(data)] = data
        return len(data)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive (.zip, .tar.gz, .tgz) into an empty directory. Blocks.

    Raises:
        ArchiveRefusedError: It has content that is not allowed; the directory may be incomplete.
        OSError: A file cannot be written.
    """
    if archive.stat().st_size > MAX_PACKED_BYTES:
        raise _too_large(archive)
    seen: set[str] = set()
    remaining_bytes = MAX_BYTES
    entries = (
        _zip_entries(archive) if archive.name.lower().endswith(".zip") else _tar_entries(archive)
    )
    for entry in _translate_errors(entries, archive):
        name = _checked_name(entry.name, archive)
        # On a case-insensitive system the second file would overwrite the first one.
        if name.casefold() in seen:
            raise ArchiveRefusedError(str(archive), f"two of its files are named {name!r}")
        seen.add(name.casefold())
        data = _read_entry(entry, remaining_bytes, archive)
        remaining_bytes -= len(data)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Exclusive: never write through an existing file or link.
        with path.open("xb") as file:
            file.write(data)
        path.chmod(_EXECUTABLE_MODE if entry.is_executable else _FILE_MODE)


def _translate_errors(entries: Iterator[_ArchiveMember], archive: Path) -> Iterator[_ArchiveMember]:
    """Yield the entries; errors of the archive libraries become `ArchiveRefusedError`."""
    for _ in range(MAX_ENTRIES):
        try:
            entry = next(entries)
        except StopIteration:
            return
        except ArchiveRefusedError:
            raise
        except _UNPACK_ERRORS as error:
            raise ArchiveRefusedError(str(archive), f"it cannot be unpacked: {error}") from error
        yield entry
    raise ArchiveRefusedError(str(archive), f"it contains more than {MAX_ENTRIES} files")


def _zip_entries(archive: Path) -> Iterator[_ArchiveMember]:
    with zipfile.ZipFile(archive) as packed:
        for item in packed.infolist():
            mode = item.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _refused_kind(archive, item.filename)
            if item.flag_bits & _ENCRYPTED:
                raise ArchiveRefusedError(str(archive), "it is protected with a password")
            if not item.is_dir():
                with packed.open(item) as content:
                    yield _ArchiveMember(item.filename, bool(mode & _EXECUTE_BITS), content)


def _tar_entries(archive: Path) -> Iterator[_ArchiveMember]:
    with gzip.open(archive) as stream:
        # Count below tarfile: it also decompresses the headers and files that it skips.
        limited_stream = io.BufferedReader(_LimitedStream(stream, archive))
        with tarfile.open(fileobj=limited_stream, mode="r|") as packed:
            for item in packed:
                content = packed.extractfile(item) if item.isreg() else None
                if content is not None:
                    yield _ArchiveMember(item.name, bool(item.mode & _EXECUTE_BITS), content)
                elif not item.isdir():
                    raise _refused_kind(archive, item.name)


def _checked_name(name: str, archive: Path) -> str:
    parts = name.removeprefix("./").split("/")
    is_invalid = any(part in {"", ".", ".."} or part[-1] in ". " for part in parts)
    if is_invalid or "\\" in name or ":" in name or not name.isprintable():
        raise ArchiveRefusedError(
            str(archive), f"it contains a file outside its directory: {name!r}"
        )
    if len(name) > _MAX_NAME_CHARACTERS:
        raise ArchiveRefusedError(str(archive), "it contains a file whose name is too long")
    return "/".join(parts)


def _read_entry(entry: _ArchiveMember, max_bytes: int, archive: Path) -> bytes:
    """Return a file's content. Counts the bytes read and ignores the size in the header."""
    data = bytearray()
    try:
        while chunk := entry.content.read(_CHUNK_BYTES):
            data += chunk
            if len(data) > max_bytes:
                raise _too_large(archive)
    except ArchiveRefusedError:
        raise
    except _UNPACK_ERRORS as error:
        raise ArchiveRefusedError(str(archive), f"it cannot be unpacked: {error}") from error
    return bytes(data)


def _too_large(archive: Path) -> ArchiveRefusedError:
    return ArchiveRefusedError(str(archive), f"it contains more than {MAX_BYTES} bytes")


def _refused_kind(archive: Path, name: str) -> ArchiveRefusedError:
    return ArchiveRefusedError(str(archive), f"it contains a link or a device: {name!r}")
