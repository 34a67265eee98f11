"""Serves the connections of a listening socket that strangers can open as many of as they like."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import SocketListener, SocketStream

MAX_CONNECTIONS = 64
"""At the same time, for each listener; more wait in the system's queue."""
RETRY_SECONDS = 0.1


async def serve_streams(
    listener: SocketListener, handle: Callable[[SocketStream], Awaitable[None]]
) -> None:
    """Handle each connection in a task of its own, until cancelled.

    The process has descriptors for some connections only, and needs them for other things, too. It
    survives if it has none left.
    """
    slots = anyio.Semaphore(MAX_CONNECTIONS)

    async def handle_one(stream: SocketStream) -> None:
        try:
            await handle(stream)
        finally:
            slots.release()

    async with anyio.create_task_group() as tasks:
        while True:
            await slots.acquire()
            try:
                stream = await listener.accept()
            except OSError:  # no descriptors are left, or the connection has ended already
                slots.release()
                await anyio.sleep(RETRY_SECONDS)
            else:
                tasks.start_soon(handle_one, stream)
