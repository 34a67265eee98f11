"""Context maintenance: compaction when due, and local instructions for touched paths."""

from collections.abc import Mapping, Sequence

from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.provider import Briefing
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Conversation
from acp_server.turn.events import NoticeRaised
from acp_server.turn.loop import Instructions, Kit
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId


@frozen
class SessionUpkeep:
    """Context maintenance for one session's conversation."""

    compactor: Compactor
    briefing: Briefing
    new_id: NewId

    async def prepared(self, conversation: Conversation, kit: Kit, sink: Sink) -> Kit:
        """Return the context for the next model request."""
        return await self.compactor.prepared(conversation, kit, sink)

    async def instruct(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: Sink
    ) -> Mapping[str, Instructions]:
        """Return instructions to add to tool results; tell the user about unusable files."""
        found = await self.briefing.instructions(conversation, touched)
        for delivery in found.values():
            await tell(delivery.notices, sink, self.new_id)
        return {key: Instructions(d.text, d.labels) for key, d in found.items() if d.text}


async def tell(notices: Sequence[str], sink: Sink, new_id: NewId) -> None:
    """Show notices to the user, also in clients without notice support."""
    for notice in notices:
        await sink.emit(NoticeRaised("warning", notice, new_id(), is_said=True))
