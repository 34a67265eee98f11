"""What keeps a session's conversation fit: summed up in time, and given local instructions."""

from collections.abc import Mapping, Sequence

from acp_server.frozen import frozen
from acp_server.session.briefing import Briefing
from acp_server.session.compaction import Compactor
from acp_server.turn.conversation import Conversation
from acp_server.turn.events import NoticeRaised
from acp_server.turn.loop import Instructions, Kit
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId


@frozen
class SessionUpkeep:
    """The upkeep of one session's conversation."""

    compactor: Compactor
    briefing: Briefing
    new_id: NewId

    async def prepared(self, conversation: Conversation, kit: Kit, sink: Sink) -> Kit:
        """Return what the next call of the model works with."""
        return await self.compactor.prepared(conversation, kit, sink)

    async def instruct(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: Sink
    ) -> Mapping[str, Instructions]:
        """Return what is added to the results of calls; tell the user what cannot be."""
        found = await self.briefing.instructions(conversation, touched)
        for delivery in found.values():
            await tell(delivery.notices, sink, self.new_id)
        return {key: Instructions(d.text, d.labels) for key, d in found.items() if d.text}


async def tell(notices: Sequence[str], sink: Sink, new_id: NewId) -> None:
    """Tell the user what of the project's files the model does not see."""
    for notice in notices:
        await sink.emit(NoticeRaised("warning", notice, new_id(), is_said=True))
