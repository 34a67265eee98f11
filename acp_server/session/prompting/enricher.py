"""Prompt enrichment: linked files, remarks on what changed, recalled memories, instructions.

Everything is appended to the user's text once and stored with it, so that each message is sent
again exactly as it was sent first.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp_server.session.context import SessionContext
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.session.prompting.context_maintenance import SessionContextMaintenance
from acp_server.session.prompting.mode_notes import remark_on_mode
from acp_server.session.prompting.references import PromptReferences
from acp_server.session.tools import SessionTools
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import (
    Attachment,
    Link,
    Text,
    UserMessage,
    UserPart,
    prompt_to_text,
)
from acp_server.turn.ports import Toolbox, TurnSink


@frozen_dataclass
class PromptEnricher:
    """Enriches the prompts of one session."""

    context: SessionContext
    tools: SessionTools
    maintenance: SessionContextMaintenance
    external_memory: ExternalMemorySession

    async def enrich(
        self,
        message: UserMessage,
        toolbox: Toolbox,
        active_file: Path | None,
        sink: TurnSink,
        typed: str | None = None,
    ) -> UserMessage:
        """Return the prompt with attachments and remarks; `active_file` is open in the editor.

        `typed` is the text whose `@path` references are looked up, if it is not the prompt's: of a
        text that a server or a skill provides, none are.
        """
        parts: list[UserPart] = []
        for part in without_repeated_links(message.parts):
            parts += await toolbox.attach(part, sink) if isinstance(part, Link) else (part,)
        uris = {part.uri for part in message.parts if isinstance(part, Link | Attachment)}
        own_text = prompt_to_text(message.parts) if typed is None else typed
        references = PromptReferences(self.context.workspace.cwd, self.context.diagnostics)
        parts += await references.read(own_text, uris, toolbox, sink)
        parts += await self.tools.current.servers.read_mentions(message.parts, sink)
        seen_files = self.tools.current.seen_files
        await seen_files.note_attachments(parts)
        conversation = self.context.conversation
        provider = await self.maintenance.provider.get()
        remarks = (
            *provider.prompt_remarks(conversation),
            remark_on_mode(conversation, self.context.options.mode),
            *self.tools.take_notices(),
            await seen_files.describe_changes(),
        )
        parts += [Text(remark, is_remark=True) for remark in remarks if remark]
        # The original message: the query holds only the user's own words.
        parts += await self.external_memory.recall(message)
        touched = _touched_paths(message, active_file)
        if touched:
            found = await self.maintenance.find_instructions(conversation, {"": touched}, sink)
            parts += [Text(each.text, is_remark=True) for each in found.values()]
        return replace(message, parts=tuple(parts))


def without_repeated_links(parts: Sequence[UserPart]) -> Sequence[UserPart]:
    """Return the parts without links that came before: some editors link each open file twice."""
    return [
        part
        for index, part in enumerate(parts)
        if not isinstance(part, Link) or part not in parts[:index]
    ]


def _touched_paths(message: UserMessage, active_file: Path | None) -> list[str]:
    uris = [part.uri for part in message.parts if isinstance(part, Link | Attachment)]
    paths = (*map(path_from_uri, uris), active_file)
    return [str(path) for path in paths if path is not None]


def path_from_uri(uri: str) -> Path | None:
    """Return the path of a local `file:` URI; None for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    # A NUL byte makes every later file call raise ValueError; other hosts are not on this disk.
    is_local = parts.scheme == "file" and parts.netloc in {"", "localhost"} and "\0" not in path
    return Path(path) if is_local and path.startswith("/") else None
