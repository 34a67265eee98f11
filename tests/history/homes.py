"""Homes of archives, and processes that come one after the other."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from acp_server.session.records import (
    Archive,
    Journal,
    StoredSession,
)
from acp_server.turn.events import (
    Event,
    PromptReceived,
)

Process = Callable[[], AbstractAsyncContextManager[Archive]]
"""Makes an archive of one home, as one process after another would."""


async def reread(process: Process, session_id: str = "one") -> StoredSession:
    """Return what a later process finds."""
    async with process() as archive:
        return await archive.read(session_id)


def show(journal: Journal, *events: Event | PromptReceived) -> None:
    """Show events."""
    for event in events:
        journal.show(event)
