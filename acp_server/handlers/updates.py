"""The engine's events become session updates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import anyio

from acp_server.protocol.client import Client
from acp_server.protocol.content import TextContent
from acp_server.protocol.sessions import (
    SessionConfigOption,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)
from acp_server.protocol.tool_calls import Content
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
    ToolCallProgress,
    ToolCallStart,
    UnstructuredCommandInput,
    UsageUpdate,
)
from acp_server.session.commands import Command
from acp_server.session.modes import MODES, Mode
from acp_server.session.options import Option
from acp_server.session.session import Session
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    ContextMeasured,
    Event,
    MessageChunk,
    NoticeRaised,
    ThoughtChunk,
)


class Outlet:
    """The way out that the turns of all sessions share.

    While the editor reads slowly they wait in one line, and none overtakes the others.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._line = anyio.Lock(fast_acquire=True)

    async def wait(self) -> None:
        """Return when an update may be sent, before anything else is awaited."""
        if self._line.locked() or not self._client.has_room:
            async with self._line:
                await self._client.wait_for_room()


@dataclass(slots=True)
class Surface:
    """What a client shows: events become updates that it has said it understands."""

    client: Client
    shows_notices: bool = False

    def update_of(self, event: Event) -> SessionUpdate:
        """Return an event in ACP's words."""
        match event:
            case MessageChunk():
                content = TextContent(text=event.text)
                return AgentMessageChunk(content=content, message_id=event.message_id)
            case ThoughtChunk():
                content = TextContent(text=event.text)
                return AgentThoughtChunk(content=content, message_id=event.message_id)
            case CallAppeared():
                return ToolCallStart(
                    tool_call_id=event.call_id, title=event.name, name=event.name, status="pending"
                )
            case CallChanged():
                return _call_update(event)
            case NoticeRaised():
                return self._notice(event)
            case ContextMeasured():
                cost = event.cost_usd
                return UsageUpdate(
                    used=event.used_tokens,
                    size=event.window_tokens,
                    cost=Cost(amount=cost, currency="USD") if cost is not None else None,
                )
            case _:
                assert_never(event)

    def _notice(self, event: NoticeRaised) -> SessionUpdate:
        """Return a notice, or a thought for a client that shows none."""
        if self.shows_notices:
            return Notice(severity=event.severity, title=event.title)
        content = TextContent(text=f"{event.title}\n")
        return AgentThoughtChunk(content=content, message_id=event.message_id)


class EditorScreen:
    """Shows a session's events in the editor."""

    def __init__(self, surface: Surface, session_id: str, outlet: Outlet) -> None:
        self._surface = surface
        self._session_id = session_id
        self._outlet = outlet

    async def ready(self) -> None:
        """Wait while the editor reads slowly."""
        await self._outlet.wait()

    def show(self, event: Event) -> None:
        """Send one event at once."""
        self._surface.client.update_now(self._session_id, self._surface.update_of(event))


def _call_update(event: CallChanged) -> ToolCallProgress:
    if event.text is None:
        return ToolCallProgress(tool_call_id=event.call_id, status=event.status)
    content = Content(content=TextContent(text=event.text))
    return ToolCallProgress(tool_call_id=event.call_id, status=event.status, content=(content,))


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
