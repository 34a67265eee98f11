"""Files that the user points at in a prompt, by links: read, and attached to it.

A link into the workspace is leave enough to read there; any other file is asked about, as a call of
its own. What is no file, or cannot be read, stays a link, and the model is told why.
"""

import re
from collections.abc import Sequence
from uuid import uuid4

from acp_server.permissions.effects import ReadFiles
from acp_server.permissions.gate import Refusal
from acp_server.permissions.questions import Question
from acp_server.tools.editing import Workshop
from acp_server.tools.files.errors import BinaryFileError, FileError, FolderError
from acp_server.tools.files.paths import Place
from acp_server.tools.media import MediaError, read_media
from acp_server.tools.places import target_of
from acp_server.turn.conversation import Attachment, Link, PromptPart, Text
from acp_server.turn.events import CallAppeared, CallChanged, Location
from acp_server.turn.ports import Sink

_RANGE = re.compile(r"L?(\d+)(?:[-:]L?(\d+))?")


class Attachments:
    """Attaches the files of one session's prompts."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return what a link leads to; a link that leads to no file as it is."""
        uri, _, fragment = link.uri.partition("#")
        if not uri.lower().startswith("file:"):
            return (link,)
        try:
            place = await self._workshop.place(uri)
            refusal = await self._ask(place, link, sink)
            if refusal is not None:
                return (link, Text(f"({link.name} was not read: {refusal.reason})"))
            return (await self._read(place, link, fragment),)
        except FolderError as error:
            return (link, Text(f"({error.reason})"))
        except FileError as error:
            return (link, Text(f"({link.name} could not be read: {error.reason})"))

    async def _ask(self, place: Place, link: Link, sink: Sink) -> Refusal | None:
        """Ask for leave where it is needed; the question is about a call, so there is one."""
        if await self._workshop.may_preview(place):
            return None
        call_id, places = f"attach_{uuid4().hex[:12]}", (Location(str(place.path)),)
        title = f"Read {link.name} (attached)"
        await sink.emit(CallAppeared(call_id, "read_file", "read", title))
        await sink.emit(CallChanged(call_id, locations=places))
        question = Question(call_id, ReadFiles((target_of(place),)), title, "read", (), places)
        refusal: Refusal | None = Refusal("cancelled")
        try:
            refusal = await self._workshop.gate.pass_through(question)
        finally:
            self._workshop.gate.leave(call_id)
            status = "completed" if refusal is None else "failed"
            sink.emit_now(CallChanged(call_id, status))
        return refusal

    async def _read(self, place: Place, link: Link, fragment: str) -> PromptPart:
        """Return the file, or the lines of it that the link names.

        Raises:
            FileError: it cannot be read.
        """
        try:
            snapshot = await self._workshop.desk.read(place)
        except BinaryFileError:
            media = await self._look(place)
            if media is None:
                raise
            return media
        return Attachment(link.uri, lines_of(snapshot.text, fragment))

    async def _look(self, place: Place) -> PromptPart | None:
        try:
            return await read_media(place)
        except MediaError as error:
            raise FileError(str(error)) from error
        except OSError as error:
            raise FileError(f"{error.strerror}") from error


def lines_of(text: str, fragment: str) -> str:
    """Return the lines that a fragment such as `L10-20` names; all of them for any other."""
    found = _RANGE.fullmatch(fragment)
    if found is None:
        return text
    first = max(int(found[1]), 1)
    last = int(found[2] or first)
    return "".join(text.splitlines(keepends=True)[first - 1 : last])
