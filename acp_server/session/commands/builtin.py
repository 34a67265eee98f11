"""The built-in slash commands that every session answers without the model.

Each command reads the session's current state when it runs. Commands that select a model or mode,
and prompt commands for the model, are in their own modules.
"""

from collections.abc import Awaitable, Callable, Sequence

from anyio import to_thread

from acp_server.memory.pages import MemoryPage, ReadMemory
from acp_server.permissions.lazy_imports import load_forecast
from acp_server.session.commands.choice_commands import OptionCommands
from acp_server.session.commands.prompt_commands import PromptCommands
from acp_server.session.commands.registry import PromptCommand, SlashCommand
from acp_server.session.commands.usage_text import format_usage
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.prompting.compaction import Compactor, TooShortError
from acp_server.session.prompting.context_maintenance import show_notices
from acp_server.session.prompting.provider import PromptProvider
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import TurnContext
from acp_server.turn.ports import Toolbox, TurnSink
from acp_server.turn.step import NewId

COMPACT_HELP = "Summarize the conversation to free space in the context window"
CONTEXT_HELP = "Show the system prompt's contents and how full the context window is"
MEMORY_HELP = "Show the memories that are kept across sessions"
TOOLS_HELP = "List the tools, and how the current mode treats their calls"
USAGE_HELP = "Show the tokens and the cost of this session"
RELOAD_HELP = "Read the project's instructions again"
QUEUE_HELP = "Run a prompt after the current turn"
STEER_HELP = "Send a message to the current turn"
NEEDS_TEXT = "Add the prompt after the command, in the same message."
NO_MEMORY = "There are no memories: both stores are disabled."
BLOCKED_ENTRY = " **(blocked: the model does not see it)**"


@frozen_dataclass
class BuiltinCommands:
    """The built-in commands of one session."""

    conversation: Conversation
    prompt_provider: PromptProvider
    system: SystemPrompt
    compactor: Compactor
    options: SelectedOptions
    context: Callable[[], Awaitable[TurnContext]]
    toolbox: Callable[[], Awaitable[Toolbox]]
    read_memory: ReadMemory
    notify_editor: Callable[[], None]
    """Notifies the editor of a selection made here."""
    new_id: NewId

    def all(self, prompt_commands: PromptCommands) -> Sequence[SlashCommand | PromptCommand]:
        """Return the commands, including the prompt commands for the model."""
        return (
            SlashCommand("compact", COMPACT_HELP, self._compact, "[what must not be lost]"),
            SlashCommand("context", CONTEXT_HELP, self._context),
            SlashCommand("memory", MEMORY_HELP, self._memory),
            SlashCommand("reload", RELOAD_HELP, self._reload),
            SlashCommand("queue", QUEUE_HELP, _needs_text, "<prompt>"),
            SlashCommand("steer", STEER_HELP, _needs_text, "<prompt>"),
            SlashCommand("tools", TOOLS_HELP, self._tools),
            SlashCommand("usage", USAGE_HELP, self._usage),
            *OptionCommands(self.options, self.notify_editor).all(),
            *prompt_commands.all(),
        )

    async def _context(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        window, used = (
            (await self.context()).meter.window_tokens,
            self.compactor.totals.context_tokens,
        )
        share = f"{used:,} of {window:,} tokens ({used / window:.0%})"
        fill = f"The window holds {share}." if used else "Its fill level shows after an answer."
        return f"{self.prompt_provider.describe()}\n\n{fill}"

    async def _reload(self, arguments: str, sink: TurnSink) -> str:
        """Write the system prompt again; reasoning signed behind the old prompt becomes invalid."""
        del arguments
        self.system.drop_reasoning()
        await self.system.write(self.options.model_id)
        await show_notices(self.prompt_provider.take_notices(), sink, self.new_id)
        return f"The instructions were read again.\n\n{self.prompt_provider.describe()}"

    async def _compact(self, focus: str, sink: TurnSink) -> str:
        try:
            await self.compactor.compact(self.conversation, await self.context(), sink, focus)
        except TooShortError as error:
            return error.reason
        return f"The conversation now has {len(self.conversation)} messages."

    async def _tools(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        mode, specs = self.options.mode, (await self.toolbox()).specs
        forecast = await load_forecast()
        lines = [
            f"- `{spec.name}`: {_first_sentence(spec.description)} *{forecast(spec.name, mode)}*"
            for spec in specs
        ]
        return "\n".join([f"In the mode `{mode}`:\n", *lines]) if lines else "There are no tools."

    async def _memory(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        pages = await to_thread.run_sync(self.read_memory)
        return "\n\n".join(map(_format_page, pages)) or NO_MEMORY

    async def _usage(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        meter = self.options.catalog.meter(self.options.model_id)
        return format_usage(self.compactor.totals, meter.window_tokens)


async def _needs_text(arguments: str, sink: TurnSink) -> str:
    """Ask for a text: with one, `/queue` and `/steer` are prompts (see `steering`)."""
    del arguments, sink
    return NEEDS_TEXT


def _first_sentence(description: str) -> str:
    first = " ".join(description.split()).partition(". ")[0]
    return f"{first.rstrip('.')}."


def _format_page(page: MemoryPage) -> str:
    head = f"**{page.name}** (`{page.path}`)"
    if page.problem:
        return f"{head}: {page.problem}"
    # Further lines are indented, so that they stay in their list item.
    lines = [
        f"- {entry.replace(chr(10), f'{chr(10)}  ')}"
        f"{BLOCKED_ENTRY if number in page.blocked else ''}"
        for number, entry in enumerate(page.entries)
    ]
    return "\n".join([f"{head}, {page.usage} characters\n", *(lines or ["(empty)"])])
