"""The checkpoint port of a session: saves file states before turns and restores them."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from acp_server.turn.conversation import Conversation, UserMessage
from acp_server.turn.ports import TurnSink

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
