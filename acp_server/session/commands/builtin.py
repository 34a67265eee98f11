"""The built-in slash commands that every session answers without the model.

Each command reads the session's current state when it runs. Commands that select a model or mode,
and prompt commands for the model, are in their own modules.
"""

from collections.abc import Sequence

from anyio import to_thread

from acp_server.memory.pages import MemoryPage, ReadMemory
from acp_server.permissions.lazy_imports import load_forecast
from acp_server.session.commands.choice_commands import OptionCommands
from acp_server.session.commands.command import PromptCommand, SlashCommand
from acp_server.session.commands.prompt_commands import PromptCommands
from acp_server.session.commands.usage_text import format_usage
from acp_server.session.context import SessionContext
from acp_server.session.ids import new_id
from acp_server.session.prompting.compaction import Compactor, NothingToSummarizeError
from acp_server.session.prompting.context_maintenance import show_notices
from acp_server.session.prompting.provider import PromptProvider
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.session.tools import SessionTools
from acp_server.session.turn_contexts import TurnContextBuilder
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import TurnSink

COMPACT_HELP = "Summarize the conversation to free space in the context window"
CONTEXT_HELP = "Show the system prompt's contents and how full the context window is"
MEMORY_HELP = "Show the memories that are kept across sessions"
TOOLS_HELP = "List the tools, and how the current mode treats their calls"
USAGE_HELP = "Show the tokens and the cost of this session"
RESET_HELP = "Clear the conversation, so that the model starts anew; files stay as they are"
RELOAD_HELP = "Read the project's instructions again"
QUEUE_HELP = "Run a prompt after the current turn"
MCP_HELP = "Show the MCP servers and their problems; sign in to one, or out"
SKILLS_HELP = "List the skills, their state, and the withheld ones"
UNDO_HELP = "Restore files to their state before the last or an earlier turn"
CHECKPOINTS_HELP = "List the checkpoints that you can restore"
FORWARD_HELP = "Open a port of sandboxed commands to this machine, or list the ports"
STEER_HELP = "Send a message to the current turn"
NEEDS_TEXT = "Add the prompt after the command, in the same message."
NO_MEMORY = "There are no memories: both stores are disabled."
BLOCKED_ENTRY = " **(blocked: the model does not see it)**"


@frozen_dataclass
class BuiltinCommands:
    """The built-in commands of one session."""

    context: SessionContext
    tools: SessionTools
    provider: Lazy[PromptProvider]
    system: SystemPrompt
    compactor: Compactor
    turn_contexts: TurnContextBuilder
    read_memory: ReadMemory

    def all(self) -> Sequence[SlashCommand | PromptCommand]:
        """Return the commands, including the prompt commands for the model."""
        options = self.context.options
        prompts = PromptCommands(self.context.workspace.cwd, options, self.provider)
        return (
            SlashCommand("compact", COMPACT_HELP, self._compact, "[what must not be lost]"),
            SlashCommand("context", CONTEXT_HELP, self._context, only_reads=True),
            SlashCommand("memory", MEMORY_HELP, self._memory, only_reads=True),
            SlashCommand("reload", RELOAD_HELP, self._reload),
            SlashCommand("reset", RESET_HELP, self._reset),
            SlashCommand("queue", QUEUE_HELP, _needs_text, "<prompt>"),
            SlashCommand("steer", STEER_HELP, _needs_text, "<prompt>"),
            SlashCommand("tools", TOOLS_HELP, self._tools),
            SlashCommand("usage", USAGE_HELP, self._usage, only_reads=True),
            SlashCommand("mcp", MCP_HELP, self._mcp, "[sign-in or sign-out] [server]"),
            SlashCommand("skills", SKILLS_HELP, self._skills),
            SlashCommand("undo", UNDO_HELP, self._undo, "[number or id] [--conversation]"),
            SlashCommand("checkpoints", CHECKPOINTS_HELP, self._checkpoints, only_reads=True),
            SlashCommand("forward", FORWARD_HELP, self._forward, "[port | stop port]"),
            *OptionCommands(options).all(),
            *prompts.all(),
        )

    async def _context(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        options = self.context.options
        # Not while a turn runs: its prompt is written, and it may change under no turn.
        if self.system.saved is None or self.system.is_unverified:
            await self.turn_contexts.build()
        window = options.catalog.meter(options.model_id).window_tokens
        used = self.context.totals.context_tokens
        share = f"{used:,} of {window:,} tokens ({used / window:.0%})"
        fill = f"The window holds {share}." if used else "Its fill level shows after an answer."
        toolset = await self.tools.prepare()
        rules = await to_thread.run_sync(toolset.describe_rules)
        files, agents = toolset.command_files.describe(), toolset.agents.describe()
        parts = ((await self.provider.get()).describe(), files, agents, rules, fill)
        return "\n\n".join(filter(None, parts))

    async def _reload(self, arguments: str, sink: TurnSink) -> str:
        """Write the system prompt again."""
        del arguments
        await self._rebuild()
        provider = await self.provider.get()
        await show_notices(provider.take_notices(), sink)
        return f"The instructions were read again.\n\n{provider.describe()}"

    async def _reset(self, arguments: str, sink: TurnSink) -> str:
        """Remove all messages, and write the system prompt again."""
        del arguments, sink
        count = len(self.context.conversation)
        self.context.conversation.rebuild(())
        self.context.totals.context_tokens = 0
        await self._rebuild()
        return f"The conversation was cleared: the model no longer sees its {count} messages."

    async def _rebuild(self) -> None:
        """Write the system prompt and the tools again."""
        self.system.drop_reasoning()  # it is signed behind the old prompt
        await self.system.write(self.context.options.model_id)

    async def _compact(self, focus: str, sink: TurnSink) -> str:
        conversation = self.context.conversation
        context = await self.turn_contexts.build()
        try:
            await self.compactor.compact(conversation, context, sink, focus)
        except NothingToSummarizeError as error:
            return error.reason
        return f"The conversation now has {len(conversation)} messages."

    async def _tools(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        mode, specs = self.context.options.mode, (await self.tools.for_turn()).specs
        forecast = await load_forecast()
        lines = [
            f"- `{spec.name}`: {_first_sentence(spec.description)} *{forecast(spec.name, mode)}*"
            for spec in specs
        ]
        return "\n".join([f"In the mode `{mode}`:\n", *lines]) if lines else "There are no tools."

    async def _mcp(self, arguments: str, sink: TurnSink) -> str:
        async def show_text(text: str) -> None:
            await sink.emit(MessageChunk(new_id(), text))

        answer = await (await self.tools.prepare()).servers.run_command(arguments, show_text)
        if answer.has_new_tools:
            await self._rebuild()
        return answer.text

    async def _skills(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        return await (await self.tools.prepare()).skills.describe()

    async def _undo(self, arguments: str, sink: TurnSink) -> str:
        return await (await self.tools.prepare()).checkpoints.undo(arguments, sink)

    async def _checkpoints(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        return await (await self.tools.prepare()).checkpoints.describe()

    async def _forward(self, arguments: str, sink: TurnSink) -> str:
        del sink
        return await (await self.tools.prepare()).port_forwarding.run(arguments)

    async def _memory(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        pages = await to_thread.run_sync(self.read_memory)
        return "\n\n".join(map(_format_page, pages)) or NO_MEMORY

    async def _usage(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        options = self.context.options
        meter = options.catalog.meter(options.model_id)
        return format_usage(self.context.totals, meter.window_tokens)


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
