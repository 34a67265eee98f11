r"""Reads and writes the editor's buffers, and decides whether the buffer or the disk is newer.

An editor may return `\n` for any newlines and omit the byte order mark. Apart from that, a buffer
that equals the disk is in sync with it. If a buffer has not changed since it was in sync, but a
command of ours ran and the disk has changed, the buffer is stale and the disk counts. In any other
case a buffer that differs from the disk has unsaved changes of the user.
"""

from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import anyio

from acp_server.session.ports.editor import EditorError, EditorPort
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.files.encoding import BOM, TextForm, convert_newlines, detect_newline
from acp_server.tools.files.paths import ResolvedPath, is_below_root
from acp_server.tools.files.snapshot import (
    BufferStyle,
    DiskFile,
    FileSnapshot,
    disk_snapshot,
    text_digest,
)
from skills_store.atomic import NEW_FILE_MODE

T = TypeVar("T")

_BEFORE_ANY_COMMAND = -1


@frozen_dataclass
class _SyncedBuffer:
    """Digest of a buffer's text when it was in sync, and the number of commands run until then."""

    digest: str
    command_count: int


class EditorBuffers:
    """Reads and writes the files of one session through the editor."""

    def __init__(
        self, editor: EditorPort, workspace: SessionWorkspace, timeout_seconds: float
    ) -> None:
        self._editor = editor
        self._workspace = workspace
        self._timeout_seconds = timeout_seconds
        self._synced: dict[Path, _SyncedBuffer] = {}
        self._command_count = 0

    @property
    def has_access(self) -> bool:
        """Whether the editor can be asked for a file."""
        return self._editor.can_read

    def note_command(self) -> None:
        """Note that a command ran that may have changed any file."""
        self._command_count += 1

    def note_replaced(self, base: FileSnapshot) -> None:
        """Note that the file was changed on disk without the editor.

        Until its buffer changes, the buffer is stale and the disk counts.
        """
        if base.buffer is not None:
            synced = _SyncedBuffer(base.buffer.digest, _BEFORE_ANY_COMMAND)
            self._synced[self._editor_path(base.resolved)] = synced

    def can_read(self, resolved: ResolvedPath, disk_file: DiskFile | None) -> bool:
        """Whether to read the file through the editor; `disk_file` is the file on disk."""
        is_utf8 = disk_file is None or disk_file.form.encoding == "utf-8"
        return self._editor.can_read and is_utf8 and self._is_editor_file(resolved)

    def can_write(self, resolved: ResolvedPath, form: TextForm) -> bool:
        """Whether to write a text of this form through the editor."""
        return (
            self._editor.can_write and form.encoding == "utf-8" and self._is_editor_file(resolved)
        )

    async def read(self, resolved: ResolvedPath) -> str | None:
        """Return the text of the editor's buffer; None if it has none, or does not answer."""
        try:
            return await self._with_timeout(self._editor.read_text(self._editor_path(resolved)))
        except EditorError:  # no reason to fail: the disk has the file too
            return None

    async def write(
        self, base: FileSnapshot | None, resolved: ResolvedPath, text: str, form: TextForm
    ) -> str:
        r"""Write a text through the editor, in the style in which it returned the file.

        Returns the text as it was sent.

        Raises:
            EditorError: It refused, or did not answer in time; it may have written nevertheless.
        """
        style = base.buffer if base else None
        newline = (style.newline if style else None) or form.newline
        # If both use `\n`, an `\r` in the text is intended and must not be converted.
        sent = text if newline == form.newline == "\n" else convert_newlines(text, newline)
        if style is not None and style.has_bom:
            sent = BOM + sent
        # Before the request: if it fails, it is unknown whether the buffer is still in sync.
        self._synced.pop(self._editor_path(resolved), None)
        await self._with_timeout(self._editor.write_text(self._editor_path(resolved), sent))
        return sent

    def reconcile(
        self, resolved: ResolvedPath, buffer_text: str, disk_file: DiskFile | None
    ) -> FileSnapshot | None:
        """Decide between the editor's text `buffer_text` and the file on disk `disk_file`.

        None if the file does not exist: it is not on disk, and the editor's text is empty.
        """
        if disk_file is None and not buffer_text:
            return None
        text, style = _read_style(buffer_text, disk_file)
        if disk_file is not None and _equals_disk(text, disk_file):
            return self._note_synced(resolved, style, disk_file)
        # They differ. The buffer is stale only if it has not changed since it was in sync and a
        # command has run since. Otherwise it must count as unsaved changes, so as not to lose any.
        synced = self._synced.get(self._editor_path(resolved))
        if synced and synced.digest == style.digest and synced.command_count < self._command_count:
            return disk_snapshot(resolved, disk_file, style) if disk_file else None
        return _unsaved_snapshot(resolved, text, style, disk_file)

    def snapshot_after_write(
        self,
        resolved: ResolvedPath,
        sent: str,
        disk_file: DiskFile | None,
        previous_digest: str | None,
    ) -> FileSnapshot:
        """Return the file after `sent` was written through the editor; `disk_file` is now on disk.

        `previous_digest` is the digest of the file on disk before the write. If the disk has
        changed but does not hold `sent`, the editor has formatted the text on save:
        then the disk counts.
        """
        text, style = _read_style(sent, disk_file)
        if disk_file is not None and _equals_disk(text, disk_file):
            return self._note_synced(resolved, style, disk_file)
        if disk_file is not None and disk_file.digest != previous_digest:
            return disk_snapshot(resolved, disk_file)
        return _unsaved_snapshot(resolved, text, style, disk_file)

    def _note_synced(
        self, resolved: ResolvedPath, style: BufferStyle, disk_file: DiskFile
    ) -> FileSnapshot:
        self._synced[self._editor_path(resolved)] = _SyncedBuffer(style.digest, self._command_count)
        return disk_snapshot(resolved, disk_file, style)

    def _is_editor_file(self, resolved: ResolvedPath) -> bool:
        """Whether the editor can access a file: in the workspace, with a name that fits in JSON."""
        try:
            str(self._editor_path(resolved)).encode()
        except UnicodeEncodeError:
            return False
        return resolved.is_in_workspace

    def _editor_path(self, resolved: ResolvedPath) -> Path:
        """Return the path under which the editor has a file open: as seen from its directories.

        The path with its links is used if it is in the workspace by name, else the real path.
        """
        return resolved.path if is_below_root(resolved.path, self._workspace) else resolved.real

    async def _with_timeout(self, call: Awaitable[T]) -> T:
        try:
            with anyio.fail_after(self._timeout_seconds):
                return await call
        except TimeoutError:
            reason = f"the editor did not answer within {self._timeout_seconds:g} s"
            raise EditorError(reason) from None


def _read_style(buffer_text: str, disk_file: DiskFile | None) -> tuple[str, BufferStyle]:
    """Return a buffer's text without the file's byte order mark, and the style of the buffer."""
    has_bom = disk_file is not None and disk_file.form.has_bom and buffer_text.startswith(BOM)
    text = buffer_text[len(BOM) :] if has_bom else buffer_text
    digest = text_digest(convert_newlines(buffer_text.removeprefix(BOM), "\n"))
    return text, BufferStyle(digest, detect_newline(text), has_bom)


def _equals_disk(text: str, disk_file: DiskFile) -> bool:
    r"""Whether a buffer equals the disk, apart from newlines.

    For a file with `\n` newlines, the newlines must be equal too: no editor changes these.
    """
    if disk_file.form.newline == "\n":
        return text == disk_file.text
    return convert_newlines(text, "\n") == convert_newlines(disk_file.text, "\n")


def _unsaved_snapshot(
    resolved: ResolvedPath, text: str, style: BufferStyle, disk_file: DiskFile | None
) -> FileSnapshot:
    """Return the snapshot of an unsaved text."""
    newline = style.newline
    if disk_file is not None and newline == "\n" and disk_file.form.newline is not None:
        newline = disk_file.form.newline
    return FileSnapshot(
        resolved=resolved,
        text=text if style.newline is None else convert_newlines(text, "\n"),
        form=TextForm("utf-8", disk_file is not None and disk_file.form.has_bom, newline),
        mode=disk_file.mode if disk_file else NEW_FILE_MODE,
        disk_digest=disk_file.digest if disk_file else None,
        is_saved=False,
        buffer=style,
    )
