"""Maps the engine's events to session updates."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

import anyio
from pydantic_core import MISSING

from acp_server.handlers.child_sessions import child_session_id
from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.content import to_content_block
from acp_server.handlers.known_clients import NAME_CALLS_BY_DIFF
from acp_server.handlers.tool_calls import (
    call_meta,
    call_progress,
    call_start,
    plan_update,
    plan_update_with_id,
)
from acp_server.permissions.modes import MODES, Mode
from acp_server.protocol.chunk_templates import ChunkTemplates, ChunkType
from acp_server.protocol.content import TextContent
from acp_server.protocol.model import Meta
from acp_server.protocol.sessions import (
    SessionConfigBoolean,
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
    DraftUpdate,
    Notice,
    SessionUpdate,
    UnstructuredCommandInput,
    UsageUpdate,
    UserMessageChunk,
)
from acp_server.session.commands.command import Command
from acp_server.session.project.options import ON, Option
from acp_server.session.session import Session
from acp_server.turn.events import (
    TEXT_CHUNKS,
    CallAppeared,
    CallChanged,
    CompactionChanged,
    ContextMeasured,
    Event,
    FileDiff,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SubAgentEnded,
    SubAgentProgressed,
    SubAgentStarted,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
    sub_agent_number,
)

_CHUNK_TYPES: dict[type[MessageChunk | ThoughtChunk], ChunkType] = {
    MessageChunk: AgentMessageChunk,
    ThoughtChunk: AgentThoughtChunk,
}

REPLAYED_AT_ONCE = 256
"""How many past updates are sent without waiting: about ten milliseconds of work."""

CallEvent = CallAppeared | CallChanged | TerminalOpened | TerminalPrinted | TerminalEnded
ShownEvent = (
    MessageChunk
    | ThoughtChunk
    | CallEvent
    | PlanChanged
    | NoticeRaised
    | ContextMeasured
    | CompactionChanged
    | SummaryChunk
)
"""The events that every client is shown in the session itself."""


class Backpressure:
    """The back-pressure shared by the turns of all sessions.

    While the editor reads slowly, turns wait in one queue and none overtakes the others.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._transport = connection.peer.transport
        self._queue_lock = anyio.Lock(fast_acquire=True)

    async def wait(self) -> None:
        """Return when an update may be sent; send it before awaiting anything else."""
        # Also when the queue has capacity but others wait: a fast turn would otherwise starve them.
        if self._queue_lock.locked() or not self._transport.has_capacity:
            async with self._queue_lock:
                await self._transport.wait_for_capacity()


def session_updates(
    event: Event | PromptReceived, connection: ClientConnection, title: str = ""
) -> Sequence[SessionUpdate | DraftUpdate]:
    """Return the updates that show an event; a prompt gives one for each part."""
    if isinstance(event, CompactionChanged | SummaryChunk) and not connection.shows_compactions:
        notice = event.notice if isinstance(event, CompactionChanged) else None
        return () if notice is None else session_updates(notice, connection)
    if isinstance(event, SubAgentProgressed):
        return _nested_updates(event) if connection.nests_sub_agents else ()
    if isinstance(event, SubAgentStarted | SubAgentEnded):
        return ()
    if isinstance(event, PromptReceived):
        message_id = event.message_id
        parts = (to_content_block(part) for part in event.parts)
        meta: Meta = {"hermes": {"checkpoint": event.checkpoint}} if event.checkpoint else {}
        return [
            UserMessageChunk(content=part, message_id=message_id, meta=meta or None)
            for part in parts
        ]
    return (_session_update(event, connection, title),)


def _nested_updates(event: SubAgentProgressed) -> Sequence[SessionUpdate]:
    """Return a sub-agent's text as a text of the session that names the delegating call."""
    chunk = event.event
    if not isinstance(chunk, TEXT_CHUNKS):
        return ()  # a plan or a context usage would replace the session's own
    return (
        _CHUNK_TYPES[type(chunk)](
            content=TextContent(text=chunk.text),
            message_id=chunk.message_id,
            meta=call_meta(event.parent_id),
        ),
    )


def _session_update(
    event: ShownEvent, connection: ClientConnection, title: str
) -> SessionUpdate | DraftUpdate:
    match event:
        case MessageChunk() | ThoughtChunk():
            chunk_type = _CHUNK_TYPES[type(event)]
            return chunk_type(content=TextContent(text=event.text), message_id=event.message_id)
        case (
            CallAppeared() | CallChanged() | TerminalOpened() | TerminalPrinted() | TerminalEnded()
        ):
            is_start = isinstance(event, CallAppeared)
            return call_start(event) if is_start else call_progress(event, title)
        case PlanChanged():
            plan = plan_update(event)
            return plan_update_with_id(plan) if connection.shows_plans_by_id else plan
        case NoticeRaised():
            return _notice(event, shows_notices=connection.shows_notices)
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


class AcpEventSink:
    """Sends a session's events to the editor."""

    def __init__(
        self,
        connection: ClientConnection,
        session_id: str,
        backpressure: Backpressure,
    ) -> None:
        self._connection = connection
        self._session_id = session_id
        self._backpressure = backpressure
        self._chunk_templates = ChunkTemplates(session_id)
        self._titles: dict[str, str] = {}
        """The latest title of each call."""
        self._commands: set[str] = set()
        """The calls that run commands."""

    async def ready(self) -> None:
        """Wait while the editor reads slowly."""
        await self._backpressure.wait()

    async def replay(self, events: Iterable[Event | PromptReceived]) -> None:
        """Send past events again, in order; they are one page of a history at most."""
        updates = (update for event in events for update in self._updates(event))
        for number, (session_id, update) in enumerate(updates):
            # Not before each one: a page is bounded, and to be woken takes longer than to send.
            if number % REPLAYED_AT_ONCE == 0:
                await self._backpressure.wait()
            if not isinstance(update, Notice):  # clients show them live, not as part of history
                self._connection.client.send_update_now(session_id, update)
        # All events of a call follow each other here.
        self._titles.clear()
        self._commands.clear()

    def show(self, event: Event) -> None:
        """Send one event at once."""
        if isinstance(event, TEXT_CHUNKS):
            template = self._chunk_templates.template(_CHUNK_TYPES[type(event)], event.message_id)
            self._connection.client.send_chunk_now(template, event.text)
            return
        # An update replaces the unsent one of the same call; only a passing state may be dropped.
        replace_key = event.call_id if isinstance(event, CallChanged) and event.is_passing else None
        for session_id, update in self._updates(event):
            self._connection.client.send_update_now(session_id, update, replace_key)

    def _updates(
        self, event: Event | PromptReceived
    ) -> Iterator[tuple[str, SessionUpdate | DraftUpdate]]:
        """Yield the updates that show an event, each with the id of the session to show it in."""
        session_id, connection = self._session_id, self._connection
        if connection.shows_child_sessions:
            match event:
                case SubAgentStarted():
                    yield from connection.children.announce(session_id, event)
                    return
                case SubAgentEnded():
                    yield from connection.children.end(session_id, event)
                    return
                case SubAgentProgressed():
                    session_id = child_session_id(session_id, event.parent_id, event.number)
                    event = event.event
                case (
                    CallAppeared()
                    | CallChanged()
                    | TerminalOpened()
                    | TerminalPrinted()
                    | TerminalEnded()
                ) if event.parent_id:
                    number = sub_agent_number(event.call_id, event.parent_id)
                    session_id = child_session_id(session_id, event.parent_id, number)
                    event = replace(event, parent_id="")
                case _:
                    pass
        if connection.client_name in NAME_CALLS_BY_DIFF:
            event = self._without_command_diffs(event)
        for update in session_updates(event, connection, self._title(event)):
            yield session_id, update

    def _without_command_diffs(self, event: Event | PromptReceived) -> Event | PromptReceived:
        """Return an event without the diffs of what a command changed: the command names it."""
        if isinstance(event, CallAppeared) and event.kind == "execute":
            self._commands.add(event.call_id)
        if isinstance(event, CallChanged) and event.content and event.call_id in self._commands:
            rest = tuple(part for part in event.content if not isinstance(part, FileDiff))
            return replace(event, content=rest)
        return event

    def _title(self, event: Event | PromptReceived) -> str:
        """Return the present title of an event's call, which a terminal must not replace."""
        match event:
            case CallAppeared():
                self._titles[event.call_id] = event.title or event.name
            case CallChanged(title=str() as title):
                self._titles[event.call_id] = title
            case TerminalOpened():
                return self._titles.get(event.call_id, "")
            case _:
                pass
        return ""


def mode_state(current: Mode) -> SessionModeState:
    """Return all modes and the current one."""
    modes = tuple(
        SessionMode(id=mode.id, name=mode.name, description=mode.description) for mode in MODES
    )
    return SessionModeState(current_mode_id=current, available_modes=modes)


def config_options(
    options: Sequence[Option], connection: ClientConnection
) -> tuple[SessionConfigOption, ...]:
    """Return a session's complete list of options."""
    shows_switches = connection.shows_switches
    return tuple(
        _to_switch(option) if option.is_switch and shows_switches else _to_select(option)
        for option in options
    )


def options_update(options: Sequence[Option], connection: ClientConnection) -> ConfigOptionUpdate:
    """Return all options with their values, for clients that show options."""
    return ConfigOptionUpdate(config_options=config_options(options, connection))


def usage_update(session: Session) -> UsageUpdate | None:
    """Return how full the context window is, if known."""
    totals = session.context.totals
    used = totals.context_tokens
    measured = ContextMeasured(used, session.window_tokens, totals.cost_usd)
    return _usage(measured) if used else None


def format_timestamp(moment: datetime) -> str:
    """Return a time as ISO 8601, in UTC.

    >>> format_timestamp(datetime(2026, 11, 22, 9, 30, tzinfo=UTC))
    '2026-11-22T09:30:00Z'
    """
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def commands_update(commands: Sequence[Command]) -> AvailableCommandsUpdate:
    """Return all slash commands."""
    found: list[AvailableCommand] = []
    for each in commands:
        hint = UnstructuredCommandInput(hint=each.hint) if each.hint else None
        found.append(AvailableCommand(name=each.name, description=each.description, input=hint))
    return AvailableCommandsUpdate(available_commands=tuple(found))


def _to_switch(option: Option) -> SessionConfigBoolean:
    return SessionConfigBoolean(
        id=option.id,
        name=option.name,
        description=option.description,
        category=option.category,
        current_value=option.current == ON,
    )


def _to_select(option: Option) -> SessionConfigSelect:
    choices = tuple(
        SessionConfigSelectOption(
            value=choice.value, name=choice.name, description=choice.description or None
        )
        for choice in option.values
    )
    return SessionConfigSelect(
        id=option.id,
        name=option.name,
        description=option.description,
        category=option.category,
        current_value=option.current,
        options=choices,
    )
