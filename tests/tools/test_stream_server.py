"""A listening socket whose connections strangers open as many of as they like."""

import errno
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketListener, SocketStream

from acp_server.tools import stream_server
from acp_server.tools.stream_server import MAX_CONNECTIONS, serve_streams
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


@asynccontextmanager
async def open_listener() -> AsyncGenerator[tuple[SocketListener, int]]:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    async with await SocketListener.from_socket(listening) as listener:
        yield listener, port


async def test_more_connections_wait_until_others_have_ended() -> None:
    served: list[SocketStream] = []
    is_full, may_end = anyio.Event(), anyio.Event()

    async def handle(stream: SocketStream) -> None:
        async with stream:
            served.append(stream)
            if len(served) >= MAX_CONNECTIONS:
                is_full.set()
            await stream.send(b"x")
            await may_end.wait()

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with open_listener() as (listener, port), anyio.create_task_group() as tasks:
            tasks.start_soon(serve_streams, listener, handle)
            clients = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(MAX_CONNECTIONS)]
            await is_full.wait()
            late = await anyio.connect_tcp("127.0.0.1", port)
            assert len(served) == MAX_CONNECTIONS
            may_end.set()
            assert await late.receive(1) == b"x"
            for each in (*clients, late):
                await each.aclose()
            tasks.cancel_scope.cancel()


async def test_a_process_without_descriptors_goes_on_once_it_has_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_server, "RETRY_SECONDS", 0.0)
    failures = [OSError(errno.EMFILE, "no more"), OSError(errno.ECONNABORTED, "gone")]

    async def handle(stream: SocketStream) -> None:
        async with stream:
            await stream.send(b"x")

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with open_listener() as (listener, port), anyio.create_task_group() as tasks:
            accept = listener.accept

            async def accept_at_last() -> SocketStream:
                if failures:
                    raise failures.pop()
                return await accept()

            monkeypatch.setattr(listener, "accept", accept_at_last)
            tasks.start_soon(serve_streams, listener, handle)
            async with await anyio.connect_tcp("127.0.0.1", port) as client:
                assert await client.receive(1) == b"x"
            assert failures == []
            tasks.cancel_scope.cancel()
