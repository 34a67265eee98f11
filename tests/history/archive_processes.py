"""Archives that are opened one after another, as by successive processes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from acp_server.session.ports.archive import (
    Archive,
    Journal,
    StoredSession,
)
from acp_server.turn.events import (
    Event,
    PromptReceived,
)

Process = Callable[[], AbstractAsyncContextManager[Archive]]
"""Opens an archive over the same data, as a new process would."""


async def reread(process: Process, session_id: str = "one") -> StoredSession:
    """Return a session as a new process reads it."""
    async with process() as archive:
        return await archive.read(session_id)


def show(journal: Journal, *events: Event | PromptReceived) -> None:
    """Write events to a journal."""
    for event in events:
        journal.show(event)
