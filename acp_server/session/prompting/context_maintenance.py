"""Context maintenance: room in the context window, and local instructions for touched paths."""

from collections.abc import Mapping, Sequence

from acp_server.session.ids import new_id
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.provider import PromptProvider
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.context import Instructions, TurnContext
from acp_server.turn.conversation import Conversation, ToolResult
from acp_server.turn.events import NoticeRaised
from acp_server.turn.ports import TurnSink


@frozen_dataclass
class SessionContextMaintenance:
    """Context maintenance for one session's conversation."""

    compactor: Compactor
    provider: Lazy[PromptProvider]

    async def prepare_request(
        self, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> TurnContext:
        """Return the context for the next model request."""
        return await self.compactor.prepare_request(conversation, context, sink)

    async def bound_results(
        self, conversation: Conversation, context: TurnContext, results: Sequence[ToolResult]
    ) -> Sequence[ToolResult]:
        """Return the results of a batch, cut to their share of the context window."""
        return await self.compactor.bound_results(conversation, context, results)

    async def find_instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: TurnSink
    ) -> Mapping[str, Instructions]:
        """Return instructions to add to tool results; tell the user about unusable files."""
        provider = await self.provider.get()
        found = await provider.find_instructions(conversation, touched)
        for delivery in found.values():
            await show_notices(delivery.notices, sink)
        return {key: Instructions(d.text, d.labels) for key, d in found.items() if d.text}


async def show_notices(notices: Sequence[str], sink: TurnSink) -> None:
    """Show notices to the user, also in clients without notice support."""
    for notice in notices:
        await sink.emit(NoticeRaised("warning", notice, new_id(), is_said=True))
