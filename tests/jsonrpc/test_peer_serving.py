"""What a peer does with the calls of the other side."""

import logging

import anyio
import pytest
from anyio import lowlevel
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.errors import InvalidParamsError, RpcError
from acp_server.jsonrpc.memory import BATCH_BYTES
from acp_server.jsonrpc.peer import Handlers, InboundRequest, Peer
from tests.jsonrpc.peers import (
    ECHO,
    BlockedRequest,
    error,
    make_handler,
    open_raw_client,
    open_two_peers,
    result,
    run_ready_tasks,
)
from tests.support.user_texts import ID_IN_USE, NO_SUCH_METHOD, PARAMS_MUST_BE_OBJECT

IN_USE = ID_IN_USE


async def fail(params: JsonValue) -> JsonValue:
    raise ValueError(f"boom\nin {params!r} lines")


async def test_a_request_gets_its_result() -> None:
    async with open_two_peers(Handlers(), Handlers(ECHO)) as (local, _):
        assert await local.request("echo", {"a": [1, None, "é"]}) == {"a": [1, None, "é"]}


async def test_both_sides_can_use_the_same_request_ids_concurrently() -> None:
    async with open_two_peers(Handlers(ECHO), Handlers(ECHO)) as (local, remote):
        answers: dict[str, JsonValue] = {}

        async def ask(peer: Peer, name: str) -> None:
            answers[name] = await peer.request("echo", {"from": name})

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, local, "ours")
            tasks.start_soon(ask, remote, "theirs")
        assert answers == {"ours": {"from": "ours"}, "theirs": {"from": "theirs"}}


async def test_a_request_inside_a_request_is_answered() -> None:
    peers: list[Peer] = []

    async def ask_back(params: JsonValue) -> JsonValue:
        return [await peers[0].request("echo", params)]

    handlers = Handlers({"ask back": make_handler(ask_back)})
    async with open_two_peers(Handlers(ECHO), handlers) as (local, remote):
        peers.append(remote)
        assert await local.request("ask back", {"deep": 1}) == [{"deep": 1}]


async def test_a_slow_request_does_not_block_others() -> None:
    blocked = BlockedRequest()
    async with open_raw_client(Handlers({"hold": make_handler(blocked.answer), **ECHO})) as client:
        client.request(1, "hold", {"first": 1})
        client.request(2, "echo", {"second": 2})
        assert await client.receive() == result(2, {"second": 2})
        blocked.allowed_to_end.set()
        assert await client.receive() == result(1, {"first": 1})


async def test_synchronous_parts_run_in_arrival_order_before_any_job() -> None:
    order: list[JsonValue] = []

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del call
        order.append(params)

        async def run() -> Reply:
            order.append("job")
            return Reply(None)

        return run

    handlers = Handlers({"r": handle}, {"n": order.append})
    async with open_raw_client(handlers) as client:
        for number in range(0, 30, 3):
            client.request(number, "r", [number])
            client.notify("n", [number + 1])
            client.notify("n", [number + 2])
        for _ in range(10):
            await client.receive()
    assert order == [*([number] for number in range(30)), *["job"] * 10]


async def test_a_job_runs_while_the_client_keeps_sending() -> None:
    order: list[str] = []

    async def run(params: JsonValue) -> JsonValue:
        order.append("job")
        return params

    def note(params: JsonValue) -> None:
        del params
        order.append("notification")

    async with open_raw_client(Handlers({"r": make_handler(run)}, {"n": note})) as client:
        client.request(1, "r", {})
        for _ in range(4):
            client.notify("n", ["x" * BATCH_BYTES])
        assert await client.receive_until_end() == [result(1, {})]
    assert order.index("job") < len(order) - 1
    assert order.count("notification") == 4


async def test_notifications_of_a_job_precede_its_response_and_follow_ups_come_after_it() -> None:
    peers: list[Peer] = []

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del params, call

        async def follow() -> None:
            await peers[0].notify("behind", {})

        async def run() -> Reply:
            for number in range(3):
                await peers[0].notify("before", {"n": number})
            return Reply("answer", follow)

        return run

    async with open_raw_client(Handlers({"turn": handle})) as client:
        peers.append(client.peer)
        client.request(2, "turn")
        received = [await client.receive() for _ in range(5)]
    assert received == [
        *({"jsonrpc": "2.0", "method": "before", "params": {"n": n}} for n in range(3)),
        result(2, "answer"),
        {"jsonrpc": "2.0", "method": "behind", "params": {}},
    ]


async def test_an_early_response_is_the_only_one() -> None:
    ended = anyio.Event()

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        async def run() -> Reply:
            call.succeed(params)
            call.succeed("twice")
            await lowlevel.checkpoint()
            ended.set()
            return Reply("late")

        return run

    async with open_raw_client(Handlers({"early": handle, **ECHO})) as client:
        client.request(1, "early", {"in": "time"})
        assert await client.receive() == result(1, {"in": "time"})
        await ended.wait()
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})


async def test_an_unknown_method_is_named_in_the_response() -> None:
    async with open_raw_client(Handlers()) as client:
        client.request("x", "no/such", {})
        assert await client.receive() == error(
            "x", -32601, "Method not found", f"{NO_SUCH_METHOD} 'no/such'"
        )


@pytest.mark.parametrize("method", ["no/such", "_ours/notice", "$/progress", "", "echo"])
async def test_an_unknown_notification_is_ignored(method: str) -> None:
    async with open_raw_client(Handlers(ECHO)) as client:
        client.notify(method, {})
        assert await client.receive_until_end() == []


async def test_an_error_raised_by_a_job_is_the_response() -> None:
    async def refuse(params: JsonValue) -> JsonValue:
        raise RpcError(-32002, "Session not found", {"message": "which?", "x": params})

    async with open_raw_client(Handlers({"refuse": make_handler(refuse)})) as client:
        client.request(1, "refuse", {"a": 1})
        body = {"code": -32002, "message": "Session not found"}
        data = {"message": "which?", "x": {"a": 1}}
        assert await client.receive() == {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {**body, "data": data},
        }


async def test_an_error_raised_by_a_synchronous_part_is_the_response() -> None:
    def refuse(params: JsonValue, call: InboundRequest) -> Job:
        reason = f"{call.request.method} not {params!r}"
        raise InvalidParamsError(reason)

    async with open_raw_client(Handlers({"refuse": refuse})) as client:
        client.request(1, "refuse", {})
        assert await client.receive() == error(1, -32602, "Invalid params", "refuse not {}")


async def test_a_job_that_fails_is_a_single_line_internal_error_and_the_peer_survives(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_raw_client(Handlers({"fail": make_handler(fail), **ECHO})) as client:
        client.request(1, "fail", {})
        reason = "ValueError: boom\nin {} lines"
        assert await client.receive() == error(1, -32603, "Internal error", reason)
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.usefixtures("caplog")
async def test_a_synchronous_part_that_fails_is_an_internal_error_and_the_peer_survives() -> None:
    def fail_at_once(params: JsonValue, call: InboundRequest) -> Job:
        raise KeyError(params, call.request.id)

    async with open_raw_client(Handlers({"fail": fail_at_once, **ECHO})) as client:
        client.request(1, "fail", "x")
        client.request(2, "fail", {})
        assert await client.receive() == error(
            1, -32602, "Invalid params", f"{PARAMS_MUST_BE_OBJECT}, not a string"
        )
        assert await client.receive() == error(2, -32603, "Internal error", "KeyError: ({}, 2)")
        client.request(3, "echo", {})
        assert await client.receive() == result(3, {})


async def test_an_unserializable_result_is_an_internal_error_and_the_peer_survives() -> None:
    async def not_a_number(params: JsonValue) -> JsonValue:
        del params
        return [float("nan")]

    async with open_raw_client(Handlers({"nan": make_handler(not_a_number), **ECHO})) as client:
        client.request(1, "nan", {})
        reason = "ValueError: Out of range float values are not JSON compliant"
        answer = await client.receive()
        assert str(answer).startswith(str(error(1, -32603, "Internal error", reason))[:-3])
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})


async def test_a_failure_after_a_response_changes_nothing_and_the_peer_survives(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del call

        async def follow() -> None:
            await fail(params)

        async def run() -> Reply:
            return Reply("done", follow)

        return run

    async with open_raw_client(Handlers({"r": handle, **ECHO})) as client:
        client.request(1, "r", {})
        assert await client.receive() == result(1, "done")
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("raised", [KeyError("boom"), InvalidParamsError("no")])
async def test_a_notification_that_fails_is_logged_and_the_peer_survives(
    raised: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_at_once(params: JsonValue) -> None:
        del params
        raise raised

    async with open_raw_client(Handlers(ECHO, {"fail": fail_at_once})) as client:
        client.notify("fail", {})
        client.request(1, "echo", {})
        assert await client.receive() == result(1, {})
    assert [record.levelno >= logging.WARNING for record in caplog.records] == [True]


async def test_a_job_that_raises_a_stray_cancellation_is_still_answered() -> None:
    async def cancel_itself(params: JsonValue) -> JsonValue:
        raise anyio.get_cancelled_exc_class()(params)

    async with open_raw_client(Handlers({"r": make_handler(cancel_itself), **ECHO})) as client:
        client.request(1, "r", {})
        client.request(2, "echo", {})
        received = [await client.receive(), await client.receive()]
    cancelled: JsonValue = {"code": -32800, "message": "Request cancelled"}
    assert received == [{"jsonrpc": "2.0", "id": 1, "error": cancelled}, result(2, {})]


async def test_an_id_in_use_is_refused_and_the_request_using_it_continues() -> None:
    blocked = BlockedRequest()
    async with open_raw_client(Handlers({"hold": make_handler(blocked.answer), **ECHO})) as client:
        client.request(1, "hold", {"the": "first"})
        client.request(1, "echo", {"the": "second"})
        assert await client.receive() == error(1, -32600, "Invalid Request", f"id 1 {IN_USE}")
        blocked.allowed_to_end.set()
        assert await client.receive() == result(1, {"the": "first"})
        client.request(1, "echo", {"the": "third"})
        assert await client.receive() == result(1, {"the": "third"})


async def test_ids_of_different_types_and_null_ids_may_be_in_use_concurrently() -> None:
    blocked = BlockedRequest()
    async with open_raw_client(Handlers({"hold": make_handler(blocked.answer)})) as client:
        for number, identifier in enumerate([1, "1", None, None, ""]):
            client.request(identifier, "hold", [number])
        await run_ready_tasks()
        blocked.allowed_to_end.set()
        received = [await client.receive() for _ in range(5)]
    assert received == [
        result(1, [0]), result("1", [1]), result(None, [2]), result(None, [3]), result("", [4])
    ]  # fmt: skip


async def test_waiting_until_answered_covers_only_requests_already_read() -> None:
    blocked, answered = BlockedRequest(), anyio.Event()
    async with open_raw_client(Handlers({"hold": make_handler(blocked.answer)})) as client:
        client.request(1, "hold")
        await blocked.started.wait()

        async def wait() -> None:
            await client.peer.wait_until_answered()
            answered.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await run_ready_tasks()
            assert not answered.is_set()
            blocked.allowed_to_end.set()
            await answered.wait()


async def test_waiting_until_answered_covers_every_request_with_a_null_id() -> None:
    first, second, answered = BlockedRequest(), BlockedRequest(), anyio.Event()
    handlers = Handlers({"1": make_handler(first.answer), "2": make_handler(second.answer)})
    async with open_raw_client(handlers) as client:
        client.request(None, "1")
        client.request(None, "2")
        await second.started.wait()

        async def wait() -> None:
            await client.peer.wait_until_answered()
            answered.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            second.allowed_to_end.set()
            await run_ready_tasks()
            assert not answered.is_set()
            first.allowed_to_end.set()
            await answered.wait()
