"""Files of an edit as the checkpoints record them, before and after a change."""

from pathlib import Path

from acp_server.checkpoints.files import FileImage, read_file_image
from acp_server.checkpoints.turn_recorder import TouchedFile
from acp_server.tools.files.encoding import encode
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import FileSnapshot


def written_file(resolved: ResolvedPath, snapshot: FileSnapshot | None) -> TouchedFile:
    """Return a file that is written, as it is before or after the write; links are followed."""
    return _touched_file(resolved.real, snapshot)


def file_to_remove(resolved: ResolvedPath, base: FileSnapshot | None) -> TouchedFile:
    """Return a file as it is before it is deleted or moved; of a link, the link. It blocks."""
    try:
        found = read_file_image(resolved.entry_path)
    except OSError:
        found = None
    if found is not None and found.kind == "link":
        return TouchedFile(resolved.entry_path, found)
    return _touched_file(resolved.entry_path, base)


def removed_file(resolved: ResolvedPath) -> TouchedFile:
    """Return a file that was deleted or moved away: its path, with no file there."""
    return TouchedFile(resolved.entry_path, None)


def original_of(snapshot: FileSnapshot) -> FileImage:
    """Return a text file as bytes: those on disk, or those it would have once it is saved."""
    return FileImage("file", encode(snapshot.text, snapshot.form), snapshot.mode)


def _touched_file(path: Path, snapshot: FileSnapshot | None) -> TouchedFile:
    if snapshot is None:
        return TouchedFile(path, None)
    return TouchedFile(path, original_of(snapshot), is_buffer=not snapshot.is_saved)
