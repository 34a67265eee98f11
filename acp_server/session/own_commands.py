"""The slash commands that every session has of itself: /compact, /context, /reload."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from acp_server.session.briefing import Briefing
from acp_server.session.commands import Command
from acp_server.session.compaction import Compactor, TooShortError
from acp_server.session.system import SystemPrompt
from acp_server.session.upkeep import tell
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId

SUM_UP = "Sum the conversation up to make room"
SHOW_CONTEXT = "Show what the model is told, and how full its window is"
RELOAD = "Read the instructions of the project anew"
QUEUE = "Run a prompt behind the turn that runs"
STEER = "Say something to the turn that runs"
NEEDS_TEXT = "Put the prompt behind it, in the same message."


@dataclass(frozen=True, slots=True)
class OwnCommands:
    """The commands of one session, and what they work on."""

    conversation: Conversation
    briefing: Briefing
    system: SystemPrompt
    compactor: Compactor
    kit: Callable[[], Awaitable[Kit]]
    model_id: Callable[[], str]
    new_id: NewId

    def all(self) -> Sequence[Command]:
        """Return them."""
        return (
            Command("compact", SUM_UP, self._compact, "[what must not be lost]"),
            Command("context", SHOW_CONTEXT, self._context),
            Command("reload", RELOAD, self._reload),
            Command("queue", QUEUE, _needs_text, "<prompt>"),
            Command("steer", STEER, _needs_text, "<prompt>"),
        )

    async def _context(self, arguments: str, sink: Sink) -> str:
        del arguments, sink
        window, used = (await self.kit()).meter.window_tokens, self.compactor.spent.context_tokens
        share = f"{used:,} of {window:,} tokens ({used / window:.0%})"
        told = f"The window holds {share}." if used else "How full it is shows with an answer."
        return f"{self.briefing.description()}\n\n{told}"

    async def _reload(self, arguments: str, sink: Sink) -> str:
        """Write the system prompt anew; what a provider sealed before does not hold behind it."""
        del arguments
        self.system.forget_seals()
        await self.system.write(self.model_id())
        await tell(self.briefing.notices(), sink, self.new_id)
        return f"The instructions were read anew.\n\n{self.briefing.description()}"

    async def _compact(self, focus: str, sink: Sink) -> str:
        try:
            await self.compactor.compact(self.conversation, await self.kit(), sink, focus)
        except TooShortError as error:
            return error.reason
        return f"There are {len(self.conversation)} messages now."


async def _needs_text(arguments: str, sink: Sink) -> str:
    """Say that there was nothing to run: with a text these two are prompts (`steering`)."""
    del arguments, sink
    return NEEDS_TEXT
