"""Copies what two connections send to each other."""

import anyio
from anyio.abc import SocketStream

CHUNK_BYTES = 64 * 1024


async def connect_streams(first: SocketStream, second: SocketStream) -> None:
    """Pass on what comes from either until both have ended; each end is passed on, too."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_copy, first, second)
        tasks.start_soon(_copy, second, first)


async def _copy(source: SocketStream, target: SocketStream) -> None:
    """Pass on what comes until its end, which is passed on, too."""
    try:
        while True:
            await target.send(await source.receive(CHUNK_BYTES))
    except anyio.EndOfStream:
        try:
            await target.send_eof()
        except OSError:  # it is closed already
            return
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        await target.aclose()
