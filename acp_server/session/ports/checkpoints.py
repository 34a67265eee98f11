"""The checkpoint port of a session, and the slash commands `/undo` and `/checkpoints`."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from acp_server.session.commands.registry import CommandRegistry, SlashCommand
from acp_server.turn.conversation import Conversation, UserMessage
from acp_server.turn.ports import TurnSink

UNDO = "Restore files to their state before the last or an earlier turn"
LIST = "List the checkpoints that you can restore"
NO_CHECKPOINTS = "No checkpoints are kept in this session, so there is nothing to undo."


class Checkpoints(Protocol):
    """Saves the state of files before each turn and restores it."""

    def record_turn(
        self, prompt: UserMessage, conversation: Conversation
    ) -> AbstractAsyncContextManager[None]:
        """Record file changes made within the context."""
        ...

    async def undo(self, arguments: str, sink: TurnSink) -> str:
        """Restore files, asking the user where needed; return Markdown that reports the result."""
        ...

    async def describe(self) -> str:
        """Return the available checkpoints as Markdown."""
        ...


class NoCheckpoints:
    """A checkpoint port that records nothing."""

    @asynccontextmanager
    async def record_turn(
        self, prompt: UserMessage, conversation: Conversation
    ) -> AsyncGenerator[None]:
        """Record nothing."""
        del prompt, conversation
        yield

    async def undo(self, arguments: str, sink: TurnSink) -> str:
        """Report that there is nothing to undo."""
        del arguments, sink
        return NO_CHECKPOINTS

    async def describe(self) -> str:
        """Report that there are no checkpoints."""
        return NO_CHECKPOINTS


class CheckpointCommands:
    """The checkpoint commands of one session; has no checkpoints until the tools are built."""

    def __init__(self, commands: CommandRegistry, prepare: Callable[[], Awaitable[object]]) -> None:
        """Register the commands; `prepare` builds the tools, and the checkpoints with them."""
        self._prepare = prepare
        self._checkpoints: Checkpoints = NoCheckpoints()
        hint = "[number or id] [--conversation]"
        commands.add(
            SlashCommand("undo", UNDO, self._undo, hint),
            SlashCommand("checkpoints", LIST, self._listing),
        )

    def set_checkpoints(self, checkpoints: Checkpoints) -> None:
        """Use these checkpoints from now on."""
        self._checkpoints = checkpoints

    def record_turn(
        self, prompt: UserMessage, conversation: Conversation
    ) -> AbstractAsyncContextManager[None]:
        """Record file changes made within the context."""
        return self._checkpoints.record_turn(prompt, conversation)

    async def _undo(self, arguments: str, sink: TurnSink) -> str:
        # Checkpoints come with the tools, and this may be the first prompt of the session.
        await self._prepare()
        return await self._checkpoints.undo(arguments, sink)

    async def _listing(self, arguments: str, sink: TurnSink) -> str:
        del arguments, sink
        await self._prepare()
        return await self._checkpoints.describe()
