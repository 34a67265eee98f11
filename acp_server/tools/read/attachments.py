"""Reads the files that a prompt links to, and attaches their contents to the prompt.

A link into the workspace needs no permission to read: the user put it into the prompt. Any other
file, and any protected one, needs permission, which is asked for in a tool call of its own. If a
link does not lead to a readable file it stays a link, and the model gets the reason.
"""

import re
from collections.abc import Sequence
from uuid import uuid4

from acp_server.permissions.gate import Refusal
from acp_server.tools.edit.edit_flow import EditServices, read_question
from acp_server.tools.files.encoding import split_lines
from acp_server.tools.files.errors import BinaryFileError, FileError, PathIsDirectoryError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.read.media import read_media
from acp_server.turn.conversation import Attachment, Link, PromptPart, Text
from acp_server.turn.events import CallAppeared, CallChanged
from acp_server.turn.ports import TurnSink

_RANGE = re.compile(r"L?(\d+)(?:[-:]L?(\d+))?")


class AttachmentReader:
    """Attaches the files that the prompts of one session link to."""

    def __init__(self, services: EditServices) -> None:
        self._services = services

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the content of the linked file, or the link itself if it is not a `file:` URI.

        If the file cannot be read, return the link and a note with the reason.
        """
        uri, _, fragment = link.uri.partition("#")
        if not uri.lower().startswith("file:"):
            return (link,)
        try:
            resolved = await self._services.resolve(uri)
            refusal = await self._ask_permission(resolved, link, sink)
            if refusal is not None:
                return (link, Text(f"({link.name} was not read: {refusal.reason})"))
            return (await self._read(resolved, link, fragment),)
        except PathIsDirectoryError as error:
            return (link, Text(f"({error.reason})"))
        except FileError as error:
            return (link, Text(f"({link.name} could not be read: {error.reason})"))

    async def _ask_permission(
        self, resolved: ResolvedPath, link: Link, sink: TurnSink
    ) -> Refusal | None:
        """Ask for permission if it is needed.

        ACP asks for permission about a tool call, so this announces a call for the question.
        """
        if await self._services.can_preview(resolved):
            return None
        call_id = f"attach_{uuid4().hex[:12]}"
        title = f"Read {link.name} (attached)"
        await sink.emit(CallAppeared(call_id, "read_file", "read", title))
        question = read_question(call_id, title, resolved)
        await sink.emit(CallChanged(call_id, locations=question.locations))
        refusal: Refusal | None = Refusal("cancelled")
        try:
            refusal = await self._services.gate.authorize(question)
        finally:
            # Also when the turn is cancelled: else the editor shows the call as running forever.
            # Hence `emit_now`, which needs no await.
            self._services.gate.leave_queue(call_id)
            status = "completed" if refusal is None else "failed"
            sink.emit_now(CallChanged(call_id, status))
        return refusal

    async def _read(self, resolved: ResolvedPath, link: Link, fragment: str) -> PromptPart:
        """Read the file, or the lines that the link's fragment names.

        Raises:
            FileError: It cannot be read.
        """
        try:
            snapshot = await self._services.files.read(resolved)
        except BinaryFileError:
            try:
                media = await read_media(resolved)
            except OSError as error:
                raise FileError(f"{error.strerror}") from error
            if media is None:
                raise
            return media
        return Attachment(link.uri, lines_of(snapshot.text, fragment))


def lines_of(text: str, fragment: str) -> str:
    """Return the lines that a fragment such as `L10-20` names; any other fragment means all."""
    found = _RANGE.fullmatch(fragment)
    if found is None:
        return text
    first = max(int(found[1]), 1)
    last = int(found[2] or first)
    return "".join(split_lines(text)[first - 1 : last])
