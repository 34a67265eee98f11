"""A prompt completed: the files that it points at, the day, what is recalled, what applies there.

All of it is put behind the user's own words, once, and stored with them: a message is sent again
exactly as it was first sent.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp_server.frozen import frozen
from acp_server.session.choices import Choices
from acp_server.session.mode_notes import remark_on_mode
from acp_server.session.outside_memory import OutsideMemory
from acp_server.session.servers import ServerDesk
from acp_server.session.upkeep import SessionUpkeep
from acp_server.turn.conversation import (
    Attachment,
    Conversation,
    Link,
    Text,
    UserMessage,
    UserPart,
)
from acp_server.turn.ports import Sink, Toolbox


@frozen
class PromptCompletion:
    """Completes the prompts of one session."""

    conversation: Conversation
    upkeep: SessionUpkeep
    outside: OutsideMemory
    choices: Choices
    servers: ServerDesk

    async def completed(
        self, message: UserMessage, toolbox: Toolbox, active_file: Path | None, sink: Sink
    ) -> UserMessage:
        """Return a prompt with all that goes with it; `active_file` is in the user's view."""
        parts: list[UserPart] = []
        for part in message.parts:
            parts += await toolbox.attach(part, sink) if isinstance(part, Link) else (part,)
        on_mode = remark_on_mode(self.conversation, self.choices.mode)
        on_servers = self.servers.news()
        remarks = (*self.upkeep.briefing.remarks(self.conversation), on_mode, *on_servers)
        parts += [Text(remark) for remark in remarks if remark]
        parts += await self.outside.recalled(message)
        touched = _touched(message, active_file)
        if touched:
            found = await self.upkeep.instruct(self.conversation, {"": touched}, sink)
            parts += [Text(instructions.text) for instructions in found.values()]
        return UserMessage(tuple(parts))


def _touched(message: UserMessage, active_file: Path | None) -> list[str]:
    uris = [part.uri for part in message.parts if isinstance(part, Link | Attachment)]
    paths = (*map(path_of_uri, uris), active_file)
    return [str(path) for path in paths if path is not None]


def path_of_uri(uri: str) -> Path | None:
    """Return the path that a `file:` URI of this machine names; None for anything else."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    is_local = parts.scheme == "file" and parts.netloc in {"", "localhost"} and "\0" not in path
    return Path(path) if is_local and path.startswith("/") else None
