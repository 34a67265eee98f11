"""Context maintenance of a task: budget check, compaction, and instructions of directories."""

from collections.abc import Mapping, Sequence

from acp_server.session.prompting.context_maintenance import SessionContextMaintenance
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.task import TaskBudget, TaskUsageTotals
from acp_server.turn.context import Instructions, TurnContext
from acp_server.turn.conversation import Conversation, ToolResult
from acp_server.turn.ports import TurnSink


@frozen_dataclass
class TaskContextMaintenance:
    """Context maintenance of one task's conversation."""

    maintenance: SessionContextMaintenance
    budget: TaskBudget
    totals: TaskUsageTotals

    async def prepare_request(
        self, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> TurnContext:
        """Return the context for the next model request.

        Raises:
            TaskBudgetError: the budget is used up.
        """
        self.budget.check(self.totals)
        return await self.maintenance.prepare_request(conversation, context, sink)

    async def bound_results(
        self, conversation: Conversation, context: TurnContext, results: Sequence[ToolResult]
    ) -> Sequence[ToolResult]:
        """Return the results of a batch, cut to their share of the context window."""
        return await self.maintenance.bound_results(conversation, context, results)

    async def find_instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: TurnSink
    ) -> Mapping[str, Instructions]:
        """Return instructions to add to the results of calls, as for the session's own."""
        return await self.maintenance.find_instructions(conversation, touched, sink)
