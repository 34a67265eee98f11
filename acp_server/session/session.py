"""One conversation: its folders, its choices, its queue of turns."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from acp_server.permissions.modes import Mode, is_mode
from acp_server.session.answers import Answer
from acp_server.session.asking import Nobody, answer_to
from acp_server.session.briefing import LoadedFile
from acp_server.session.bulletin import Bulletin
from acp_server.session.checkpoints import CheckpointDesk
from acp_server.session.choices import Choices
from acp_server.session.commands import Command, CommandRegistry, Errand, parse_invocation
from acp_server.session.compaction import Compactor
from acp_server.session.diagnostics import DiagnosticsBoard
from acp_server.session.equipment import Equipment, Past, Workspace, beginning
from acp_server.session.errands import Errands
from acp_server.session.identifiers import new_id
from acp_server.session.invocations import Interpreter
from acp_server.session.options import Option
from acp_server.session.outside_memory import OutsideMemory
from acp_server.session.own_commands import OwnCommands
from acp_server.session.project_wishes import ProjectWishes
from acp_server.session.prompts import PromptCompletion
from acp_server.session.recording import Chronicle, RecordingScreen
from acp_server.session.records import SessionFacts
from acp_server.session.reviews import ReviewedTurns
from acp_server.session.server_configs import ServerConfig
from acp_server.session.servers import ServerDesk
from acp_server.session.skills import SkillDesk
from acp_server.session.steering import Manner, Steering, TurnAsides, shared
from acp_server.session.system import SystemPrompt
from acp_server.session.tasks import RunningTasks
from acp_server.session.tidings import Tidings
from acp_server.session.tool_supply import ToolSupply
from acp_server.session.turns import Screen, Ticket, Work
from acp_server.session.upkeep import SessionUpkeep, tell
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
        """Begin a session, or go on with one; `servers` are MCP servers that the editor names."""
        past = past or beginning(workspace, equipment)
        facts = past.facts
        self.id, self.spent, self.workspace = facts.id, facts.spent, workspace
        self._equipment, self._briefing = equipment, equipment.briefing(workspace)
        self.conversation = Conversation(past.messages, past.journal)
        self.active_file: Path | None = None  # in the user's view, where the editor says so
        self.on_choice: Callable[[], None] = _nobody
        """Called when the session itself has changed a mode or an option."""
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
        self.commands.add(*self._own_commands())
        self._interpreter = Interpreter(self.commands, self.skills, self._supply.ready, new_id)
        self._turns = ReviewedTurns(equipment.reviews(self, self._kit))
        self._running: Ticket | None = None

    @property
    def mode(self) -> Mode:
        """How much the agent may do unasked."""
        return self._choices.mode

    @property
    def model_id(self) -> str:
        """The model that the next turn asks."""
        return self._choices.model_id

    @property
    def thought_level(self) -> str | None:
        """How deeply it thinks; None for no choice."""
        return self._choices.thought_level

    @property
    def preferred_skills(self) -> Sequence[str]:
        """The names of skills that its project prefers, once that is known and trusted."""
        return self._wishes.skills

    @property
    def window_tokens(self) -> int:
        """The size of its model's window."""
        return self._equipment.catalog.meter(self.model_id).window_tokens

    @property
    def instructions(self) -> Sequence[LoadedFile]:
        """The files of instructions that the model was given."""
        return self._briefing.loaded()

    @property
    def choices(self) -> Choices:
        """What the user has chosen for it."""
        return self._choices

    @property
    def options(self) -> Sequence[Option]:
        """The pickers of this session, as they stand."""
        return self._choices.options

    def set_mode(self, mode: str) -> None:
        """Switch the mode, at any time.

        Raises:
            UnknownModeError: it is none of ours.
        """
        self._choices.set_mode(mode)

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001  a value
        """Choose a value of an option, at any time; a running turn goes on with what it has.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidValueError: the option has no such value.
        """
        self._choices.set_option(option_id, value)

    @property
    def is_idle(self) -> bool:
        """Whether no prompt runs or waits."""
        return self._turns.is_empty

    @property
    def busy_prompt(self) -> Manner:
        """What usually becomes of a prompt that comes while a turn runs."""
        return self._equipment.busy_prompt

    def admit(self, message: UserMessage, manner: Manner = "queue") -> Ticket:
        """Take a place in the queue for a prompt, in the order in which prompts were read.

        While a turn runs the prompt may become part of it, or take its place.
        """
        if manner == "interrupt":
            self.cancel()
        ticket = self._turns.admit()
        is_text = parse_invocation(text_of(message.parts)) is None
        if manner == "steer" and is_text and not ticket.is_next.is_set():
            self._steering.offer(ticket, message)
        return ticket

    async def prompt(
        self, ticket: Ticket, message: UserMessage, screen: Screen, abandon: Callable[[], None]
    ) -> Answer:
        """Answer a prompt when its turn has come; `abandon` is called if it must be given up.

        Raises:
            TurnError: the model cannot be asked, or failed; the user has been told why.
        """
        turns: list[Turn] = []
        before = self.spent.copy()

        async def run(gate: Sink) -> StopReason:
            nonlocal before
            before = self.spent.copy()
            end = self._steering.end_of(ticket)
            if end is not None:
                return shared(end)
            self._running = ticket
            self.chronicle.journal.begin_turn()
            self.chronicle.receive(message)
            try:
                prompt = await self._interpreter.for_model(message, gate)
                return await self._take_turn(prompt, gate, turns) if prompt else "end_turn"
            except TurnError as error:  # said in the chat too: many clients hide error data
                if not ticket.is_cancelled.is_set():
                    await gate.emit(MessageChunk(new_id(), error.reason))
                raise

        def settle() -> None:
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
        """Keep that a prompt is over; one that was given up before may end behind the next."""
        if self._running is ticket:
            self._running = None
            self.chronicle.rest()
            self._outside.end_turn()

    async def _take_turn(self, message: UserMessage, sink: Sink, turns: list[Turn]) -> StopReason:
        """Put together what a turn works with, and run it; `turns` is where it is known from."""
        await self._equipment.catalog.settle()  # the prompt, the window and the price go by it
        kit = await self._kit()
        await tell(self._news(), sink, new_id)
        if await self._heed_project(sink):
            kit = await self._kit()
        prompt = await self._completion.completed(message, kit.toolbox, self.active_file, sink)
        turns.append(Turn(self.conversation, self._hearing(kit), sink, self.spent))
        end: StopReason | TurnError = "cancelled"
        try:
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
        """Return what a turn works with, open for what the user says while it runs."""

        async def completed(message: UserMessage, sink: Sink) -> UserMessage:
            return await self._completion.completed(message, kit.toolbox, None, sink)

        asides = TurnAsides(self._steering, completed, self.chronicle.receive)
        return replace(kit, asides=asides, tidings=self.tidings.take)

    def on_notice(self, show: Callable[[str], bool]) -> None:
        """Have sentences for the user shown between turns too; `show` returns whether it did."""
        self._briefing.listen(show)
        self.bulletin.listen(show)

    def cancel(self) -> None:
        """Stop the running prompt and those that wait. Nothing happens on an idle session."""
        self._turns.cancel_all()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt so far is over."""
        await self._turns.wait_until_idle()

    async def close(self) -> None:
        """End all work, and let other processes have the session."""
        await self.end_work()
        await self.chronicle.journal.close()

    async def end_work(self) -> None:
        """End all work: prompts, then what tools left running."""
        self._briefing.close()
        self.skills.close()
        self.cancel()
        await self.wait_until_idle()
        async with anyio.create_task_group() as ending:
            ending.start_soon(self.servers.close)
            ending.start_soon(self._supply.close)

    async def answer_to(self, instructions: str, text: str) -> str:
        """Return what the session's model makes of a text, apart from the conversation.

        Raises:
            TurnError: it cannot be asked, or said nothing.
        """
        request = ModelRequest((UserMessage((Text(text),)),), instructions)
        return await answer_to(request, await self._kit(), self.spent, Nobody())

    def _known(self, facts: SessionFacts) -> SessionFacts:
        """Return facts with what was chosen, used and sent by now."""
        return replace(
            facts,
            cwd=self.workspace.cwd,
            additional=self.workspace.additional,
            mode=self.mode,
            model_id=self._choices.chosen_model,
            thought_level=self._choices.chosen_level,
            spent=self.spent.copy(),
            system=self._system.saved,
        )

    async def prepare(self) -> Toolbox:
        """Return the session's tools, made at the first call."""
        return await self._supply.prepare()

    async def gather(self) -> None:
        """Read the facts of the system prompt while nobody waits for them."""
        await self._briefing.gather()

    async def _kit(self) -> Kit:
        """Return what a turn works with; the system prompt is written once, for one model."""
        toolbox, model_id = await self._supply.ready(), self.model_id
        kit = self.kit_for(model_id, toolbox, await self._system.text_for(model_id))
        return replace(kit, max_requests=self._equipment.max_turn_requests, upkeep=self._upkeep)

    def kit_for(self, model_id: str, toolbox: Toolbox, system: str) -> Kit:
        """Return what works with a model, on the conversation or beside it."""
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
        """Return the names of the tools that its project leaves it."""
        return await self._supply.names()

    def _news(self) -> Sequence[str]:
        """Return what the user is to know before the turn, once."""
        rewritten = self._system.take_notice()
        said = [*self.bulletin.take(), *([rewritten] if rewritten else ())]
        return [*said, *self._briefing.notices()]

    async def _heed_project(self, sink: Sink) -> bool:
        """Use what the project asks for, once; return whether that changes anything."""
        specs = (await self.prepare()).specs
        if not await self._wishes.heed([spec.name for spec in specs], sink):
            return False
        self.chronicle.keep()
        self.on_choice()
        return True

    def _choices_in(self, facts: SessionFacts) -> Choices:
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
