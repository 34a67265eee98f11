"""Archives that are opened one after another, as by successive processes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from acp_server.session.ports.archive import (
    Journal,
    SessionArchive,
    StoredSession,
)
from acp_server.turn.events import (
    Event,
    PromptReceived,
)

OpenArchive = Callable[[], AbstractAsyncContextManager[SessionArchive]]
"""Opens an archive over the same data, as a new process would."""


async def read_in_new_process(process: OpenArchive, session_id: str = "one") -> StoredSession:
    """Return a session as a new process reads it."""
    async with process() as archive:
        return await archive.read(session_id)


def show_events(journal: Journal, *events: Event | PromptReceived) -> None:
    """Write events to a journal."""
    for event in events:
        journal.show(event)
