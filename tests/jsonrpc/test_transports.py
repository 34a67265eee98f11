"""What every transport promises, over every kind of transport."""

import anyio
import pytest
from anyio import lowlevel

from acp_server.jsonrpc.framing import OversizedLine
from acp_server.jsonrpc.transport import Transport
from tests.jsonrpc.transport_pairs import (
    DuplexTransportPair,
    TransportLimits,
    open_duplex_pair,
    open_pair,
    receive_all,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

MIB = 1024 * 1024
DUPLEX_KINDS = ["memory", "pipes", "sockets"]
duplex_kinds = pytest.mark.parametrize("kind", DUPLEX_KINDS)
all_kinds = pytest.mark.parametrize("kind", [*DUPLEX_KINDS, "files"])

SMALL = TransportLimits(capacity_bytes=1000)
TOO_MUCH = [b"%d " % number + b"x" * 1000 + b"\n" for number in range(2000)]
"""More than all buffers on the way hold."""


def stripped(lines: list[bytes]) -> list[bytes]:
    return [line.strip() for line in lines]


async def settle() -> None:
    """Let every task and thread that can go on do so for a while."""
    for _ in range(100):
        await lowlevel.checkpoint()


def overfill(transport: Transport) -> None:
    for line in TOO_MUCH:
        transport.send(line)
    assert not transport.has_capacity


@all_kinds
async def test_lines_arrive_in_order(kind: str) -> None:
    lines = [b'{"n":%d}' % number for number in range(5000)]
    async with open_pair(kind) as link:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await link.transfer(*(line + b"\n" for line in lines)) == lines


@all_kinds
async def test_a_large_line_arrives_whole_between_small_ones(kind: str) -> None:
    lines = [b"before", b"0123456789abcdef" * (8 * MIB // 16), b"after"]
    async with open_pair(kind) as link:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await link.transfer(*(line + b"\n" for line in lines)) == lines


@all_kinds
async def test_an_oversized_line_is_reported_and_the_next_one_arrives(kind: str) -> None:
    async with open_pair(kind, TransportLimits(limit_bytes=10)) as link:
        received = await link.transfer(b"12345678901\n", b"next\n")
    assert received == [OversizedLine(b"12345678901", 10), b"next"]


@all_kinds
async def test_the_last_line_may_lack_its_newline(kind: str) -> None:
    async with open_pair(kind) as link:
        assert await link.transfer(b"one\r\n\n", b"two") == [b"one", b"two"]


@all_kinds
async def test_without_sending_nothing_is_received(kind: str) -> None:
    async with open_pair(kind) as link:
        assert await link.transfer() == []


@all_kinds
async def test_only_the_end_of_a_file_lets_requests_finish(kind: str) -> None:
    async with open_pair(kind) as link:
        assert link.remote.finishes_requests_at_end == (kind == "files")


@duplex_kinds
async def test_lines_travel_in_both_directions_concurrently(kind: str) -> None:
    async with open_duplex_pair(kind) as link, link.local as local, link.remote as remote:
        local.send(b"ping\n")
        remote.send(b"pong\n")
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert [*await remote.receive()] == [b"ping"]
            assert [*await local.receive()] == [b"pong"]


@duplex_kinds
async def test_a_line_wakes_the_waiting_receiver(kind: str) -> None:
    async with open_duplex_pair(kind) as link, link.local as local, link.remote as remote:
        received: list[object] = []

        async def receive() -> None:
            received.extend(await remote.receive())

        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive)
                await settle()
                local.send(b"wake up\n")
        assert received == [b"wake up"]


@duplex_kinds
async def test_the_end_of_the_stream_is_final(kind: str) -> None:
    async with open_duplex_pair(kind) as link, link.local, link.remote as remote:
        link.end()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert [[*await remote.receive()] for _ in range(3)] == [[], [], []]


@duplex_kinds
async def test_the_end_of_the_stream_wakes_the_waiting_receiver(kind: str) -> None:
    async with open_duplex_pair(kind) as link, link.local, link.remote as remote:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive_all, remote)
                await settle()
                link.end()


@duplex_kinds
async def test_a_writer_waits_for_capacity_and_continues(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link, link.local as local, link.remote as remote:
        overfill(local)
        went_on = anyio.Event()

        async def write() -> None:
            await local.wait_for_capacity()
            went_on.set()
            await local.flush()
            link.end()

        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write)
                await settle()
                assert not went_on.is_set()
                assert await receive_all(remote) == stripped(TOO_MUCH)
        assert went_on.is_set()


@duplex_kinds
async def test_writers_waiting_for_capacity_continue_in_order_of_arrival(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link, link.local as local, link.remote as remote:
        overfill(local)
        order: list[int] = []

        async def write(number: int) -> None:
            await local.wait_for_capacity()
            order.append(number)
            if len(order) == 10:
                await local.flush()
                link.end()

        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(write, number)
                await settle()
                assert order == []
                await receive_all(remote)
        assert order == list(range(10))


@duplex_kinds
async def test_a_cancelled_wait_for_capacity_does_not_block_others(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link, link.local as local, link.remote as remote:
        overfill(local)
        with anyio.move_on_after(0):
            await local.wait_for_capacity()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive_all, remote)
                await local.wait_for_capacity()
                await local.flush()
                link.end()


@duplex_kinds
async def test_a_full_queue_still_accepts_a_response(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link:
        received = await link.transfer(*TOO_MUCH, b"answer\n")
    assert received == [*stripped(TOO_MUCH), b"answer"]


@duplex_kinds
async def test_only_the_latest_unsent_line_with_a_key_is_sent(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link, link.local as local, link.remote as remote:
        received: list[object] = []

        async def receive() -> None:
            received.extend(await receive_all(remote))

        overfill(local)
        for number in range(100):
            local.send(b"diff %d\n" % number, "diff")
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive)
                await local.flush()
                link.end()
        assert received == [*stripped(TOO_MUCH), b"diff 99"]


@all_kinds
async def test_flushing_an_empty_queue_returns_immediately(kind: str) -> None:
    async with open_pair(kind) as link, link.local as local:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await local.flush()


@duplex_kinds
async def test_closing_drops_unread_lines_without_waiting(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with link.local as local:
                overfill(local)


async def waits_of(link: DuplexTransportPair) -> None:
    """Everything that could wait for a reader."""
    local = link.local
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        await local.wait_for_capacity()
        await local.flush()
        assert local.has_capacity
        local.send(b"into the void\n")
        await local.flush()


@duplex_kinds
async def test_after_the_reader_stops_writers_do_not_wait(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link, link.local as local:
        overfill(local)
        await link.stop_reading()
        await waits_of(link)


@duplex_kinds
async def test_when_the_reader_stops_waiting_writers_continue(kind: str) -> None:
    async with open_duplex_pair(kind, SMALL) as link, link.local as local:
        overfill(local)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waits_of, link)
            await settle()
            await link.stop_reading()


@duplex_kinds
async def test_when_the_reader_stops_its_stream_ends(kind: str) -> None:
    async with open_duplex_pair(kind) as link, link.local as local:
        await link.stop_reading()
        local.send(b"hello?\n")
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await receive_all(local) == []
