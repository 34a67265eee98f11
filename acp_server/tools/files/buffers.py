r"""The editor's side of the files of one session: its buffers, and which of them are out of date.

An editor may hand out `\n` for any newlines and leave the byte order mark away. A buffer that shows
what the disk holds, but for that, is in step with it. A buffer that has not changed since, while a
command of ours changed the disk, is out of date; any other has the user's unsaved changes.
"""

from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio

from acp_server.frozen import frozen
from acp_server.session.editor import Editor, EditorError
from acp_server.session.session import Workspace
from acp_server.tools.files.encoding import BOM, TextForm, newline_of, with_newline
from acp_server.tools.files.paths import Place, lies_below
from acp_server.tools.files.snapshot import (
    BufferStyle,
    OnDisk,
    Snapshot,
    disk_snapshot,
    text_digest,
)
from skills_store.atomic import NEW_FILE_MODE

T = TypeVar("T")

_BEFORE_ANY_COMMAND = -1


@frozen
class _InStep:
    """The text of a buffer that was in step, and how many commands had run by then."""

    digest: str
    commands: int


class Buffers:
    """What can be read and written through the editor."""

    def __init__(self, editor: Editor, workspace: Workspace, patience_seconds: float) -> None:
        self._editor = editor
        self._workspace = workspace
        self._patience_seconds = patience_seconds
        self._in_step: dict[Path, _InStep] = {}
        self._commands = 0

    def note_command(self) -> None:
        """Remember that a command ran that may have changed any file."""
        self._commands += 1

    def note_replaced(self, base: Snapshot) -> None:
        """Remember that we changed the disk behind a buffer: until it changes, the disk counts."""
        if base.buffer is not None:
            known = _InStep(base.buffer.digest, _BEFORE_ANY_COMMAND)
            self._in_step[self._address(base.place)] = known

    def can_show(self, place: Place, found: OnDisk | None) -> bool:
        """Whether the editor is to be asked for a file that was found so on disk."""
        is_utf8 = found is None or found.form.encoding == "utf-8"
        return self._editor.can_read and is_utf8 and self._is_its_own(place)

    def can_take(self, place: Place, form: TextForm) -> bool:
        """Whether a text of this form is to be written through the editor."""
        return self._editor.can_write and form.encoding == "utf-8" and self._is_its_own(place)

    async def read(self, place: Place) -> str | None:
        """Return what the editor shows of a file; None if it shows nothing, or does not answer."""
        try:
            return await self._answer(self._editor.read_text(self._address(place)))
        except EditorError:
            return None

    async def write(self, base: Snapshot | None, place: Place, text: str, form: TextForm) -> str:
        """Write a text through the editor, in the style in which it handed the file out.

        Returns what was sent.

        Raises:
            EditorError: it refused, or did not answer in time; it may have written all the same.
        """
        sent = _in_style(text, form, base.buffer if base else None)
        self._in_step.pop(self._address(place), None)
        await self._answer(self._editor.write_text(self._address(place), sent))
        return sent

    def choose(self, place: Place, shown: str, found: OnDisk | None) -> Snapshot | None:
        """Return what a file is, if the editor shows this and the disk holds that.

        A file that neither the disk holds nor the editor has a text for does not exist.
        """
        if found is None and not shown:
            return None
        plain, style = _read_style(shown, found)
        if found is not None and _is_same(plain, found):
            return self._note_in_step(place, style, found)
        known = self._in_step.get(self._address(place))
        if known and known.digest == style.digest and known.commands < self._commands:
            return disk_snapshot(place, found, style) if found else None
        return _unsaved(place, plain, style, found)

    def settle(self, place: Place, sent: str, found: OnDisk | None, before: str | None) -> Snapshot:
        """Return what a file is after this was sent to the editor, if the disk holds that now.

        `before` is the digest of what the disk held. If the editor saved something else, as one
        does that formats, the disk tells what.
        """
        plain, style = _read_style(sent, found)
        if found is not None and _is_same(plain, found):
            return self._note_in_step(place, style, found)
        if found is not None and found.digest != before:
            return disk_snapshot(place, found)
        return _unsaved(place, plain, style, found)

    def _note_in_step(self, place: Place, style: BufferStyle, found: OnDisk) -> Snapshot:
        self._in_step[self._address(place)] = _InStep(style.digest, self._commands)
        return replace(disk_snapshot(place, found, style), source="buffer")

    def _is_its_own(self, place: Place) -> bool:
        """Whether the editor can know a file: in the workspace, its name such as JSON can carry."""
        try:
            str(self._address(place)).encode()
        except UnicodeEncodeError:
            return False
        return place.is_inside

    def _address(self, place: Place) -> Path:
        """Return the path by which the editor knows a file: as seen from its folders."""
        return place.path if lies_below(place.path, self._workspace) else place.real

    async def _answer(self, call: Awaitable[T]) -> T:
        try:
            with anyio.fail_after(self._patience_seconds):
                return await call
        except TimeoutError:
            reason = f"the editor did not answer within {self._patience_seconds:g} s"
            raise EditorError(reason) from None


def _read_style(shown: str, found: OnDisk | None) -> tuple[str, BufferStyle]:
    """Return a buffer's text without a mark that belongs to the file, and how it was handed out."""
    has_bom = found is not None and found.form.has_bom and shown.startswith(BOM)
    plain = shown[len(BOM) :] if has_bom else shown
    digest = text_digest(with_newline(shown.removeprefix(BOM), "\n"))
    return plain, BufferStyle(digest, newline_of(plain), has_bom)


def _is_same(plain: str, found: OnDisk) -> bool:
    r"""Whether a buffer shows the disk. Of a file of `\n`, no editor hands out anything else."""
    if found.form.newline == "\n":
        return plain == found.text
    return with_newline(plain, "\n") == with_newline(found.text, "\n")


def _unsaved(place: Place, plain: str, style: BufferStyle, found: OnDisk | None) -> Snapshot:
    """Return the snapshot of a text that is in the editor only."""
    newline = style.newline
    if found is not None and newline == "\n" and found.form.newline is not None:
        newline = found.form.newline
    return Snapshot(
        place=place,
        text=plain if style.newline is None else with_newline(plain, "\n"),
        form=TextForm("utf-8", found is not None and found.form.has_bom, newline),
        mode=found.mode if found else NEW_FILE_MODE,
        disk_digest=found.digest if found else None,
        source="buffer",
        is_saved=False,
        size_bytes=len(plain.encode(errors="surrogatepass")),
        buffer=style,
    )


def _in_style(text: str, form: TextForm, style: BufferStyle | None) -> str:
    r"""Return a text as the editor would hand it out; one that it never did, as the file has it.

    Where everything has `\n`, an `\r` in the text is meant.
    """
    newline = (style.newline if style else None) or form.newline
    is_plain = newline == form.newline == "\n"
    styled = text if is_plain else with_newline(text, newline)
    return BOM + styled if style is not None and style.has_bom else styled
