"""One conversation: its folders, its choices, its queue of turns."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import anyio

from acp_server.permissions.modes import MODE_IDS, Mode, is_mode
from acp_server.permissions.trust import TrustKeeper
from acp_server.session.briefing import Briefing, Subject
from acp_server.session.commands import Command, CommandRegistry, Invocation, parse_invocation
from acp_server.session.compaction import Compactor, TooShortError
from acp_server.session.errors import UnknownModeError
from acp_server.session.options import (
    MODE_OPTION,
    MODEL_OPTION,
    Chosen,
    Option,
    choose,
    options_of,
)
from acp_server.session.ports import ModelCatalog
from acp_server.session.project_settings import narrowed, understood
from acp_server.session.turns import Screen, Ticket, TurnQueue, Work
from acp_server.session.upkeep import SessionUpkeep, tell
from acp_server.turn.compaction import unsealed
from acp_server.turn.conversation import (
    Attachment,
    Conversation,
    Link,
    Text,
    UserMessage,
    UserPart,
    text_of,
)
from acp_server.turn.errors import TurnError
from acp_server.turn.events import MessageChunk
from acp_server.turn.loop import Kit, Spent, Turn
from acp_server.turn.ports import Model, Sink, StopReason, Toolbox

SUM_UP = "Sum the conversation up to make room"
SHOW_CONTEXT = "Show what the model is told, and how full its window is"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders of a session: absolute, `cwd` first among equals."""

    cwd: Path
    additional: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Equipment:
    """What every session of a server works with."""

    catalog: ModelCatalog
    toolbox: Callable[["Session"], Awaitable[Toolbox]]
    """Makes the tools of a session, once it is open."""
    briefing: Callable[[Workspace], Briefing]
    """Makes what a session tells its model beside the conversation."""
    trust: Callable[["Session"], TrustKeeper] | None = None
    """Knows whether a session's workspace is trusted; without it none is."""
    close: Callable[[], Awaitable[None]] | None = None
    """Ends what the sessions shared, once all are closed."""
    mode: Mode = "ask"
    max_turn_requests: int = 100
    compaction_threshold: float = 0.75


@dataclass(frozen=True, slots=True)
class Answer:
    """How a prompt ended, and what it used."""

    reason: StopReason
    spent: Spent


class Session:
    """A conversation in a workspace."""

    def __init__(self, workspace: Workspace, equipment: Equipment) -> None:
        self.id = f"sess_{uuid4().hex}"
        self.workspace = workspace
        self.commands = CommandRegistry()
        self.conversation = Conversation()
        self.spent = Spent()
        self._equipment = equipment
        self._catalog = equipment.catalog
        self._chosen_model: str | None = None
        self._chosen_level: str | None = None
        self._mode: Mode = equipment.mode
        self._models: dict[str, Model] = {}
        self.active_file: Path | None = None
        """The file in the user's view, where the editor says so."""
        self.on_choice: Callable[[], None] = lambda: None
        """Called when the session itself has changed a mode or an option."""
        self._trust = equipment.trust(self) if equipment.trust is not None else None
        self._has_heeded_project = False
        self._system: str | None = None
        self._briefed_model = ""
        self._briefing = equipment.briefing(workspace)
        self._compactor = Compactor(
            self.spent, self._rewrite_system, equipment.compaction_threshold
        )
        self._upkeep = SessionUpkeep(self._compactor, self._briefing, new_id)
        for command in self._own_commands():
            self.commands.add(command)
        self._turns = TurnQueue()
        self._toolbox: Toolbox | None = None
        self._preparing = anyio.Lock()

    @property
    def mode(self) -> Mode:
        """How much the agent may do unasked."""
        return self._mode

    @property
    def model_id(self) -> str:
        """The chosen model while it can be had, else the default as it is known by now."""
        for choice in self._catalog.choices():
            if choice.id == self._chosen_model:
                return choice.id
        return self._catalog.default_id

    @property
    def thought_level(self) -> str | None:
        """The chosen level if the model has it, else the model's own; None for no choice."""
        levels = self._catalog.thought_levels(self.model_id)
        if self._chosen_level in levels:
            return self._chosen_level
        return self._catalog.default_thought_level(self.model_id)

    @property
    def options(self) -> Sequence[Option]:
        """The pickers of this session, as they stand."""
        return self._options()

    def set_mode(self, mode: str) -> None:
        """Switch the mode, at any time.

        Raises:
            UnknownModeError: it is none of ours.
        """
        if not is_mode(mode):
            raise UnknownModeError(mode, MODE_IDS)
        self._mode = mode

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001  a value
        """Choose a value of an option, at any time; a running turn goes on with what it has.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidValueError: the option has no such value.
        """
        chosen = choose(option_id, value, self._options())
        if option_id == MODE_OPTION:
            self._mode = cast("Mode", chosen)
        elif option_id == MODEL_OPTION:
            self._chosen_model = chosen
        else:
            self._chosen_level = chosen

    def admit(self) -> Ticket:
        """Take a place in the queue for a prompt, in the order in which prompts were read."""
        return self._turns.admit()

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
            try:
                invocation = parse_invocation(text_of(message.parts))
                if invocation is not None:
                    return await self._answer_command(invocation, gate)
                return await self._take_turn(message, gate, turns)
            except TurnError as error:  # said in the chat too: many clients hide error data
                if not ticket.is_cancelled.is_set():
                    await gate.emit(MessageChunk(new_id(), error.reason))
                raise

        def settle() -> None:
            for turn in turns:
                turn.settle()

        reason = await self._turns.run(ticket, screen, Work(run, settle, abandon))
        return Answer(reason, self.spent.since(before))

    async def _take_turn(self, message: UserMessage, sink: Sink, turns: list[Turn]) -> StopReason:
        """Put together what a turn works with, and run it; `turns` is where it is known from."""
        kit = await self._kit()
        await tell(self._briefing.notices(), sink, new_id)
        if await self._heed_project(sink):
            kit = await self._kit()
        prompt = await self._completed(message, kit.toolbox, sink)
        turns.append(Turn(self.conversation, kit, sink, self.spent))
        return await turns[0].run(prompt)

    def cancel(self) -> None:
        """Stop the running prompt and those that wait. Nothing happens on an idle session."""
        self._turns.cancel_all()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt so far is over."""
        await self._turns.wait_until_idle()

    async def close(self) -> None:
        """End all work: prompts, then what tools left running."""
        self.cancel()
        await self.wait_until_idle()
        if self._toolbox is not None:
            await self._toolbox.close()

    def _options(self) -> tuple[Option, ...]:
        return options_of(Chosen(self.mode, self.model_id, self.thought_level), self._catalog)

    async def prepare(self) -> Toolbox:
        """Return the session's tools, made at the first call."""
        async with self._preparing:
            if self._toolbox is None:
                self._toolbox = await self._equipment.toolbox(self)
        return self._toolbox

    async def gather(self) -> None:
        """Read the facts of the system prompt while nobody waits for them."""
        await self._briefing.gather()

    async def _kit(self) -> Kit:
        """Return what a turn works with; the system prompt is written once, for one model."""
        toolbox, model_id = await self.prepare(), self.model_id
        if self._system is not None and self._briefed_model != model_id:
            self.conversation.rebuild(unsealed(tuple(self.conversation)))
            self._system = None
        system = await self._write_system(model_id) if self._system is None else self._system
        if model_id not in self._models:
            self._models[model_id] = self._catalog.model(model_id)
        return Kit(
            model=self._models[model_id],
            meter=self._catalog.meter(model_id),
            toolbox=toolbox,
            new_id=new_id,
            system=system,
            thought_level=self.thought_level,
            max_requests=self._equipment.max_turn_requests,
            upkeep=self._upkeep,
        )

    async def _rewrite_system(self) -> str:
        """Write the system prompt anew, for the model that it was written for."""
        return await self._write_system(self._briefed_model or self.model_id)

    async def _write_system(self, model_id: str) -> str:
        """Write the system prompt for a model, from what the facts are now."""
        window = self._catalog.meter(model_id).window_tokens
        tools = frozenset(spec.name for spec in (await self.prepare()).specs)
        self._system = await self._briefing.write(Subject(model_id, window, tools))
        self._briefed_model = model_id
        return self._system

    async def _heed_project(self, sink: Sink) -> bool:
        """Use what the project asks for, once, if its workspace is trusted; return whether.

        The user is told what is not used, and why.
        """
        if self._has_heeded_project:
            return False
        self._has_heeded_project = True
        models = [choice.id for choice in self._catalog.choices()]
        asked = understood(self._briefing.project_settings(), models)
        unused = [f"The project's .hermes.md sets {each}; it is not used" for each in asked.refused]
        is_trusted = self._trust is not None and await self._trust.is_given(asked.uses)
        if not is_trusted:
            reason = "the workspace is not trusted (`acp-server trust`)"
            unused += [f"The project's .hermes.md asks for {e}; {reason}" for e in asked.uses]
        await tell(unused, sink, new_id)
        if not is_trusted or not asked.uses:
            return False
        self._mode = narrowed(self._mode, asked.mode)
        self._chosen_model = asked.model or self._chosen_model
        self.on_choice()
        return True

    async def _completed(self, message: UserMessage, toolbox: Toolbox, sink: Sink) -> UserMessage:
        """Return a prompt with the files that it points at, and the instructions of their folders.

        The file in the user's view counts too.
        """
        parts: list[UserPart] = []
        for part in message.parts:
            parts += await toolbox.attach(part, sink) if isinstance(part, Link) else (part,)
        uris = [part.uri for part in message.parts if isinstance(part, Link | Attachment)]
        touched = [str(path) for path in map(path_of_uri, uris) if path is not None]
        touched += [str(self.active_file)] if self.active_file is not None else []
        if touched:
            found = await self._upkeep.instruct(self.conversation, {"": touched}, sink)
            parts += [Text(instructions.text) for instructions in found.values()]
        return UserMessage(tuple(parts))

    def _own_commands(self) -> tuple[Command, ...]:
        return (
            Command("compact", SUM_UP, self._compact, "[what must not be lost]"),
            Command("context", SHOW_CONTEXT, self._context),
            Command("reload", "Read the instructions of the project anew", self._reload),
        )

    async def _context(self, arguments: str, sink: Sink) -> str:
        del arguments, sink
        await self._kit()
        window, used = self._catalog.meter(self.model_id).window_tokens, self.spent.context_tokens
        share = f"{used:,} of {window:,} tokens ({used / window:.0%})"
        told = f"The window holds {share}." if used else "How full it is shows with an answer."
        return f"{self._briefing.description()}\n\n{told}"

    async def _reload(self, arguments: str, sink: Sink) -> str:
        """Write the system prompt anew; what a provider sealed before does not hold behind it."""
        del arguments
        self.conversation.rebuild(unsealed(tuple(self.conversation)))
        await self._write_system(self.model_id)
        await tell(self._briefing.notices(), sink, new_id)
        return f"The instructions were read anew.\n\n{self._briefing.description()}"

    async def _compact(self, focus: str, sink: Sink) -> str:
        try:
            await self._compactor.compact(self.conversation, await self._kit(), sink, focus)
        except TooShortError as error:
            return error.reason
        return f"There are {len(self.conversation)} messages now."

    async def _answer_command(self, invocation: Invocation, sink: Sink) -> StopReason:
        answer = await self.commands.answer(invocation, sink)
        await sink.emit(MessageChunk(new_id(), answer))
        return "end_turn"


def path_of_uri(uri: str) -> Path | None:
    """Return the path that a `file:` URI of this machine names; None for anything else."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    is_local = parts.scheme == "file" and parts.netloc in {"", "localhost"} and "\0" not in path
    return Path(path) if is_local and path.startswith("/") else None


def new_id() -> str:
    """Return an id for a message, unique for all time."""
    return f"msg_{uuid4().hex}"
