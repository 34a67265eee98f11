"""What a session needs of whoever keeps what its turns change: the port, and its commands."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from acp_server.session.commands import Command, CommandRegistry
from acp_server.turn.conversation import Conversation, UserMessage
from acp_server.turn.ports import Sink

UNDO = "Bring back the files as they were before the last turn, or another one"
LIST = "List what can be undone"
NOTHING_KEPT = "Nothing is kept here, so nothing can be undone."


class Checkpoints(Protocol):
    """Keeps what files were before each turn, and brings it back."""

    def turn(
        self, prompt: UserMessage, conversation: Conversation
    ) -> AbstractAsyncContextManager[None]:
        """Keep what is changed inside."""
        ...

    async def undo(self, arguments: str, sink: Sink) -> str:
        """Bring files back, as far as the user lets it; return Markdown that says what was done."""
        ...

    async def listing(self) -> str:
        """Return what can be undone, as Markdown."""
        ...


class NoCheckpoints:
    """Keeps nothing."""

    @asynccontextmanager
    async def turn(self, prompt: UserMessage, conversation: Conversation) -> AsyncGenerator[None]:
        """Do nothing."""
        del prompt, conversation
        yield

    async def undo(self, arguments: str, sink: Sink) -> str:
        """Say that nothing is kept."""
        del arguments, sink
        return NOTHING_KEPT

    async def listing(self) -> str:
        """Say that nothing is kept."""
        return NOTHING_KEPT


class CheckpointDesk:
    """What one session keeps of its turns, from when its tools are there; and its commands."""

    def __init__(self, commands: CommandRegistry, prepare: Callable[[], Awaitable[object]]) -> None:
        """Have the commands answered; `prepare` has the tools made."""
        self._prepare = prepare
        self._checkpoints: Checkpoints = NoCheckpoints()
        hint = "[number or id] [--conversation]"
        commands.add(
            Command("undo", UNDO, self._undo, hint), Command("checkpoints", LIST, self._listing)
        )

    def take(self, checkpoints: Checkpoints) -> None:
        """Use these from now on."""
        self._checkpoints = checkpoints

    def turn(
        self, prompt: UserMessage, conversation: Conversation
    ) -> AbstractAsyncContextManager[None]:
        """Keep what is changed inside."""
        return self._checkpoints.turn(prompt, conversation)

    async def _undo(self, arguments: str, sink: Sink) -> str:
        await self._prepare()
        return await self._checkpoints.undo(arguments, sink)

    async def _listing(self, arguments: str, sink: Sink) -> str:
        del arguments, sink
        await self._prepare()
        return await self._checkpoints.listing()
