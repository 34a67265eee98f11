"""The built-in slash commands that every session answers without the model.

Each command reads the session's current state when it runs. Commands that select a model or mode,
and prompt commands for the model, are in their own modules.
"""

from collections.abc import Awaitable, Callable, Sequence

from anyio import to_thread

from acp_server.memory.pages import MemoryPage, ReadMemory
from acp_server.permissions.lazy_imports import load_forecast
from acp_server.session.commands.choice_commands import ChoiceCommands
from acp_server.session.commands.prompt_commands import Errands
from acp_server.session.commands.registry import Command, Errand
from acp_server.session.commands.usage_text import account_of
from acp_server.session.project.choices import Choices
from acp_server.session.prompting.compaction import Compactor, TooShortError
from acp_server.session.prompting.context_maintenance import tell
from acp_server.session.prompting.provider import Briefing
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit
from acp_server.turn.ports import Sink, Toolbox
from acp_server.turn.step import NewId

SUM_UP = "Summarize the conversation to free space in the context window"
SHOW_CONTEXT = "Show the system prompt's contents and how full the context window is"
SHOW_MEMORY = "Show the memories that are kept across sessions"
SHOW_TOOLS = "List the tools, and how the current mode treats their calls"
SHOW_USAGE = "Show the tokens and the cost of this session"
RELOAD = "Read the project's instructions again"
QUEUE = "Run a prompt after the current turn"
STEER = "Send a message to the current turn"
NEEDS_TEXT = "Add the prompt after the command, in the same message."
NO_MEMORY = "There are no memories: both stores are disabled."
NOT_SHOWN = " **(blocked: the model does not see it)**"


@frozen
class OwnCommands:
    """The built-in commands of one session."""

    conversation: Conversation
    briefing: Briefing
    system: SystemPrompt
    compactor: Compactor
    choices: Choices
    kit: Callable[[], Awaitable[Kit]]
    toolbox: Callable[[], Awaitable[Toolbox]]
    read_memory: ReadMemory
    tell_choice: Callable[[], None]
    """Notifies the editor of a selection made here."""
    new_id: NewId

    def all(self, errands: Errands) -> Sequence[Command | Errand]:
        """Return the commands, including the prompt commands for the model."""
        return (
            Command("compact", SUM_UP, self._compact, "[what must not be lost]"),
            Command("context", SHOW_CONTEXT, self._context),
            Command("memory", SHOW_MEMORY, self._memory),
            Command("reload", RELOAD, self._reload),
            Command("queue", QUEUE, _needs_text, "<prompt>"),
            Command("steer", STEER, _needs_text, "<prompt>"),
            Command("tools", SHOW_TOOLS, self._tools),
            Command("usage", SHOW_USAGE, self._usage),
            *ChoiceCommands(self.choices, self.tell_choice).all(),
            *errands.all(),
        )

    async def _context(self, arguments: str, sink: Sink) -> str:
        del arguments, sink
        window, used = (await self.kit()).meter.window_tokens, self.compactor.spent.context_tokens
        share = f"{used:,} of {window:,} tokens ({used / window:.0%})"
        told = f"The window holds {share}." if used else "Its fill level shows after an answer."
        return f"{self.briefing.description()}\n\n{told}"

    async def _reload(self, arguments: str, sink: Sink) -> str:
        """Write the system prompt again; reasoning signed behind the old prompt becomes invalid."""
        del arguments
        self.system.forget_seals()
        await self.system.write(self.choices.model_id)
        await tell(self.briefing.notices(), sink, self.new_id)
        return f"The instructions were read again.\n\n{self.briefing.description()}"

    async def _compact(self, focus: str, sink: Sink) -> str:
        try:
            await self.compactor.compact(self.conversation, await self.kit(), sink, focus)
        except TooShortError as error:
            return error.reason
        return f"The conversation now has {len(self.conversation)} messages."

    async def _tools(self, arguments: str, sink: Sink) -> str:
        del arguments, sink
        mode, specs = self.choices.mode, (await self.toolbox()).specs
        forecast = await load_forecast()
        lines = [
            f"- `{spec.name}`: {_first_sentence(spec.description)} *{forecast(spec.name, mode)}*"
            for spec in specs
        ]
        return "\n".join([f"In the mode `{mode}`:\n", *lines]) if lines else "There are no tools."

    async def _memory(self, arguments: str, sink: Sink) -> str:
        del arguments, sink
        pages = await to_thread.run_sync(self.read_memory)
        return "\n\n".join(map(_page, pages)) or NO_MEMORY

    async def _usage(self, arguments: str, sink: Sink) -> str:
        del arguments, sink
        meter = self.choices.catalog.meter(self.choices.model_id)
        return account_of(self.compactor.spent, meter.window_tokens)


async def _needs_text(arguments: str, sink: Sink) -> str:
    """Ask for a text: with one, `/queue` and `/steer` are prompts (see `steering`)."""
    del arguments, sink
    return NEEDS_TEXT


def _first_sentence(description: str) -> str:
    first = " ".join(description.split()).partition(". ")[0]
    return f"{first.rstrip('.')}."


def _page(page: MemoryPage) -> str:
    head = f"**{page.name}** (`{page.path}`)"
    if page.problem:
        return f"{head}: {page.problem}"
    lines = [
        f"- {entry.replace(chr(10), f'{chr(10)}  ')}{NOT_SHOWN if number in page.blocked else ''}"
        for number, entry in enumerate(page.entries)
    ]
    return "\n".join([f"{head}, {page.usage} characters\n", *(lines or ["(empty)"])])
