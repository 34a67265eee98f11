"""Turn contexts: everything that a turn of a session runs with."""

from dataclasses import replace

from acp_server.session.context import SessionContext
from acp_server.session.prompting.context_maintenance import SessionContextMaintenance
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.session.tools import SessionTools
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.context import TurnContext
from acp_server.turn.context_counter import ContextCounter


@frozen_dataclass
class TurnContextBuilder:
    """Builds the turn contexts of one session."""

    context: SessionContext
    tools: SessionTools
    system: SystemPrompt
    maintenance: SessionContextMaintenance
    max_requests: int
    counter: ContextCounter
    """Counts the requests of the session's conversation."""

    async def build(self) -> TurnContext:
        """Return the context of the next turn; the system prompt is written once per model."""
        # Tools first: the system prompt names them, and MCP servers may still be connecting.
        toolbox, model_id = await self.tools.for_turn(), self.context.options.model_id
        system = await self.system.get_text(model_id)
        return replace(
            self.context.models.context_for(model_id, toolbox, system),
            max_requests=self.max_requests,
            maintenance=self.maintenance,
            counter=self.counter,
            carry_over=self.tools.current.carry_over,
        )
