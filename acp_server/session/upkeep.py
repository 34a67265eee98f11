"""What keeps a session's conversation fit: summed up in time, and given local instructions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from acp_server.session.compaction import Compactor
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit
from acp_server.turn.ports import Sink


class Instructor(Protocol):
    """Knows the instructions that lie in the folders of a workspace."""

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: Sink
    ) -> Mapping[str, str]:
        """Return what is new for the paths that calls touched, by the calls' ids."""
        ...


@dataclass(frozen=True, slots=True)
class SessionUpkeep:
    """The upkeep of one session's conversation."""

    compactor: Compactor
    instructor: Instructor | None = None

    async def prepared(self, conversation: Conversation, kit: Kit, sink: Sink) -> Kit:
        """Return what the next call of the model works with."""
        return await self.compactor.prepared(conversation, kit, sink)

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: Sink
    ) -> Mapping[str, str]:
        """Return what is added to the results of calls."""
        if self.instructor is None:
            return {}
        return await self.instructor.instructions(conversation, touched, sink)
