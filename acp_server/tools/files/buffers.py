r"""Reads and writes the editor's buffers, and decides whether the buffer or the disk is newer.

An editor may return `\n` for any newlines and omit the byte order mark. Apart from that, a buffer
that equals the disk is in sync with it. If a buffer has not changed since it was in sync, but a
command of ours ran and the disk has changed, the buffer is stale and the disk counts. In any other
case a buffer that differs from the disk has unsaved changes of the user.
"""

from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio

from acp_server.session.ports.editor import EditorError, EditorPort
from acp_server.session.session import SessionWorkspace
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

    def note_command(self) -> None:
        """Note that a command ran that may have changed any file."""
        self._command_count += 1

    def note_replaced(self, base: FileSnapshot) -> None:
        """Note that the file was changed on disk without the editor.

        Until its buffer changes, the buffer is stale and the disk counts.
        """
        if base.buffer is not None:
            known = _SyncedBuffer(base.buffer.digest, _BEFORE_ANY_COMMAND)
            self._synced[self._editor_path(base.resolved)] = known

    def can_read(self, place: ResolvedPath, found: DiskFile | None) -> bool:
        """Whether to read the file through the editor; `found` is the file on disk."""
        is_utf8 = found is None or found.form.encoding == "utf-8"
        return self._editor.can_read and is_utf8 and self._is_editor_file(place)

    def can_write(self, place: ResolvedPath, form: TextForm) -> bool:
        """Whether to write a text of this form through the editor."""
        return self._editor.can_write and form.encoding == "utf-8" and self._is_editor_file(place)

    async def read(self, place: ResolvedPath) -> str | None:
        """Return the text of the editor's buffer; None if it has none, or does not answer."""
        try:
            return await self._with_timeout(self._editor.read_text(self._editor_path(place)))
        except EditorError:  # no reason to fail: the disk has the file too
            return None

    async def write(
        self, base: FileSnapshot | None, place: ResolvedPath, text: str, form: TextForm
    ) -> str:
        """Write a text through the editor, in the style in which it returned the file.

        Returns the text as it was sent.

        Raises:
            EditorError: It refused, or did not answer in time; it may have written nevertheless.
        """
        sent = _apply_style(text, form, base.buffer if base else None)
        # Before the request: if it fails, it is unknown whether the buffer is still in sync.
        self._synced.pop(self._editor_path(place), None)
        await self._with_timeout(self._editor.write_text(self._editor_path(place), sent))
        return sent

    def reconcile(
        self, place: ResolvedPath, shown: str, found: DiskFile | None
    ) -> FileSnapshot | None:
        """Decide between the editor's text `shown` and the file on disk `found`.

        None if the file does not exist: it is not on disk, and the editor's text is empty.
        """
        if found is None and not shown:
            return None
        plain, style = _read_style(shown, found)
        if found is not None and _equals_disk(plain, found):
            return self._note_synced(place, style, found)
        # They differ. The buffer is stale only if it has not changed since it was in sync and a
        # command has run since. Otherwise it must count as unsaved changes, so as not to lose any.
        known = self._synced.get(self._editor_path(place))
        if known and known.digest == style.digest and known.command_count < self._command_count:
            return disk_snapshot(place, found, style) if found else None
        return _unsaved_snapshot(place, plain, style, found)

    def snapshot_after_write(
        self, place: ResolvedPath, sent: str, found: DiskFile | None, before: str | None
    ) -> FileSnapshot:
        """Return the file after `sent` was written through the editor; `found` is now on disk.

        `before` is the digest of the file on disk before the write. If the disk has changed but
        does not hold `sent`, the editor has formatted the text on save: then the disk counts.
        """
        plain, style = _read_style(sent, found)
        if found is not None and _equals_disk(plain, found):
            return self._note_synced(place, style, found)
        if found is not None and found.digest != before:
            return disk_snapshot(place, found)
        return _unsaved_snapshot(place, plain, style, found)

    def _note_synced(
        self, place: ResolvedPath, style: BufferStyle, found: DiskFile
    ) -> FileSnapshot:
        self._synced[self._editor_path(place)] = _SyncedBuffer(style.digest, self._command_count)
        return replace(disk_snapshot(place, found, style), source="buffer")

    def _is_editor_file(self, place: ResolvedPath) -> bool:
        """Whether the editor can access a file: in the workspace, with a name that fits in JSON."""
        try:
            str(self._editor_path(place)).encode()
        except UnicodeEncodeError:
            return False
        return place.is_in_workspace

    def _editor_path(self, place: ResolvedPath) -> Path:
        """Return the path under which the editor has a file open: as seen from its directories.

        The path with its links is used if it is in the workspace by name, else the real path.
        """
        return place.path if is_below_root(place.path, self._workspace) else place.real

    async def _with_timeout(self, call: Awaitable[T]) -> T:
        try:
            with anyio.fail_after(self._timeout_seconds):
                return await call
        except TimeoutError:
            reason = f"the editor did not answer within {self._timeout_seconds:g} s"
            raise EditorError(reason) from None


def _read_style(shown: str, found: DiskFile | None) -> tuple[str, BufferStyle]:
    """Return a buffer's text without the file's byte order mark, and the style of the buffer."""
    has_bom = found is not None and found.form.has_bom and shown.startswith(BOM)
    plain = shown[len(BOM) :] if has_bom else shown
    digest = text_digest(convert_newlines(shown.removeprefix(BOM), "\n"))
    return plain, BufferStyle(digest, detect_newline(plain), has_bom)


def _equals_disk(plain: str, found: DiskFile) -> bool:
    r"""Whether a buffer equals the disk, apart from newlines.

    For a file with `\n` newlines, the newlines must be equal too: no editor changes these.
    """
    if found.form.newline == "\n":
        return plain == found.text
    return convert_newlines(plain, "\n") == convert_newlines(found.text, "\n")


def _unsaved_snapshot(
    place: ResolvedPath, plain: str, style: BufferStyle, found: DiskFile | None
) -> FileSnapshot:
    """Return the snapshot of an unsaved text."""
    newline = style.newline
    if found is not None and newline == "\n" and found.form.newline is not None:
        newline = found.form.newline
    return FileSnapshot(
        resolved=place,
        text=plain if style.newline is None else convert_newlines(plain, "\n"),
        form=TextForm("utf-8", found is not None and found.form.has_bom, newline),
        mode=found.mode if found else NEW_FILE_MODE,
        disk_digest=found.digest if found else None,
        source="buffer",
        is_saved=False,
        size_bytes=len(plain.encode(errors="surrogatepass")),
        buffer=style,
    )


def _apply_style(text: str, form: TextForm, style: BufferStyle | None) -> str:
    r"""Return a text in the editor's style; without one, in the form of the file.

    If both use `\n`, an `\r` in the text is intended and must not be converted.
    """
    newline = (style.newline if style else None) or form.newline
    is_plain = newline == form.newline == "\n"
    styled = text if is_plain else convert_newlines(text, newline)
    return BOM + styled if style is not None and style.has_bom else styled
