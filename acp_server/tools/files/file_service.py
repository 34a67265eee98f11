"""Reads and writes the files of one session, through the editor if possible, else on disk.

Owns the file locks. Callers must have asked for permission before; this module knows neither
permissions nor diffs. No call blocks the event loop.
"""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar, TypeVarTuple, Unpack

import anyio
from anyio import from_thread, to_thread

from acp_server.checkpoints.files import FileImage, read_file_image, replace_file
from acp_server.session.ports.editor import EditorError, EditorPort
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.files import disk
from acp_server.tools.files.buffers import EditorBuffers
from acp_server.tools.files.encoding import TextForm, decode
from acp_server.tools.files.errors import (
    EditorWriteError,
    FileChangedError,
    FileError,
    FileNotWritableError,
    NoSuchFileError,
)
from acp_server.tools.files.excerpts import stream_lines
from acp_server.tools.files.keyed_locks import KeyedLocks
from acp_server.tools.files.paths import ResolvedPath, follow_links, lock_key, resolve_path
from acp_server.tools.files.repair import encode_checked, repair
from acp_server.tools.files.similar_files import find_similar_files
from acp_server.tools.files.snapshot import (
    FileSnapshot,
    describe_change,
    disk_snapshot,
)

EDITOR_TIMEOUT_SECONDS = 30.0
_MAX_THREADS = 8

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class FileService:
    """Reads and writes the files of one session."""

    def __init__(
        self,
        workspace: SessionWorkspace,
        editor: EditorPort,
        home: Path,
        editor_timeout_seconds: float = EDITOR_TIMEOUT_SECONDS,
    ) -> None:
        """Create it; `~` means `home`, `editor_timeout_seconds` limits editor requests."""
        self._workspace = workspace
        self._home = home
        self._buffers = EditorBuffers(editor, workspace, editor_timeout_seconds)
        self._path_locks = KeyedLocks()
        self._real_path_locks = KeyedLocks()
        # Threads of its own: a dead network drive blocks these, not those of the whole server.
        self._threads = anyio.CapacityLimiter(_MAX_THREADS)

    @asynccontextmanager
    async def lock(self, paths: Iterable[Path]) -> AsyncGenerator[None]:
        """Lock files exclusively, in the order of the calls.

        The queue position is taken by the absolute paths, before anything is awaited. Once these
        are locked, their links are resolved and the real paths are locked too.
        """
        lexical_paths = tuple(paths)
        # Two steps: resolving links needs a thread, and an await before the first lock would lose
        # the order of the calls. The second lock is for two links that lead to the same file.
        async with self._path_locks.acquire({lock_key(path) for path in lexical_paths}):
            real_paths = await self._in_thread(tuple, map(follow_links, lexical_paths))
            async with self._real_path_locks.acquire({lock_key(path) for path in real_paths}):
                yield

    @property
    def has_buffers(self) -> bool:
        """Whether the editor can be asked for the files that it has open."""
        return self._buffers.has_access

    def note_command(self) -> None:
        """Note that a command may have changed files; call it when the command starts and ends.

        From then on, a file that changed on disk takes precedence over an unchanged buffer.
        """
        self._buffers.note_command()

    async def resolve(self, raw_path: str) -> ResolvedPath:
        """Resolve a name to a path.

        Raises:
            InvalidPathError: It cannot be a path.
        """
        return await self._in_thread(resolve_path, raw_path, self._workspace, self._home)

    async def read_if_exists(self, resolved: ResolvedPath) -> FileSnapshot | None:
        """Read a file; None if it does not exist.

        Raises:
            FileError: It exists, but is not text or is too large.
        """
        disk_file = await self._in_thread(disk.read_text_file, resolved)
        if self._buffers.can_read(resolved, disk_file):
            buffer_text = await self._buffers.read(resolved)
            if buffer_text is not None:
                return await self._in_thread(
                    self._buffers.reconcile, resolved, buffer_text, disk_file
                )
        return None if disk_file is None else disk_snapshot(resolved, disk_file)

    async def read(self, resolved: ResolvedPath) -> FileSnapshot:
        """Read a file.

        Raises:
            NoSuchFileError: It does not exist.
            FileError: It exists, but is not text or is too large.
        """
        snapshot = await self.read_if_exists(resolved)
        if snapshot is None:
            similar = await self._in_thread(find_similar_files, resolved, self._workspace)
            raise NoSuchFileError(resolved.raw_path, similar)
        return snapshot

    async def read_lines(
        self, resolved: ResolvedPath, first_line: int, line_count: int
    ) -> tuple[str, int | None]:
        """Read a range of lines of a file that is too large for `read`; see `stream_lines`.

        Raises:
            FileError: As `read`, or the file is larger than 1 GiB.
        """
        check = from_thread.check_cancelled
        return await self._in_thread(stream_lines, resolved, first_line, line_count, check)

    async def write(
        self, resolved: ResolvedPath, text: str, base: FileSnapshot | None
    ) -> FileSnapshot:
        """Write a text to a file that must still equal `base`; None for a new file.

        Encoding, byte order mark, newlines, mode and owner are kept; links are followed.

        Raises:
            FileChangedError: The file has changed, or its path leads to another file.
            FileError: It cannot be written; the reason says if it may have changed nevertheless.
        """
        current = await self._recheck(resolved, base)
        form = current.form if current else TextForm()
        data = await self._in_thread(encode_checked, text, form, resolved)
        if self._buffers.can_write(resolved, form):
            try:
                sent = await self._buffers.write(current, resolved, text, form)
            except EditorError as error:
                # An editor may time out or fail after it has saved: only the disk can tell.
                found = await self._in_thread(disk.disk_digest, resolved)
                has_changed = found != _disk_digest(current)
                reason = error.reason
                raise EditorWriteError(resolved.raw_path, reason, has_changed=has_changed) from None
            disk_file = await self._in_thread(repair, resolved, text, form, current)
            return await self._in_thread(
                self._buffers.snapshot_after_write, resolved, sent, disk_file, _disk_digest(current)
            )
        return await self._write_to_disk(resolved, data, current)

    def can_restore(self, resolved: ResolvedPath, data: bytes) -> bool:
        """Whether these bytes are a text that can be written through the editor."""
        try:
            _, form = decode(data)
        except FileError:
            return False
        return self._buffers.can_write(resolved, form)

    async def restore(
        self, resolved: ResolvedPath, image: FileImage, base: FileSnapshot | None
    ) -> None:
        """Restore exactly these bytes, through the editor; the file must still equal `base`.

        If the editor saves other bytes or does not save at all, the disk is corrected afterwards.

        Raises:
            FileChangedError: The file has changed, or its path leads to another file.
            FileError: It cannot be written.
        """
        current = await self._recheck(resolved, base)
        text, form = decode(image.data, resolved.raw_path)
        try:
            sent = await self._buffers.write(current, resolved, text, form)
        except EditorError as error:
            # Whether the disk changed is unknown here: assume so, the model should read it again.
            raise EditorWriteError(resolved.raw_path, error.reason, has_changed=True) from None
        await self._in_thread(_write_exactly, resolved, image)
        # Notes whether the buffer is in sync with the disk.
        disk_file = await self._in_thread(disk.read_text_file, resolved)
        self._buffers.snapshot_after_write(resolved, sent, disk_file, _disk_digest(current))

    async def delete(self, resolved: ResolvedPath, base: FileSnapshot) -> None:
        """Delete a file that must still equal `base`; of a link, the link.

        Always on disk: ACP has no method to delete a file through the editor.

        Raises:
            FileChangedError: The file has changed, or its path leads to another file.
            FileError: It cannot be deleted.
        """
        current = await self._recheck(resolved, base)
        await self._in_thread(disk.remove, resolved, _disk_digest(current))
        self._buffers.note_replaced(base)

    async def move(
        self, resolved: ResolvedPath, target: ResolvedPath, base: FileSnapshot
    ) -> FileSnapshot:
        """Move a file that must still equal `base` to a free path; return the moved file.

        Unsaved text in the editor is moved too. Always on disk: ACP has no method to move a file.

        Raises:
            FileAlreadyExistsError: There is a file at the new path.
            FileChangedError: The file has changed, or its path leads to another file.
            FileError: It cannot be moved.
        """
        current = await self._recheck(resolved, base)
        # Encoded before the move: if that fails, nothing must have happened yet.
        data = await self._in_thread(encode_checked, base.text, base.form, target)
        await self._in_thread(disk.rename, resolved, target, _disk_digest(current))
        self._buffers.note_replaced(base)
        moved = await self._read_written(target)
        return moved if base.is_saved else await self._write_to_disk(target, data, moved)

    async def _recheck(
        self, resolved: ResolvedPath, base: FileSnapshot | None
    ) -> FileSnapshot | None:
        """Read the file again right before a change, and make sure that it still equals `base`.

        The file may have been changed by another process while permission was asked for.
        """
        await self._in_thread(disk.check_writable, resolved)
        current = await self.read_if_exists(resolved)
        change = describe_change(base, current)
        if change is not None:
            raise FileChangedError(resolved.raw_path, change)
        return current

    async def _write_to_disk(
        self, resolved: ResolvedPath, data: bytes, current: FileSnapshot | None
    ) -> FileSnapshot:
        await self._in_thread(disk.replace, resolved, data, _disk_digest(current))
        if current is not None:
            self._buffers.note_replaced(current)
        return await self._read_written(resolved)

    async def _read_written(self, resolved: ResolvedPath) -> FileSnapshot:
        """Read a file that was just written here."""
        disk_file = await self._in_thread(disk.read_text_file, resolved)
        if disk_file is None:
            raise FileChangedError(resolved.raw_path, "it was gone as soon as it was written")
        return disk_snapshot(resolved, disk_file)

    async def _in_thread(self, work: Callable[[Unpack[Arguments]], T], *arguments: *Arguments) -> T:
        return await to_thread.run_sync(work, *arguments, limiter=self._threads)


def _write_exactly(resolved: ResolvedPath, image: FileImage) -> None:
    """Write exactly these bytes to disk, unless the editor has saved them already.

    Raises:
        FileNotWritableError: The system failed to write them.
    """
    try:
        current = read_file_image(resolved.real)
        if current != image:
            replace_file(resolved.real, image, None if current is None else current.version)
    except OSError as error:
        raise FileNotWritableError(resolved.raw_path, error.strerror or str(error)) from None


def _disk_digest(snapshot: FileSnapshot | None) -> str | None:
    return snapshot.disk_digest if snapshot else None
