"""Compares files with what the model has seen of them, editor buffers included.

Text that the model has not seen is never overwritten by a whole file; changes of files that it saw
are reported once, with the next prompt.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.session.seen_files import SeenFiles
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.display_paths import display_path
from acp_server.tools.files.encoding import convert_newlines
from acp_server.tools.files.errors import FileError, UnseenTextError
from acp_server.tools.files.file_service import FileService
from acp_server.tools.files.notebooks import is_notebook, visible_text
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import FileSnapshot
from acp_server.turn.conversation import Attachment, UserPart

MAX_FILES = 10
MAX_BUFFERS = 20
"""How many of the latest files are compared with the editor's buffers before a prompt."""
COMPARE_SECONDS = 3.0
"""How long a prompt may wait for a slow disk or editor; what is not compared is left for later."""
SETTLED_NS = 100_000_000
"""A file that changed less than this ago may change again without a new time of change."""

NEVER_READ = (
    "{name} exists already, and you have not read it. Nothing was written. Read all of it with "
    "read_file first, or change it with patch."
)
PARTLY_READ = (
    "You have read only a part of {name}. Nothing was written. Read {unseen} first, or change it "
    "with patch."
)
CHANGED = (
    "{name} changed since you read it, by the user or a command: {change}. Nothing was written. "
    "Read it again, at least {unseen}, or change it with patch."
)
CHANGED_FILES = (
    "[Changed since you read or wrote them, by the user or a command: {files}. Read what changed "
    "before you rely on it.]"
)

_Signature = tuple[int, int, int, int]


@frozen_dataclass
class SeenFileGuard:
    """Compares the files of one conversation with what its model has seen of them."""

    files: FileService
    seen: SeenFiles
    root: Path
    """The session's directory; shown paths are relative to it."""
    _compared: dict[str, _Signature | None] = field(
        default_factory=dict[str, "_Signature | None"], init=False
    )
    """The files on disk as they were when they were last compared."""

    def check_overwrite(self, resolved: ResolvedPath, base: FileSnapshot) -> None:
        """Make sure that the model has seen all of a file that it is about to replace.

        Raises:
            UnseenTextError: It has not, or the file has changed since.
        """
        path, text = str(resolved.real), visible_text(resolved.real, base.text)
        unseen, change = self.seen.unseen_lines(path, text), self.seen.describe_change(path, text)
        if not text or not (unseen or change):
            return
        name = display_path(resolved.path, self.root)
        if not self.seen.is_known(path):
            raise UnseenTextError(NEVER_READ.format(name=name))
        if not change:
            raise UnseenTextError(PARTLY_READ.format(name=name, unseen=unseen))
        self.seen.take_change(path, text)  # the refusal tells the model; the next prompt need not
        raise UnseenTextError(CHANGED.format(name=name, change=change, unseen=unseen or change))

    def note_change(self, resolved: ResolvedPath, base: FileSnapshot) -> str:
        """Return a note for an edit of a file that changed since the model saw it, else nothing."""
        text = visible_text(resolved.real, base.text)
        change = self.seen.describe_change(str(resolved.real), text)
        return f"; the file had changed since you read it: {change}" if change else ""

    async def note_attachments(self, parts: Sequence[UserPart]) -> None:
        """Note which files are attached whole to the prompt that is being written."""
        for part in parts:
            if isinstance(part, Attachment) and part.uri.lower().startswith("file:"):
                await self._note_attachment(part)

    async def _note_attachment(self, attachment: Attachment) -> None:
        try:
            resolved = await self.files.resolve(attachment.uri.partition("#")[0])
            snapshot = await self.files.read_if_exists(resolved)
        except FileError:
            return
        # An attachment may also be a part of the file, or what the editor had a moment ago.
        text = convert_newlines(attachment.text, "\n")
        if is_notebook(resolved.real):
            return  # it is attached as JSON, and read as cells
        if snapshot is not None and text == convert_newlines(snapshot.text, "\n"):
            path, uri = str(resolved.real), attachment.uri
            self.seen.note_attachment(path, snapshot.text, uri, attachment.text)

    async def describe_changes(self) -> str:
        """Describe, once, the files that changed since the model saw them; empty if none did."""
        paths = self.seen.paths
        if not paths:
            return ""
        changes: dict[str, str] = {}
        with anyio.move_on_after(COMPARE_SECONDS):
            # In a thread of its own: there may be many files, and one call for each takes longer.
            signatures = await to_thread.run_sync(_stat_all, paths, abandon_on_cancel=True)
            async with anyio.create_task_group() as tasks:
                for path in self._suspects(paths, signatures):
                    tasks.start_soon(self._compare, path, signatures[path], changes)
        names = {display_path(Path(path), self.root): changes[path] for path in changes}
        shown = [f"{name} ({names[name]})" for name in sorted(names)]
        more = f" and {len(shown) - MAX_FILES} more files" if len(shown) > MAX_FILES else ""
        files = ", ".join(shown[:MAX_FILES]) + more
        return CHANGED_FILES.format(files=files) if shown else ""

    def _suspects(
        self, paths: Sequence[str], signatures: Mapping[str, _Signature | None]
    ) -> Iterable[str]:
        """Return the files that may have changed: on disk, or perhaps in the editor."""
        latest = frozenset(paths[-MAX_BUFFERS:]) if self.files.has_buffers else frozenset[str]()
        for path in paths:
            is_unchanged = path in self._compared and self._compared[path] == signatures[path]
            if path in latest or not is_unchanged:
                yield path

    async def _compare(
        self, path: str, signature: _Signature | None, changes: dict[str, str]
    ) -> None:
        try:
            snapshot = await self.files.read_if_exists(await self.files.resolve(path))
            text = None if snapshot is None else visible_text(Path(path), snapshot.text)
            change = self.seen.take_change(path, text)
        except FileError:
            change = self.seen.take_change(path, None) and "no longer readable as text"
        if change:
            changes[path] = change
        if signature is None or time.time_ns() - max(signature[:2]) > SETTLED_NS:
            self._compared[path] = signature
        else:
            self._compared.pop(path, None)


def _stat_all(paths: Iterable[str]) -> Mapping[str, _Signature | None]:
    """Return what tells a changed file from an unchanged one, None if there is none. It blocks."""
    found: dict[str, _Signature | None] = {}
    for path in paths:
        try:
            status = os.stat(path)  # noqa: PTH116 - a path of bytes that are no text stays as it is
        except (OSError, ValueError):
            found[path] = None
            continue
        found[path] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    return found
