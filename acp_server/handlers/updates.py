"""The engine's events become session updates."""

from collections.abc import Sequence
from typing import assert_never

import anyio

from acp_server.jsonrpc.transport import Transport
from acp_server.protocol.client import Client
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
    CurrentModeUpdate,
    SessionUpdate,
    UnstructuredCommandInput,
)
from acp_server.session.commands import Command
from acp_server.session.modes import MODES, Mode
from acp_server.session.options import Option
from acp_server.session.session import Session
from acp_server.turn.events import Event, MessageChunk, ThoughtChunk


class Outlet:
    """The way out that the turns of all sessions share.

    While the editor reads slowly they wait in one line, and none overtakes the others.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._line = anyio.Lock(fast_acquire=True)

    async def wait(self) -> None:
        """Return when an update may be sent, before anything else is awaited."""
        if self._line.locked() or not self._transport.has_room:
            async with self._line:
                await self._transport.wait_for_room()


class EditorScreen:
    """Shows a turn's events in the editor."""

    def __init__(self, client: Client, session_id: str, outlet: Outlet) -> None:
        self._client = client
        self._session_id = session_id
        self._outlet = outlet

    async def ready(self) -> None:
        """Wait while the editor reads slowly."""
        await self._outlet.wait()

    async def emit(self, event: Event) -> None:
        """Send one event."""
        await self._client.update(self._session_id, update_of(event))


def update_of(event: Event) -> SessionUpdate:
    """Return an event in ACP's words."""
    match event:
        case MessageChunk():
            content = TextContent(text=event.text)
            return AgentMessageChunk(content=content, message_id=event.message_id)
        case ThoughtChunk():
            content = TextContent(text=event.text)
            return AgentThoughtChunk(content=content, message_id=event.message_id)
        case _:
            assert_never(event)


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
            value=choice.value, name=choice.name, description=choice.description
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
