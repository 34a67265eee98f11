"""The checkpoint port of a session: saves file states before turns and restores them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal, Protocol

from acp_server.session.errors import RestoreRefusedError
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import UserMessage
from acp_server.turn.ports import TurnSink

NO_CHECKPOINTS = "No checkpoints are kept in this session, so there is nothing to undo."

RestoreScope = Literal["files", "conversation", "both"]


@frozen_dataclass
class RestoreReport:
    """Result of a restore."""

    restored: Sequence[str]
    """Absolute paths."""
    left: Mapping[str, str]
    """Reasons why files were not restored, by absolute path."""
    checkpoint: str
    """Id of the restore's own checkpoint, which undoes it."""


class Checkpoints(Protocol):
    """Saves the state of files before each turn and restores it."""

    def record_turn(self, prompt: UserMessage) -> AbstractAsyncContextManager[None]:
        """Record file changes made within the context."""
        ...

    async def undo(self, arguments: str, sink: TurnSink) -> str:
        """Restore files, asking the user where needed; return Markdown that reports the result."""
        ...

    async def restore(self, checkpoint: str, scope: RestoreScope, sink: TurnSink) -> RestoreReport:
        """Restore the state before a prompt, asking the user where needed.

        Raises:
            UnknownCheckpointError: the session has no such checkpoint.
            RestoreRefusedError: it cannot be restored; nothing was changed.
        """
        ...

    async def describe(self) -> str:
        """Return the available checkpoints as Markdown."""
        ...


class NoCheckpoints:
    """A checkpoint port that records nothing."""

    @asynccontextmanager
    async def record_turn(self, prompt: UserMessage) -> AsyncGenerator[None]:
        """Record nothing."""
        del prompt
        yield

    async def undo(self, arguments: str, sink: TurnSink) -> str:
        """Report that there is nothing to undo."""
        del arguments, sink
        return NO_CHECKPOINTS

    async def restore(self, checkpoint: str, scope: RestoreScope, sink: TurnSink) -> RestoreReport:
        """Refuse: there are no checkpoints.

        Raises:
            RestoreRefusedError: always.
        """
        del checkpoint, scope, sink
        raise RestoreRefusedError(NO_CHECKPOINTS)

    async def describe(self) -> str:
        """Report that there are no checkpoints."""
        return NO_CHECKPOINTS
