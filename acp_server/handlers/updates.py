"""Maps the engine's events to session updates."""

from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, datetime
from typing import assert_never

import anyio
from pydantic_core import MISSING

from acp_server.handlers.client_connection import Link
from acp_server.handlers.content import content_of
from acp_server.handlers.tool_calls import call_progress, call_start, plan
from acp_server.permissions.modes import MODES, Mode
from acp_server.protocol.chunk_templates import Pieces, PieceType
from acp_server.protocol.content import TextContent
from acp_server.protocol.sessions import (
    SessionConfigOption,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommand,
    AvailableCommandsUpdate,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    Notice,
    SessionInfoUpdate,
    SessionUpdate,
    UnstructuredCommandInput,
    UsageUpdate,
    UserMessageChunk,
)
from acp_server.session.commands.registry import Command, Errand, Offer
from acp_server.session.project.options import Option
from acp_server.session.session import Session
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    ContextMeasured,
    Event,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)

_PIECES: dict[type[MessageChunk | ThoughtChunk], PieceType] = {
    MessageChunk: AgentMessageChunk,
    ThoughtChunk: AgentThoughtChunk,
}


class Outlet:
    """The back-pressure shared by the turns of all sessions.

    While the editor reads slowly, turns wait in one queue and none overtakes the others.
    """

    def __init__(self, link: Link) -> None:
        self._client = link.client
        self._line = anyio.Lock(fast_acquire=True)

    async def wait(self) -> None:
        """Return when an update may be sent; send it before awaiting anything else."""
        # Also when the queue has capacity but others wait: a fast turn would otherwise starve them.
        if self._line.locked() or not self._client.has_room:
            async with self._line:
                await self._client.wait_for_room()


def updates_of(event: Event | PromptReceived, link: Link) -> Sequence[SessionUpdate]:
    """Return the updates that show an event; a prompt gives one for each part."""
    if isinstance(event, CompactionChanged | SummaryChunk) and not link.shows_compactions:
        notice = event.notice if isinstance(event, CompactionChanged) else None
        return () if notice is None else updates_of(notice, link)
    if isinstance(event, PromptReceived):
        message_id = event.message_id
        parts = (content_of(part) for part in event.parts)
        return [UserMessageChunk(content=part, message_id=message_id) for part in parts]
    return (_update_of(event, shows_notices=link.shows_notices),)


def _update_of(event: Event, *, shows_notices: bool) -> SessionUpdate:
    match event:
        case MessageChunk() | ThoughtChunk():
            piece_type = _PIECES[type(event)]
            return piece_type(content=TextContent(text=event.text), message_id=event.message_id)
        case (
            CallAppeared() | CallChanged() | TerminalOpened() | TerminalPrinted() | TerminalEnded()
        ):
            return call_start(event) if isinstance(event, CallAppeared) else call_progress(event)
        case PlanChanged():
            return plan(event)
        case NoticeRaised():
            return _notice(event, shows_notices=shows_notices)
        case ContextMeasured():
            return _usage(event)
        case CompactionChanged() | SummaryChunk():
            return _compaction(event)
        case _:
            assert_never(event)


def _notice(event: NoticeRaised, *, shows_notices: bool) -> SessionUpdate:
    """Return a notice; for a client without notices, a thought or a message."""
    if shows_notices:
        return Notice(severity=event.severity, title=event.title)
    content = TextContent(text=f"{event.title}\n")
    if event.is_said:
        return AgentMessageChunk(content=content, message_id=event.message_id)
    return AgentThoughtChunk(content=content, message_id=event.message_id)


def _compaction(event: CompactionChanged | SummaryChunk) -> SessionUpdate:
    id_ = event.compaction_id
    if isinstance(event, SummaryChunk):
        return CompactionSummaryChunk(compaction_id=id_, content=TextContent(text=event.text))
    return CompactionUpdate(compaction_id=id_, status=event.status, error=event.error or MISSING)


def _usage(event: ContextMeasured) -> UsageUpdate:
    cost = Cost(amount=event.cost_usd, currency="USD") if event.cost_usd is not None else None
    return UsageUpdate(used=event.used_tokens, size=event.window_tokens, cost=cost)


def _key(event: Event) -> Hashable:
    """Return the key of the unsent update this event replaces; None if it replaces none."""
    # Only passing states: a status or a result must never be dropped.
    return event.call_id if isinstance(event, CallChanged) and event.is_passing else None


class EditorScreen:
    """Sends a session's events to the editor."""

    def __init__(self, link: Link, session_id: str, outlet: Outlet) -> None:
        self._link = link
        self._session_id = session_id
        self._outlet = outlet
        self._pieces = Pieces(session_id)

    async def ready(self) -> None:
        """Wait while the editor reads slowly."""
        await self._outlet.wait()

    async def replay(self, events: Iterable[Event | PromptReceived]) -> None:
        """Send past events again, in order."""
        for event in events:
            for update in updates_of(event, self._link):
                if isinstance(update, Notice):
                    continue  # clients with notices show them live, not as part of the history
                await self._outlet.wait()
                self._link.client.update_now(self._session_id, update)

    def show(self, event: Event) -> None:
        """Send one event at once."""
        if isinstance(event, MessageChunk | ThoughtChunk):
            form = self._pieces.form(_PIECES[type(event)], event.message_id)
            self._link.client.say_now(form, event.text)
            return
        for update in updates_of(event, self._link):
            self._link.client.update_now(self._session_id, update, _key(event))


def mode_state(current: Mode) -> SessionModeState:
    """Return all modes and the current one."""
    modes = tuple(
        SessionMode(id=mode.id, name=mode.name, description=mode.description) for mode in MODES
    )
    return SessionModeState(current_mode_id=current, available_modes=modes)


def config_options(session: Session) -> tuple[SessionConfigOption, ...]:
    """Return a session's complete list of options."""
    return tuple(_select(option) for option in session.options)


def mode_update(session: Session) -> CurrentModeUpdate:
    """Return the current mode, for clients that show modes."""
    return CurrentModeUpdate(current_mode_id=session.mode)


def options_update(session: Session) -> ConfigOptionUpdate:
    """Return all options with their values, for clients that show options."""
    return ConfigOptionUpdate(config_options=config_options(session))


def info_update(session: Session) -> SessionInfoUpdate:
    """Return a session's title and time, for a list of sessions."""
    chronicle = session.chronicle
    return SessionInfoUpdate(title=chronicle.title, updated_at=written(chronicle.updated_at))


def usage_update(session: Session) -> UsageUpdate | None:
    """Return how full the context window is, if known."""
    used = session.spent.context_tokens
    measured = ContextMeasured(used, session.window_tokens, session.spent.cost_usd)
    return _usage(measured) if used else None


def written(moment: datetime) -> str:
    """Return a time as ISO 8601, in UTC.

    >>> written(datetime(2026, 11, 22, 9, 30, tzinfo=UTC))
    '2026-11-22T09:30:00Z'
    """
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def commands_update(commands: Sequence[Command | Errand | Offer]) -> AvailableCommandsUpdate:
    """Return all slash commands."""
    return AvailableCommandsUpdate(
        available_commands=tuple(_command(command) for command in commands)
    )


def _select(option: Option) -> SessionConfigSelect:
    choices = tuple(
        SessionConfigSelectOption(
            value=choice.value, name=choice.name, description=choice.description or None
        )
        for choice in option.choices
    )
    return SessionConfigSelect(
        id=option.id,
        name=option.name,
        description=option.description,
        category=option.category,
        current_value=option.current,
        options=choices,
    )


def _command(command: Command | Errand | Offer) -> AvailableCommand:
    hint = UnstructuredCommandInput(hint=command.hint) if command.hint else None
    return AvailableCommand(name=command.name, description=command.description, input=hint)
