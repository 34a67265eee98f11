"""A session: one conversation with its workspace, options and queue of turns."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from acp_server.permissions.modes import Mode, is_mode
from acp_server.session.commands.builtin import OwnCommands
from acp_server.session.commands.prompt_commands import Errands
from acp_server.session.commands.registry import Command, CommandRegistry, Errand, parse_invocation
from acp_server.session.commands.router import Interpreter
from acp_server.session.diagnostics import DiagnosticsBoard
from acp_server.session.ids import new_id
from acp_server.session.pending_notices import Tidings
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.checkpoints import CheckpointDesk
from acp_server.session.ports.external_memory import OutsideMemory
from acp_server.session.ports.mcp import ServerDesk
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.reviews import ReviewedTurns
from acp_server.session.ports.skills import SkillDesk
from acp_server.session.project.choices import Choices
from acp_server.session.project.options import Option
from acp_server.session.project.requests import ProjectWishes
from acp_server.session.prompt_results import Answer
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.context_maintenance import SessionUpkeep, tell
from acp_server.session.prompting.enricher import PromptCompletion
from acp_server.session.prompting.provider import LoadedFile
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.session.recorder import Chronicle, RecordingScreen
from acp_server.session.running_tasks import RunningTasks
from acp_server.session.services import Equipment, Past, Workspace, beginning
from acp_server.session.session_tools import ToolSupply
from acp_server.session.side_requests import Nobody, answer_to
from acp_server.session.steering import Manner, Steering, TurnAsides, shared
from acp_server.session.turn_queue import Screen, Ticket, Work
from acp_server.session.user_notices import Bulletin
from acp_server.turn.conversation import Conversation, Text, UserMessage, text_of
from acp_server.turn.errors import TurnError
from acp_server.turn.events import MessageChunk
from acp_server.turn.loop import Kit, Turn
from acp_server.turn.ports import Model, ModelRequest, Sink, StopReason, Toolbox


class Session:
    """A conversation in a workspace."""

    def __init__(
        self,
        workspace: Workspace,
        equipment: Equipment,
        past: Past | None = None,
        servers: Sequence[ServerConfig] = (),
    ) -> None:
        """Start a session or continue one; `servers` are MCP servers named by the editor."""
        past = past or beginning(workspace, equipment)
        facts = past.facts
        self.id, self.spent, self.workspace = facts.id, facts.spent, workspace
        self._equipment, self._briefing = equipment, equipment.briefing(workspace)
        # The journal already holds these messages; only later ones are written.
        self.conversation = Conversation(past.messages, past.journal)
        self.active_file: Path | None = None  # in the user's view, where the editor says so
        self.on_choice: Callable[[], None] = _nobody
        """Called when the session itself changes a mode or an option."""
        self.on_turn_end: Callable[[str], None] = _forget  # why it ended; not waited for
        self.bulletin, self.tidings = Bulletin(self.conversation), Tidings()
        self.diagnostics, self.tasks = DiagnosticsBoard(), RunningTasks()
        self.chronicle = Chronicle(past.journal, facts, self._known)
        self._choices = self._choices_in(facts)
        self.commands, self._models = CommandRegistry(), dict[str, Model]()
        self.skills, self._steering = SkillDesk(self.commands), Steering()
        self.checkpoints = CheckpointDesk(self.commands, self.prepare)
        self.servers = ServerDesk(self.commands, servers, self._allowed_tools)
        self._supply = ToolSupply(self, equipment, self._allowed_tools)
        self._outside = OutsideMemory(equipment.memory, self.bulletin, self.conversation)
        self._system = self._system_in(facts)
        trust = equipment.trust(self) if equipment.trust is not None else None
        self._wishes = ProjectWishes(
            self._briefing, self._choices, self._system, trust, new_id, self.skills, self.servers
        )
        self._compactor = Compactor(
            self.spent, self._rewrite_system, equipment.compaction_threshold
        )
        self._upkeep = SessionUpkeep(self._compactor, self._briefing, new_id)
        self._completion = PromptCompletion(
            self.conversation, self._upkeep, self._outside, self._choices, self.servers
        )
        # Before skills are loaded: a skill with the name of a built-in command gets a prefix.
        self.commands.add(*self._own_commands())
        self._interpreter = Interpreter(self.commands, self.skills, self._supply.ready, new_id)
        # Last: a review receives the session and may use any of the members above.
        self._turns = ReviewedTurns(equipment.reviews(self, self._kit))
        self._running: Ticket | None = None

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        return self._choices.mode

    @property
    def model_id(self) -> str:
        """The model of the next turn."""
        return self._choices.model_id

    @property
    def thought_level(self) -> str | None:
        """The thought level of the next turn; None if the model offers no choice."""
        return self._choices.thought_level

    @property
    def preferred_skills(self) -> Sequence[str]:
        """Names of skills that the project prefers, once it is read and trusted."""
        return self._wishes.skills

    @property
    def window_tokens(self) -> int:
        """The model's context window in tokens."""
        return self._equipment.catalog.meter(self.model_id).window_tokens

    @property
    def instructions(self) -> Sequence[LoadedFile]:
        """The instruction files delivered to the model."""
        return self._briefing.loaded()

    @property
    def choices(self) -> Choices:
        """The selected options."""
        return self._choices

    @property
    def options(self) -> Sequence[Option]:
        """The options with their current values."""
        return self._choices.options

    def set_mode(self, mode: str) -> None:
        """Switch the mode, at any time.

        Raises:
            UnknownModeError: there is no such mode.
        """
        self._choices.set_mode(mode)

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001  a value
        """Select a value of an option, at any time; a running turn keeps its model.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidValueError: the option has no such value.
        """
        self._choices.set_option(option_id, value)

    @property
    def is_idle(self) -> bool:
        """Whether no prompt is running or queued."""
        return self._turns.is_empty

    @property
    def busy_prompt(self) -> Manner:
        """The configured handling of a prompt that arrives while a turn runs."""
        return self._equipment.busy_prompt

    def admit(self, message: UserMessage, manner: Manner = "queue") -> Ticket:
        """Enqueue a prompt; must be called in the order in which prompts arrive.

        While a turn runs, the prompt may join that turn or replace it, depending on `manner`.
        """
        if manner == "interrupt":
            self.cancel()  # before `admit`: afterwards it would cancel the new prompt as well
        ticket = self._turns.admit()
        # Commands are never steered: they are answered here and would reach the model as text.
        # A prompt that is already next has no running turn to join.
        is_text = parse_invocation(text_of(message.parts)) is None
        if manner == "steer" and is_text and not ticket.is_next.is_set():
            self._steering.offer(ticket, message)
        return ticket

    async def prompt(
        self, ticket: Ticket, message: UserMessage, screen: Screen, abandon: Callable[[], None]
    ) -> Answer:
        """Run a queued prompt; `abandon` is called if the turn does not react to cancellation.

        Raises:
            TurnError: the model cannot be asked, or failed; the user has been told why.
        """
        turns: list[Turn] = []
        before = self.spent.copy()

        async def run(gate: Sink) -> StopReason:
            nonlocal before
            before = self.spent.copy()  # again: other prompts may have run while this one waited
            # The previous turn may have taken this prompt: then it is answered already.
            end = self._steering.end_of(ticket)
            if end is not None:
                return shared(end)
            self._running = ticket
            # Marked before the prompt is stored: after a crash, a prompt without a turn end tells
            # the next process to repair the conversation.
            self.chronicle.journal.begin_turn()
            self.chronicle.receive(message)
            try:
                prompt = await self._interpreter.for_model(message, gate)
                return await self._take_turn(prompt, gate, turns) if prompt else "end_turn"
            except TurnError as error:
                # Also shown as a message: many clients hide the data of a JSON-RPC error.
                # An error caused by the cancel itself is not news for the user.
                if not ticket.is_cancelled.is_set():
                    await gate.emit(MessageChunk(new_id(), error.reason))
                raise

        def settle() -> None:
            # `turns` is empty if the prompt never got as far as its turn.
            for turn in turns:
                turn.settle()
            self._rest(ticket)

        kept = RecordingScreen(self.chronicle.journal, screen)
        try:
            reason = await self._turns.run(ticket, kept, Work(run, settle, abandon))
        finally:
            self._rest(ticket)
        return Answer(reason, self.spent.since(before))

    def _rest(self, ticket: Ticket) -> None:
        """Record the end of a prompt, unless the next one has started meanwhile."""
        # An abandoned prompt ends twice (in `settle`, and when it returns at last). The second
        # time another prompt may be running, whose turn must not be recorded as over.
        if self._running is ticket:
            self._running = None
            self.chronicle.rest()
            self._outside.end_turn()

    async def _take_turn(self, message: UserMessage, sink: Sink, turns: list[Turn]) -> StopReason:
        """Assemble a turn's context and run the turn; `turns` receives it for `settle`."""
        # First: system prompt, context window and price all depend on the resolved model.
        await self._equipment.catalog.settle()
        kit = await self._kit()
        await tell(self._news(), sink, new_id)
        # Project settings are known only after the prompt was written from the project's files,
        # and may change model, tools or mode: then the context must be built again.
        if await self._heed_project(sink):
            kit = await self._kit()
        prompt = await self._completion.completed(message, kit.toolbox, self.active_file, sink)
        # Known to `settle` before it runs: an abandoned turn must be able to record its remains.
        turns.append(Turn(self.conversation, self._hearing(kit), sink, self.spent))
        end: StopReason | TurnError = "cancelled"  # holds if cancellation skips both branches below
        try:
            # `message` is the prompt before enrichment: the checkpoint takes its title from it.
            async with self.checkpoints.turn(message, self.conversation):
                end = reason = await turns[0].run(prompt)
            return reason
        except TurnError as error:
            end = error
            raise
        finally:
            self._finish(end)

    def _finish(self, end: StopReason | TurnError) -> None:
        self._steering.finish(end)
        self.on_turn_end("failed" if isinstance(end, TurnError) else end)

    def _hearing(self, kit: Kit) -> Kit:
        """Return the turn context extended by mid-turn input and pending notices."""

        async def completed(message: UserMessage, sink: Sink) -> UserMessage:
            # No active file: its instructions went with the prompt that started the turn.
            return await self._completion.completed(message, kit.toolbox, None, sink)

        asides = TurnAsides(self._steering, completed, self.chronicle.receive)
        return replace(kit, asides=asides, tidings=self.tidings.take)

    def on_notice(self, show: Callable[[str], bool]) -> None:
        """Register `show` for notices between turns; it returns whether the notice was shown."""
        self._briefing.listen(show)
        self.bulletin.listen(show)

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
        await self.chronicle.journal.close()

    async def end_work(self) -> None:
        """End all prompts, then everything that tools left running."""
        # Watchers first, so that no change is reported to a session that is going away.
        self._briefing.close()
        self.skills.close()
        self.cancel()
        # Tools and servers are closed only after the turns that use them have ended.
        await self.wait_until_idle()
        async with anyio.create_task_group() as ending:
            ending.start_soon(self.servers.close)
            ending.start_soon(self._supply.close)

    async def answer_to(self, instructions: str, text: str) -> str:
        """Return the session's model's answer to a text, outside the conversation.

        Raises:
            TurnError: the model cannot be asked, failed, or returned no text.
        """
        request = ModelRequest((UserMessage((Text(text),)),), instructions)
        return await answer_to(request, await self._kit(), self.spent, Nobody())

    def _known(self, facts: SessionFacts) -> SessionFacts:
        """Return the facts updated with the current options, usage and system prompt."""
        return replace(
            facts,
            cwd=self.workspace.cwd,
            additional=self.workspace.additional,
            mode=self.mode,
            model_id=self._choices.chosen_model,
            thought_level=self._choices.chosen_level,
            spent=self.spent.copy(),  # a copy: the journal writes it later, in the background
            system=self._system.saved,
        )

    async def prepare(self) -> Toolbox:
        """Return the session's tools, built at the first call."""
        return await self._supply.prepare()

    async def gather(self) -> None:
        """Read the facts of the system prompt ahead of time."""
        await self._briefing.gather()

    async def _kit(self) -> Kit:
        """Return the context for a turn; the system prompt is written once per model."""
        toolbox, model_id = await self._supply.ready(), self.model_id
        kit = self.kit_for(model_id, toolbox, await self._system.text_for(model_id))
        return replace(kit, max_requests=self._equipment.max_turn_requests, upkeep=self._upkeep)

    def kit_for(self, model_id: str, toolbox: Toolbox, system: str) -> Kit:
        """Return a context for a model, for the conversation or for a side request."""
        if model_id not in self._models:
            self._models[model_id] = self._equipment.catalog.model(model_id)
        return Kit(
            model=self._models[model_id],
            meter=self._equipment.catalog.meter(model_id),
            toolbox=toolbox,
            new_id=new_id,
            system=system,
            thought_level=self.thought_level,
            record=self.chronicle,
        )

    async def _rewrite_system(self) -> str:
        return await self._system.rewrite(self.model_id)

    def _allowed_tools(self) -> Collection[str] | None:
        return self._system.allowed_tools

    async def tool_names(self) -> frozenset[str]:
        """Return the names of the tools that the project's settings allow."""
        return await self._supply.names()

    def _news(self) -> Sequence[str]:
        """Return the notices to show before the turn, once."""
        rewritten = self._system.take_notice()
        said = [*self.bulletin.take(), *([rewritten] if rewritten else ())]
        return [*said, *self._briefing.notices()]

    async def _heed_project(self, sink: Sink) -> bool:
        """Apply the project's requests; return whether that changed anything."""
        specs = (await self.prepare()).specs
        # Only tool names that exist can be allowed, so the tools are built first.
        if not await self._wishes.heed([spec.name for spec in specs], sink):
            return False
        self.chronicle.keep()
        self.on_choice()
        return True

    def _choices_in(self, facts: SessionFacts) -> Choices:
        # A stored mode may come from another version, which may know modes that this one lacks.
        mode = facts.mode if is_mode(facts.mode) else self._equipment.mode
        chosen, keep = (facts.model_id, facts.thought_level), self.chronicle.keep
        return Choices(self._equipment.catalog, mode, *chosen, keep, self.bulletin.say_switched)

    def _system_in(self, facts: SessionFacts) -> SystemPrompt:
        return SystemPrompt(
            self._briefing,
            self._equipment.catalog,
            self.conversation,
            self._supply.names,
            saved=facts.system,
            is_former=facts.system is not None,
            on_write=self.chronicle.keep,
            skills_index=self.skills.index,
            memory_block=self._outside.block,
            rebuild_tools=self.servers.rebuild,
        )

    def _own_commands(self) -> Sequence[Command | Errand]:
        own = OwnCommands(
            self.conversation,
            self._briefing,
            self._system,
            self._compactor,
            self._choices,
            self._kit,
            self._supply.ready,
            self._equipment.read_memory,
            lambda: self.on_choice(),  # noqa: PLW0108  it is set later
            new_id,
        )
        cwd = self.workspace.cwd
        pages = self.servers.command(self.prepare), self.skills.command(self.prepare)
        return (*own.all(Errands(cwd, lambda: self.mode, self._briefing.findings)), *pages)


def _nobody() -> None: ...


def _forget(reason: str) -> None:
    del reason
