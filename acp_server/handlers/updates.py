"""The engine's events become session updates."""

from collections.abc import Hashable, Sequence
from typing import assert_never

import anyio

from acp_server.handlers.calls import call_progress, call_start, plan
from acp_server.handlers.link import Link
from acp_server.permissions.modes import MODES, Mode
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
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    Notice,
    SessionUpdate,
    UnstructuredCommandInput,
    UsageUpdate,
)
from acp_server.session.commands import Command
from acp_server.session.options import Option
from acp_server.session.session import Session
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    ContextMeasured,
    Event,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)


class Outlet:
    """The way out that the turns of all sessions share.

    While the editor reads slowly they wait in one line, and none overtakes the others.
    """

    def __init__(self, link: Link) -> None:
        self._client = link.client
        self._line = anyio.Lock(fast_acquire=True)

    async def wait(self) -> None:
        """Return when an update may be sent, before anything else is awaited."""
        if self._line.locked() or not self._client.has_room:
            async with self._line:
                await self._client.wait_for_room()


def update_of(event: Event, *, shows_notices: bool) -> SessionUpdate:
    """Return an event in ACP's words; in those only that the client has said it understands."""
    match event:
        case MessageChunk() | ThoughtChunk():
            chunk = AgentMessageChunk if isinstance(event, MessageChunk) else AgentThoughtChunk
            return chunk(content=TextContent(text=event.text), message_id=event.message_id)
        case CallAppeared():
            return call_start(event)
        case CallChanged() | TerminalOpened() | TerminalPrinted() | TerminalEnded():
            return call_progress(event)
        case PlanChanged():
            return plan(event)
        case NoticeRaised():
            return _notice(event, shows_notices=shows_notices)
        case ContextMeasured():
            return _usage(event)
        case _:
            assert_never(event)


def _notice(event: NoticeRaised, *, shows_notices: bool) -> SessionUpdate:
    """Return a notice; for a client that shows none a thought, or a message."""
    if shows_notices:
        return Notice(severity=event.severity, title=event.title)
    content = TextContent(text=f"{event.title}\n")
    if event.is_said:
        return AgentMessageChunk(content=content, message_id=event.message_id)
    return AgentThoughtChunk(content=content, message_id=event.message_id)


def _usage(event: ContextMeasured) -> UsageUpdate:
    cost = Cost(amount=event.cost_usd, currency="USD") if event.cost_usd is not None else None
    return UsageUpdate(used=event.used_tokens, size=event.window_tokens, cost=cost)


def _key(event: Event) -> Hashable:
    """Return what an event may take the place of while that is unsent; None for nothing."""
    return event.call_id if isinstance(event, CallChanged) and event.is_passing else None


class EditorScreen:
    """Shows a session's events in the editor."""

    def __init__(self, link: Link, session_id: str, outlet: Outlet) -> None:
        self._link = link
        self._session_id = session_id
        self._outlet = outlet

    async def ready(self) -> None:
        """Wait while the editor reads slowly."""
        await self._outlet.wait()

    def show(self, event: Event) -> None:
        """Send one event at once."""
        update = update_of(event, shows_notices=self._link.shows_notices)
        self._link.client.update_now(self._session_id, update, _key(event))


def mode_state(current: Mode) -> SessionModeState:
    """Return the modes and the one that holds."""
    modes = tuple(
        SessionMode(id=mode.id, name=mode.name, description=mode.description) for mode in MODES
    )
    return SessionModeState(current_mode_id=current, available_modes=modes)


def config_options(session: Session) -> tuple[SessionConfigOption, ...]:
    """Return the complete list of a session's options."""
    return tuple(_select(option) for option in session.options)


def mode_update(session: Session) -> CurrentModeUpdate:
    """Return the mode that holds, for clients that show modes."""
    return CurrentModeUpdate(current_mode_id=session.mode)


def options_update(session: Session) -> ConfigOptionUpdate:
    """Return all options as they stand, for clients that show options."""
    return ConfigOptionUpdate(config_options=config_options(session))


def commands_update(commands: Sequence[Command]) -> AvailableCommandsUpdate:
    """Return the slash commands, all of them."""
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


def _command(command: Command) -> AvailableCommand:
    hint = UnstructuredCommandInput(hint=command.hint) if command.hint else None
    return AvailableCommand(name=command.name, description=command.description, input=hint)
