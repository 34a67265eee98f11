"""Our own requests and notifications, and how everything ends."""

import anyio
import pytest
from pydantic import JsonValue

from acp_server.jsonrpc.errors import ConnectionClosedError, RemoteError
from acp_server.jsonrpc.messages import notification_line
from acp_server.jsonrpc.peer import Handlers, Peer
from tests.jsonrpc.peers import (
    ECHO,
    BlockedRequest,
    RawClient,
    error,
    make_handler,
    open_raw_client,
    open_two_peers,
    result,
    run_ready_tasks,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import MESSAGE_LONGER_THAN


class Asked:
    """The outcome of a request of ours, once there is one."""

    def __init__(self) -> None:
        self.result: JsonValue = "none yet"
        self.error: RemoteError | ConnectionClosedError | None = None

    async def ask(self, peer: Peer, params: JsonValue = None) -> None:
        try:
            self.result = await peer.request("ask", params)
        except (RemoteError, ConnectionClosedError) as error:
            self.error = error


async def outcome_of(client: RawClient, *answers: JsonValue) -> Asked:
    """What a request of ours, whose id is 1, comes to when these messages are received."""
    asked = Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.ask, client.peer)
        await client.receive()
        client.send(*answers)
    return asked


async def test_an_error_response_is_raised_with_all_its_fields() -> None:
    answer: JsonValue = {"code": -5, "message": "no\nway", "data": {"x": [1]}}
    async with open_raw_client(Handlers()) as client:
        asked = await outcome_of(client, {"jsonrpc": "2.0", "id": 1, "error": answer})
    assert isinstance(asked.error, RemoteError)
    assert (asked.error.code, asked.error.message) == (-5, "no\nway")
    assert asked.error.data == {"x": [1]}


@pytest.mark.parametrize(
    "answer",
    [
        {"id": 1, "result": None},
        {"id": 1},
        {"id": 1, "error": None},
        {"id": 1, "result": None, "error": None},
    ],
)
async def test_a_response_without_a_result_is_null(answer: JsonValue) -> None:
    async with open_raw_client(Handlers()) as client:
        asked = await outcome_of(client, answer)
    assert (asked.result, asked.error) == (None, None)


async def test_a_response_matches_only_the_request_with_the_identical_id() -> None:
    others: list[JsonValue] = ["1", True, 1.0, 2, 0, -1, None, [1]]
    async with open_raw_client(Handlers()) as client:
        asked = await outcome_of(
            client, *(result(each, "wrong") for each in others), result(1, "right")
        )
    assert asked.result == "right"


async def test_responses_may_arrive_in_any_order() -> None:
    first, second = Asked(), Asked()
    async with open_raw_client(Handlers()) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(first.ask, client.peer)
        await client.receive()
        tasks.start_soon(second.ask, client.peer)
        await client.receive()
        client.send(result(2, "second"), result(1, "first"))
    assert (first.result, second.result) == ("first", "second")


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":77,"result":{}}',
        b'{"jsonrpc":"2.0","id":"77","error":{"code":-1,"message":"no"}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
        b'{"jsonrpc":"2.0","id":true,"result":1}',
        b'{"jsonrpc":"2.0","id":[],"error":{}}',
        b'{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}',
        b'{"result":1}',
        b'{"id":5}',
    ],
)
async def test_a_response_is_never_answered(line: bytes) -> None:
    async with open_raw_client(Handlers(ECHO)) as client:
        client.send_lines(line)
        client.request(1, "echo", {})
        assert await client.receive() == result(1, {})
        assert await client.receive_until_end() == []


async def test_an_oversized_response_fails_its_request_and_is_not_answered() -> None:
    async with open_raw_client(Handlers(ECHO), limit_bytes=1000) as client:
        asked = await outcome_of(client, result(1, {"content": "x" * 2000}))
        assert isinstance(asked.error, RemoteError)
        assert asked.error.message.startswith("Message too large: ")
        assert await client.receive_until_end() == []


async def test_an_oversized_request_is_refused_under_its_id_and_the_next_one_works() -> None:
    reason = f"{MESSAGE_LONGER_THAN} 1000 bytes; send a smaller message"
    async with open_raw_client(Handlers(ECHO), limit_bytes=1000) as client:
        client.request("big", "echo", {"x": "x" * 2000})
        client.request(2, "echo", {})
        assert await client.receive() == error("big", -32600, "Message too large", reason)
        assert await client.receive() == result(2, {})


async def test_pending_and_later_requests_fail_when_the_stream_ends() -> None:
    asked, late = Asked(), Asked()
    async with open_raw_client(Handlers()) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked.ask, client.peer)
            await client.receive()
            client.end()
        await late.ask(client.peer)
    assert isinstance(asked.error, ConnectionClosedError)
    assert isinstance(late.error, ConnectionClosedError)


async def test_inbound_requests_are_cancelled_when_the_stream_ends() -> None:
    blocked = BlockedRequest()
    async with open_raw_client(Handlers({"hold": make_handler(blocked.answer)})) as client:
        client.request(1, "hold")
        await blocked.started.wait()
        assert await client.receive_until_end() == []
    assert blocked.was_cancelled


async def test_requests_that_end_with_the_work_on_a_disconnect_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acp_server.jsonrpc.peer.DRAIN_SECONDS", HANG_TIMEOUT_SECONDS)
    blocked = BlockedRequest()

    async def end_work() -> None:
        blocked.allowed_to_end.set()

    handlers = Handlers({"hold": make_handler(blocked.answer)})
    async with open_raw_client(handlers, on_disconnect=end_work) as client:
        client.request(1, "hold", {"a": 1})
        await blocked.started.wait()
        assert await client.receive_until_end() == [result(1, {"a": 1})]


async def test_work_that_does_not_end_after_a_disconnect_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acp_server.jsonrpc.peer.DRAIN_SECONDS", 0)
    blocked = BlockedRequest()
    handlers = Handlers({"hold": make_handler(blocked.answer)})
    async with open_raw_client(handlers, on_disconnect=anyio.sleep_forever) as client:
        client.request(1, "hold")
        await blocked.started.wait()
        assert await client.receive_until_end() == []
    assert blocked.was_cancelled


async def test_inbound_requests_are_finished_when_the_stream_was_a_file() -> None:
    blocked = BlockedRequest()
    handlers = Handlers({"hold": make_handler(blocked.answer), **ECHO})
    async with open_raw_client(handlers, is_file=True) as client:
        client.request(1, "hold", {"a": 1})
        client.request(2, "echo", {"b": 2})
        await blocked.started.wait()
        client.end()
        await run_ready_tasks()
        blocked.allowed_to_end.set()
        assert await client.receive_until_end() == [result(2, {"b": 2}), result(1, {"a": 1})]


async def test_the_last_line_of_a_file_needs_no_newline() -> None:
    async with open_raw_client(Handlers(ECHO), is_file=True) as client:
        client.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"echo"}')
        assert await client.receive_until_end() == [result(1, None)]


async def test_a_streaming_sender_waits_for_capacity_but_responses_do_not() -> None:
    sent: list[int] = []
    async with open_raw_client(Handlers(ECHO), capacity_bytes=2000) as client:

        async def stream() -> None:
            for number in range(100):
                await client.peer.notify("told", {"n": number, "text": "x" * 100})
                sent.append(number)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream)
            await run_ready_tasks()
            assert 10 < len(sent) < 30
            unsent = len(sent)
            client.request(1, "echo", {})
            await run_ready_tasks()
            assert len(sent) == unsent
            received = [await client.receive() for _ in range(unsent + 1)]
            assert received[-1] == result(1, {})
            for _ in range(100 - unsent):
                await client.receive()
    assert sent == list(range(100))


async def test_only_the_latest_unsent_notification_with_a_key_is_sent() -> None:
    async with open_raw_client(Handlers()) as client:
        for number in range(10):
            client.peer.transport.send(notification_line("diff", {"n": number}), "diff")
            await client.peer.notify("text", {"n": number})
        received = await client.receive_until_end()
    texts = [{"jsonrpc": "2.0", "method": "text", "params": {"n": n}} for n in range(10)]
    diff = {"jsonrpc": "2.0", "method": "diff", "params": {"n": 9}}
    assert received == [*texts[:9], diff, texts[9]]


async def test_malformed_lines_without_an_id_are_not_answered_while_the_client_does_not_read() -> (
    None
):
    async with open_raw_client(Handlers(ECHO), capacity_bytes=2000) as client:
        client.send_lines(*[b"nonsense"] * 1000)
        client.request(1, "echo", {})
        await run_ready_tasks()
        received = await client.receive_until_end()
    assert len(received) < 30
    assert received[-1] == result(1, {})


async def test_every_malformed_line_of_a_file_is_answered_however_slow_the_reader() -> None:
    async with open_raw_client(Handlers(ECHO), capacity_bytes=200, is_file=True) as client:
        client.send_lines(*[b"nonsense"] * 1000)
        await run_ready_tasks()
        assert not client.server_end.has_capacity
        assert len(await client.receive_until_end()) == 1000


async def test_malformed_lines_with_an_id_are_answered_even_while_the_client_does_not_read() -> (
    None
):
    async with open_raw_client(Handlers(ECHO), capacity_bytes=200) as client:
        for number in range(100):
            client.send({"id": number, "method": "echo"})
        reason = 'jsonrpc must be "2.0"'
        assert await client.receive_until_end() == [
            error(number, -32600, "Invalid Request", reason) for number in range(100)
        ]


async def test_a_closed_peer_sends_no_more_requests() -> None:
    async with open_two_peers(Handlers(ECHO), Handlers(ECHO)) as (local, remote):
        assert await local.request("echo", {}) == {}
    for peer in (local, remote):
        with pytest.raises(ConnectionClosedError):
            await peer.request("echo", {})
        await peer.notify("into the void", {})
