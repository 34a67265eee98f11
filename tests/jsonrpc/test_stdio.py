"""What only the transport over descriptors has to do."""

import fcntl
import os
import pty
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress

import anyio
import pytest
from anyio import to_thread

from acp_server.jsonrpc.stdio import READ_BYTES, Descriptors, StdioTransport
from tests.jsonrpc.transport_pairs import check_no_threads_left, receive_all, send_all
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

OpenPipe = Callable[[], tuple[int, int]]


@pytest.fixture
def open_pipe() -> Iterator[OpenPipe]:
    opened: list[int] = []

    def open_one() -> tuple[int, int]:
        opened.extend(os.pipe())
        return opened[-2], opened[-1]

    yield open_one
    for descriptor in opened:
        with suppress(OSError):  # a test may have closed it
            os.close(descriptor)


def make_nonblocking(descriptor: int) -> None:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_NONBLOCK)


def is_nonblocking(descriptor: int) -> bool:
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NONBLOCK)


async def test_previously_read_bytes_come_first(open_pipe: OpenPipe) -> None:
    (read, write), (_, sink) = open_pipe(), open_pipe()
    os.write(write, b"lf\nsecond\n")
    os.close(write)
    async with StdioTransport(Descriptors(read, sink, b"first\nha")) as transport:
        assert await receive_all(transport) == [b"first", b"half", b"second"]


async def test_previously_read_bytes_are_received_without_further_input(
    open_pipe: OpenPipe,
) -> None:
    (read, write), (_, sink) = open_pipe(), open_pipe()
    async with (
        check_no_threads_left(lambda: os.close(write)),
        StdioTransport(Descriptors(read, sink, b"first\n")) as transport,
    ):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert [*await transport.receive()] == [b"first"]


async def test_a_nonblocking_descriptor_is_waited_for_and_stays_nonblocking(
    open_pipe: OpenPipe,
) -> None:
    (read, write), (_, sink) = open_pipe(), open_pipe()
    make_nonblocking(read)
    async with StdioTransport(Descriptors(read, sink)) as transport:
        for line in (b"one\n", b"two\n"):
            os.write(write, line)
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                assert [*await transport.receive()] == [line.strip()]
        os.close(write)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await receive_all(transport) == []
    assert is_nonblocking(read)


async def test_a_full_nonblocking_pipe_is_waited_for(open_pipe: OpenPipe) -> None:
    (source, end), (read, write) = open_pipe(), open_pipe()
    make_nonblocking(write)
    line = b"x" * 1_000_000 + b"\n"
    async with (
        check_no_threads_left(lambda: os.close(end)),
        StdioTransport(Descriptors(source, write)) as transport,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(send_all, transport, [line])
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await to_thread.run_sync(read_exactly, read, len(line)) == line
    assert is_nonblocking(write)


def read_exactly(descriptor: int, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        received += os.read(descriptor, count - len(received))
    return bytes(received)


async def test_a_terminal_hang_up_counts_as_end_of_stream(open_pipe: OpenPipe) -> None:
    test, server = pty.openpty()
    tty.setraw(server)
    _, sink = open_pipe()
    os.write(test, b"one\n")
    async with StdioTransport(Descriptors(server, sink)) as transport:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert [*await transport.receive()] == [b"one"]
            os.close(test)
            assert await receive_all(transport) == []
    os.close(server)


async def test_empty_input_counts_as_end_of_stream() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    async with StdioTransport(Descriptors(nothing, nothing)) as transport:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await receive_all(transport) == []
            await send_all(transport, [b"nobody\n"])
    os.close(nothing)


async def test_one_read_that_holds_many_lines_is_one_batch(open_pipe: OpenPipe) -> None:
    (read, write), (_, sink) = open_pipe(), open_pipe()
    lines = [b"%d" % number for number in range(1000)]
    os.write(write, b"".join(line + b"\n" for line in lines))
    os.close(write)
    async with StdioTransport(Descriptors(read, sink)) as transport:
        assert [*await transport.receive()] == lines


async def test_read_ahead_is_bounded_when_lines_are_not_received(open_pipe: OpenPipe) -> None:
    (read, write), (_, sink) = open_pipe(), open_pipe()
    make_nonblocking(write)
    async with (
        check_no_threads_left(lambda: os.close(write)),
        StdioTransport(Descriptors(read, sink)) as transport,
    ):
        written = await to_thread.run_sync(fill, write)
        assert written < 100 * READ_BYTES
        received = 0
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while received < written:
                received += 1024 * len(await transport.receive())


def fill(descriptor: int) -> int:
    """Write until nobody has taken anything for a while; return how much was taken."""
    written, refused = 0, 0
    line = b"x" * 1023 + b"\n"
    while refused < 200_000 and written < 200 * READ_BYTES:
        try:
            written += os.write(descriptor, line)
            refused = 0
        except BlockingIOError:
            refused += 1
    return written


async def test_closing_the_transport_closes_neither_descriptor(open_pipe: OpenPipe) -> None:
    (read, write), (other_read, other_write) = open_pipe(), open_pipe()
    os.close(write)
    async with StdioTransport(Descriptors(read, other_write)) as transport:
        assert await receive_all(transport) == []
    os.fstat(read)
    os.write(other_write, b"still open")
    assert os.read(other_read, 100) == b"still open"
