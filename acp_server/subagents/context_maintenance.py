"""Context maintenance of a task: budget check, compaction, and instructions of directories."""

from collections.abc import Mapping, Sequence

from acp_server.session.prompting.context_maintenance import SessionUpkeep
from acp_server.startup.fast_dataclass import frozen
from acp_server.subagents.task import Budget, TaskSpent
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Instructions, Kit
from acp_server.turn.ports import Sink


@frozen
class TaskUpkeep:
    """Context maintenance of one task's conversation."""

    upkeep: SessionUpkeep
    budget: Budget
    spent: TaskSpent

    async def prepared(self, conversation: Conversation, kit: Kit, sink: Sink) -> Kit:
        """Return the context for the next model request.

        Raises:
            BudgetSpentError: the budget is used up.
        """
        self.budget.check(self.spent)
        return await self.upkeep.prepared(conversation, kit, sink)

    async def instruct(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: Sink
    ) -> Mapping[str, Instructions]:
        """Return instructions to add to the results of calls, as for the session's own."""
        return await self.upkeep.instruct(conversation, touched, sink)
