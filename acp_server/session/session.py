"""A session: one conversation with its workspace, options and queue of turns."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from acp_server.permissions.modes import Mode, is_mode
from acp_server.session.commands.builtin import BuiltinCommands
from acp_server.session.commands.prompt_commands import PromptCommands
from acp_server.session.commands.registry import (
    CommandRegistry,
    PromptCommand,
    SlashCommand,
    parse_invocation,
)
from acp_server.session.commands.router import PromptRouter
from acp_server.session.diagnostics import DiagnosticsStore
from acp_server.session.ids import new_id
from acp_server.session.pending_notices import PendingNotices
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.checkpoints import CheckpointCommands
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.session.ports.mcp import McpSession
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.reviews import ReviewingTurnQueue
from acp_server.session.ports.skills import SkillCommands
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.project.options import Option
from acp_server.session.project.requests import ProjectRequests
from acp_server.session.prompt_results import PromptResult
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.context_maintenance import SessionContextMaintenance, show_notices
from acp_server.session.prompting.enricher import PromptEnricher
from acp_server.session.prompting.provider import LoadedFile
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.session.recorder import RecordingSink, SessionRecorder
from acp_server.session.running_tasks import RunningTasks
from acp_server.session.services import (
    SessionServices,
    SessionSnapshot,
    SessionWorkspace,
    new_snapshot,
)
from acp_server.session.session_tools import SessionTools
from acp_server.session.side_requests import NullSink, ask_model
from acp_server.session.steering import BusyMode, MidTurnInputSource, Steering, turn_result
from acp_server.session.turn_queue import EventSink, QueuedPrompt, TurnJob
from acp_server.session.user_notices import UserNotices
from acp_server.turn.conversation import Conversation, Text, UserMessage, prompt_to_text
from acp_server.turn.errors import TurnError
from acp_server.turn.events import MessageChunk
from acp_server.turn.loop import Turn, TurnContext
from acp_server.turn.ports import Model, ModelRequest, StopReason, Toolbox, TurnSink


class Session:
    """A conversation in a workspace."""

    def __init__(
        self,
        workspace: SessionWorkspace,
        services: SessionServices,
        snapshot: SessionSnapshot | None = None,
        servers: Sequence[ServerConfig] = (),
    ) -> None:
        """Start a session or continue one; `servers` are MCP servers named by the editor."""
        snapshot = snapshot or new_snapshot(workspace, services)
        facts = snapshot.facts
        self.id, self.totals, self.workspace = facts.id, facts.usage, workspace
        self._services, self._prompt_provider = services, services.prompt_provider(workspace)
        # The journal already holds these messages; only later ones are written.
        self.conversation = Conversation(snapshot.messages, snapshot.journal)
        self.active_file: Path | None = None  # in the user's view, where the editor says so
        self.on_option_change: Callable[[], None] = _ignore_change
        """Called when the session itself changes a mode or an option."""
        self.on_turn_end: Callable[[str], None] = _ignore_end  # why it ended; not waited for
        self.notices, self.pending_notices = UserNotices(self.conversation), PendingNotices()
        self.diagnostics, self.tasks = DiagnosticsStore(), RunningTasks()
        self.recorder = SessionRecorder(snapshot.journal, facts, self._current_facts)
        # After the recorder: every change of an option is stored through it.
        self._options = self._restore_options(facts)
        self.commands, self._models = CommandRegistry(), dict[str, Model]()
        self.skills, self._steering = SkillCommands(self.commands), Steering()
        self.checkpoints = CheckpointCommands(self.commands, self.prepare)
        self.servers = McpSession(self.commands, servers, self._allowed_tools)
        self._tools = SessionTools(self, services, self._allowed_tools)
        self._external_memory = ExternalMemorySession(
            services.memory, self.notices, self.conversation
        )
        # After tools, skills, servers and memory: the prompt keeps references to their methods.
        self._system = self._restore_system_prompt(facts)
        trust = services.trust(self) if services.trust is not None else None
        self._project_requests = ProjectRequests(
            self._prompt_provider,
            self._options,
            self._system,
            trust,
            new_id,
            self.skills,
            self.servers,
        )
        self._compactor = Compactor(
            self.totals, self._rewrite_system, services.compaction_threshold
        )
        self._maintenance = SessionContextMaintenance(
            self._compactor, self._prompt_provider, new_id
        )
        self._enricher = PromptEnricher(
            self.conversation, self._maintenance, self._external_memory, self._options, self.servers
        )
        # Before skills are loaded: a skill with the name of a built-in command gets a prefix.
        self.commands.add(*self._builtin_commands())
        self._router = PromptRouter(self.commands, self.skills, self._tools.turn_toolbox, new_id)
        # Last: a review receives the session and may use any of the members above.
        self._turns = ReviewingTurnQueue(services.reviews(self, self._turn_context))
        self._running_prompt: QueuedPrompt | None = None

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        return self._options.mode

    @property
    def model_id(self) -> str:
        """The model of the next turn."""
        return self._options.model_id

    @property
    def thought_level(self) -> str | None:
        """The thought level of the next turn; None if the model offers no choice."""
        return self._options.thought_level

    @property
    def preferred_skills(self) -> Sequence[str]:
        """Names of skills that the project prefers, once it is read and trusted."""
        return self._project_requests.skills

    @property
    def window_tokens(self) -> int:
        """The model's context window in tokens."""
        return self._services.catalog.meter(self.model_id).window_tokens

    @property
    def instructions(self) -> Sequence[LoadedFile]:
        """The instruction files delivered to the model."""
        return self._prompt_provider.loaded_files()

    @property
    def selected_options(self) -> SelectedOptions:
        """The selected options."""
        return self._options

    @property
    def options(self) -> Sequence[Option]:
        """The options with their current values."""
        return self._options.options

    def set_mode(self, mode: str) -> None:
        """Switch the mode, at any time.

        Raises:
            UnknownModeError: there is no such mode.
        """
        self._options.set_mode(mode)

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001  a value
        """Select a value of an option, at any time; a running turn keeps its model.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidValueError: the option has no such value.
        """
        self._options.set_option(option_id, value)

    @property
    def is_idle(self) -> bool:
        """Whether no prompt is running or queued."""
        return self._turns.is_empty

    @property
    def busy_prompt(self) -> BusyMode:
        """The configured handling of a prompt that arrives while a turn runs."""
        return self._services.busy_prompt

    def enqueue(self, message: UserMessage, mode: BusyMode = "queue") -> QueuedPrompt:
        """Enqueue a prompt; must be called in the order in which prompts arrive.

        While a turn runs, the prompt may join that turn or replace it, depending on `mode`.
        """
        if mode == "interrupt":
            self.cancel()  # before `enqueue`: afterwards it would cancel the new prompt as well
        queued_prompt = self._turns.enqueue()
        # Commands are never steered: they are answered here and would reach the model as text.
        # A prompt that is already next has no running turn to join.
        is_text = parse_invocation(prompt_to_text(message.parts)) is None
        if mode == "steer" and is_text and not queued_prompt.is_next.is_set():
            self._steering.offer(queued_prompt, message)
        return queued_prompt

    async def prompt(
        self,
        queued: QueuedPrompt,
        message: UserMessage,
        sink: EventSink,
        abandon: Callable[[], None],
    ) -> PromptResult:
        """Run a queued prompt; `abandon` is called if the turn does not react to cancellation.

        Raises:
            TurnError: the model cannot be asked, or failed; the user has been told why.
        """
        turns: list[Turn] = []
        # `run` never starts for a prompt that is cancelled while it waits.
        before = self.totals.copy()

        async def run(turn_sink: TurnSink) -> StopReason:
            nonlocal before
            before = self.totals.copy()  # again: other prompts may have run while this one waited
            # The previous turn may have taken this prompt: then it is answered already.
            end = self._steering.take_end(queued)
            if end is not None:
                return turn_result(end)
            self._running_prompt = queued
            # Marked before the prompt is stored: after a crash, a prompt without a turn end tells
            # the next process to repair the conversation.
            self.recorder.journal.begin_turn()
            self.recorder.record_prompt(message)
            try:
                prompt = await self._router.route(message, turn_sink)
                return await self._run_turn(prompt, turn_sink, turns) if prompt else "end_turn"
            except TurnError as error:
                # Also shown as a message: many clients hide the data of a JSON-RPC error.
                # An error caused by the cancel itself is not news for the user.
                if not queued.is_cancelled.is_set():
                    await turn_sink.emit(MessageChunk(new_id(), error.reason))
                raise

        def flush() -> None:
            # `turns` is empty if the prompt never got as far as its turn.
            for turn in turns:
                turn.flush()
            self._end_prompt(queued)

        # Inside the sink that the queue revokes: events of an abandoned turn are not stored either.
        recording_sink = RecordingSink(self.recorder.journal, sink)
        try:
            reason = await self._turns.run(queued, recording_sink, TurnJob(run, flush, abandon))
        finally:
            # The queue flushes only turns that it abandons; all others end here.
            self._end_prompt(queued)
        return PromptResult(reason, self.totals.since(before))

    def _end_prompt(self, queued_prompt: QueuedPrompt) -> None:
        """Record the end of a prompt, unless the next one has started meanwhile."""
        # An abandoned prompt ends twice (in `flush`, and when it returns at last). The second
        # time another prompt may be running, whose turn must not be recorded as over.
        if self._running_prompt is queued_prompt:
            self._running_prompt = None
            self.recorder.end_turn()
            self._external_memory.end_turn()

    async def _run_turn(
        self, message: UserMessage, sink: TurnSink, turns: list[Turn]
    ) -> StopReason:
        """Assemble a turn's context and run the turn; `turns` receives it for `flush`."""
        # First: system prompt, context window and price all depend on the resolved model.
        await self._services.catalog.resolve_default()
        turn_context = await self._turn_context()
        await show_notices(self._take_notices(), sink, new_id)
        # Project settings are known only after the prompt was written from the project's files,
        # and may change model, tools or mode: then the context must be built again.
        if await self._apply_project_requests(sink):
            turn_context = await self._turn_context()
        prompt = await self._enricher.enrich(message, turn_context.toolbox, self.active_file, sink)
        # Known to `flush` before it runs: an abandoned turn must be able to record its remains.
        turns.append(
            Turn(self.conversation, self._with_mid_turn_input(turn_context), sink, self.totals)
        )
        end: StopReason | TurnError = "cancelled"  # holds if cancellation skips both branches below
        try:
            # `message` is the prompt before enrichment: the checkpoint takes its title from it.
            async with self.checkpoints.record_turn(message, self.conversation):
                end = reason = await turns[0].run(prompt)
            return reason
        except TurnError as error:
            end = error
            raise
        finally:
            # Also after a cancel: prompts that the turn has taken are answered with its end.
            self._report_end(end)

    def _report_end(self, end: StopReason | TurnError) -> None:
        self._steering.finish(end)
        self.on_turn_end("failed" if isinstance(end, TurnError) else end)

    def _with_mid_turn_input(self, turn_context: TurnContext) -> TurnContext:
        """Return the turn context extended by mid-turn input and pending notices."""

        async def enrich(message: UserMessage, sink: TurnSink) -> UserMessage:
            # No active file: its instructions went with the prompt that started the turn.
            return await self._enricher.enrich(message, turn_context.toolbox, None, sink)

        mid_turn_input = MidTurnInputSource(self._steering, enrich, self.recorder.record_prompt)
        return replace(
            turn_context, mid_turn_input=mid_turn_input, take_notices=self.pending_notices.take
        )

    def set_notice_handler(self, show: Callable[[str], bool]) -> None:
        """Register `show` for notices between turns; it returns whether the notice was shown."""
        self._prompt_provider.on_notice(show)
        self.notices.on_notice(show)

    def cancel(self) -> None:
        """Cancel the running prompt and all queued ones; does nothing in an idle session."""
        self._turns.cancel_all()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt queued so far has ended."""
        await self._turns.wait_until_idle()

    async def close(self) -> None:
        """End all work and release the session to other processes."""
        await self.end_work()
        # Last: closing the journal releases the session, so nothing may be recorded afterwards.
        await self.recorder.journal.close()

    async def end_work(self) -> None:
        """End all prompts, then everything that tools left running."""
        # Watchers first, so that no change is reported to a session that is going away.
        self._prompt_provider.close()
        self.skills.close()
        self.cancel()
        # Tools and servers are closed only after the turns that use them have ended.
        await self.wait_until_idle()
        # At once: both wait for processes to end, and a shutdown has a time limit.
        async with anyio.create_task_group() as ending:
            ending.start_soon(self.servers.close)
            ending.start_soon(self._tools.close)

    async def ask_model(self, instructions: str, text: str) -> str:
        """Return the session's model's answer to a text, outside the conversation.

        Raises:
            TurnError: the model cannot be asked, failed, or returned no text.
        """
        request = ModelRequest((UserMessage((Text(text),)),), instructions)
        return await ask_model(request, await self._turn_context(), self.totals, NullSink())

    def _current_facts(self, facts: SessionFacts) -> SessionFacts:
        """Return the facts updated with the current options, usage and system prompt."""
        return replace(
            facts,
            # A reopened session may run in another workspace than the stored one.
            cwd=self.workspace.cwd,
            additional_directories=self.workspace.additional_directories,
            mode=self.mode,
            # The choices, not what they resolve to: None must keep following the default.
            model_id=self._options.chosen_model,
            thought_level=self._options.chosen_level,
            usage=self.totals.copy(),  # a copy: the journal writes it later, in the background
            system=self._system.saved,
        )

    async def prepare(self) -> Toolbox:
        """Return the session's tools, built at the first call."""
        return await self._tools.get_toolbox()

    async def gather_facts(self) -> None:
        """Read the facts of the system prompt ahead of time."""
        await self._prompt_provider.gather_facts()

    async def _turn_context(self) -> TurnContext:
        """Return the context for a turn; the system prompt is written once per model."""
        toolbox, model_id = await self._tools.turn_toolbox(), self.model_id
        turn_context = self.context_for(model_id, toolbox, await self._system.get_text(model_id))
        return replace(
            turn_context,
            max_requests=self._services.max_turn_requests,
            maintenance=self._maintenance,
        )

    def context_for(self, model_id: str, toolbox: Toolbox, system: str) -> TurnContext:
        """Return a context for a model, for the conversation or for a side request."""
        # Kept, because an adapter signs in on its first request.
        if model_id not in self._models:
            self._models[model_id] = self._services.catalog.model(model_id)
        return TurnContext(
            model=self._models[model_id],
            meter=self._services.catalog.meter(model_id),
            toolbox=toolbox,
            new_id=new_id,
            system=system,
            thought_level=self.thought_level,
            durability=self.recorder,
        )

    async def _rewrite_system(self) -> str:
        return await self._system.rewrite(self.model_id)

    def _allowed_tools(self) -> Collection[str] | None:
        return self._system.allowed_tools

    async def tool_names(self) -> frozenset[str]:
        """Return the names of the tools that the project's settings allow."""
        return await self._tools.names()

    def _take_notices(self) -> Sequence[str]:
        """Return the notices to show before the turn, once."""
        system_notice = self._system.take_notice()
        notices = [*self.notices.take(), *([system_notice] if system_notice else ())]
        return [*notices, *self._prompt_provider.take_notices()]

    async def _apply_project_requests(self, sink: TurnSink) -> bool:
        """Apply the project's requests; return whether that changed anything."""
        specs = (await self.prepare()).specs
        # Only tool names that exist can be allowed, so the tools are built first.
        if not await self._project_requests.apply([spec.name for spec in specs], sink):
            return False
        self.recorder.save_facts()
        self.on_option_change()
        return True

    def _restore_options(self, facts: SessionFacts) -> SelectedOptions:
        # A stored mode may come from another version, which may know modes that this one lacks.
        mode = facts.mode if is_mode(facts.mode) else self._services.mode
        selected, save_facts = (facts.model_id, facts.thought_level), self.recorder.save_facts
        return SelectedOptions(
            self._services.catalog, mode, *selected, save_facts, self.notices.add_model_switch
        )

    def _restore_system_prompt(self, facts: SessionFacts) -> SystemPrompt:
        return SystemPrompt(
            self._prompt_provider,
            self._services.catalog,
            self.conversation,
            self._tools.names,
            saved=facts.system,
            is_unverified=facts.system is not None,
            on_write=self.recorder.save_facts,
            skills_index=self.skills.index,
            memory_block=self._external_memory.system_block,
            rebuild_tools=self.servers.refresh_tools,
        )

    def _builtin_commands(self) -> Sequence[SlashCommand | PromptCommand]:
        own = BuiltinCommands(
            self.conversation,
            self._prompt_provider,
            self._system,
            self._compactor,
            self._options,
            self._turn_context,
            self._tools.turn_toolbox,
            self._services.read_memory,
            lambda: self.on_option_change(),  # noqa: PLW0108  it is set later
            new_id,
        )
        cwd = self.workspace.cwd
        status_commands = self.servers.command(self.prepare), self.skills.command(self.prepare)
        return (
            *own.all(PromptCommands(cwd, lambda: self.mode, self._prompt_provider.workspace_facts)),
            *status_commands,
        )


def _ignore_change() -> None: ...


def _ignore_end(reason: str) -> None:
    del reason
