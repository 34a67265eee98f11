"""What keeps a task's conversation fit: its budget, a summary in time, instructions of folders."""

from collections.abc import Mapping, Sequence

from acp_server.delegation.task import Budget, TaskSpent
from acp_server.frozen import frozen
from acp_server.session.upkeep import SessionUpkeep
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Instructions, Kit
from acp_server.turn.ports import Sink


@frozen
class TaskUpkeep:
    """The upkeep of one task's conversation."""

    upkeep: SessionUpkeep
    budget: Budget
    spent: TaskSpent

    async def prepared(self, conversation: Conversation, kit: Kit, sink: Sink) -> Kit:
        """Return what the next call of the model works with.

        Raises:
            BudgetSpentError: there is to be none.
        """
        self.budget.check(self.spent)
        return await self.upkeep.prepared(conversation, kit, sink)

    async def instruct(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: Sink
    ) -> Mapping[str, Instructions]:
        """Return what is added to the results of calls, as for the session's own."""
        return await self.upkeep.instruct(conversation, touched, sink)
