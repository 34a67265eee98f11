"""`$/cancel_request`, both ways."""

import anyio
import pytest
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import Handlers, InboundRequest
from tests.jsonrpc.peers import (
    ECHO,
    BlockedRequest,
    make_handler,
    open_raw_client,
    open_two_peers,
    result,
    run_ready_tasks,
)


def cancelled(request_id: JsonValue) -> JsonValue:
    body: JsonValue = {"code": -32800, "message": "Request cancelled"}
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def block_in(blocked: BlockedRequest) -> Handlers:
    return Handlers({"hold": make_handler(blocked.answer), **ECHO})


@pytest.mark.parametrize("identifier", [1, "1", "", None, -(2**63)])
async def test_a_cancelled_request_is_answered_as_cancelled(identifier: int | str | None) -> None:
    blocked = BlockedRequest()
    async with open_raw_client(block_in(blocked)) as client:
        client.request(identifier, "hold")
        await blocked.started.wait()
        client.cancel(identifier)
        assert await client.receive() == cancelled(identifier)
    assert blocked.was_cancelled


async def test_a_cancel_immediately_after_its_request_is_not_lost() -> None:
    blocked = BlockedRequest()
    async with open_raw_client(block_in(blocked)) as client:
        client.request(1, "hold")
        client.cancel(1)
        assert await client.receive() == cancelled(1)


@pytest.mark.parametrize("other", ["1", True, 1.0, 2, None, [1], {}, "hold"])
async def test_only_the_request_with_the_identical_id_is_cancelled(other: JsonValue) -> None:
    blocked = BlockedRequest()
    async with open_raw_client(block_in(blocked)) as client:
        client.request(1, "hold", {"a": 1})
        await blocked.started.wait()
        client.cancel(other)
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})
        blocked.allowed_to_end.set()
        assert await client.receive() == result(1, {"a": 1})


@pytest.mark.parametrize("params", [None, {}, [], [1], "1", 1, {"id": 1}, {"requestId": None}])
async def test_a_cancel_that_names_no_request_does_nothing(params: JsonValue) -> None:
    blocked = BlockedRequest()
    async with open_raw_client(block_in(blocked)) as client:
        client.request(1, "hold", {"a": 1})
        await blocked.started.wait()
        client.notify("$/cancel_request", params)
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})
        blocked.allowed_to_end.set()
        assert await client.receive() == result(1, {"a": 1})


async def test_a_cancel_of_id_null_finds_the_newest_request_that_is_not_answered() -> None:
    first, second = BlockedRequest(), BlockedRequest()
    handlers = {name: make_handler(each.answer) for name, each in (("1", first), ("2", second))}
    async with open_raw_client(Handlers({**handlers, **ECHO})) as client:
        client.request(None, "1")
        client.request(None, "2")
        client.request(None, "echo", {})
        assert await client.receive() == result(None, {})
        client.cancel(None)
        assert await client.receive() == cancelled(None)
        assert (first.was_cancelled, second.was_cancelled) == (False, True)
        client.cancel(None)
        assert await client.receive() == cancelled(None)
        assert first.was_cancelled


async def test_a_cancel_before_its_request_or_after_its_response_does_nothing() -> None:
    async with open_raw_client(Handlers(ECHO)) as client:
        client.cancel(1)
        client.request(1, "echo", {})
        assert await client.receive() == result(1, {})
        client.cancel(1)
        client.request(1, "echo", {"again": 1})
        assert await client.receive() == result(1, {"again": 1})


async def test_a_second_cancel_changes_nothing() -> None:
    blocked = BlockedRequest()
    async with open_raw_client(block_in(blocked)) as client:
        client.request(1, "hold")
        client.cancel(1)
        client.cancel(1)
        assert await client.receive() == cancelled(1)
        client.cancel(1)
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})
        assert await client.receive_until_end() == []


async def test_a_job_cleans_up_before_its_request_is_answered() -> None:
    may_clean_up, cleaned_up = anyio.Event(), anyio.Event()

    async def wait(params: JsonValue) -> JsonValue:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await may_clean_up.wait()
                cleaned_up.set()
        return params

    async with open_raw_client(Handlers({"wait": make_handler(wait)})) as client:
        client.request(1, "wait")
        client.cancel(1)
        await run_ready_tasks()
        may_clean_up.set()
        assert await client.receive() == cancelled(1)
        assert cleaned_up.is_set()


async def test_a_job_that_returns_a_result_despite_the_cancel_answers_with_it() -> None:
    async def finish(params: JsonValue) -> JsonValue:
        with anyio.move_on_after(0, shield=True):
            await anyio.sleep_forever()
        return params

    async with open_raw_client(Handlers({"finish": make_handler(finish)})) as client:
        client.request(1, "finish", {"a": 1})
        client.cancel(1)
        assert await client.receive() in [result(1, {"a": 1}), cancelled(1)]
        assert await client.receive_until_end() == []


async def test_a_handler_may_define_its_own_way_to_cancel() -> None:
    stop = anyio.Event()

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del params
        call.on_cancel = stop.set

        async def run() -> Reply:
            await stop.wait()
            return Reply({"stopReason": "cancelled"})

        return run

    async with open_raw_client(Handlers({"turn": handle})) as client:
        client.request(1, "turn")
        client.cancel(1)
        assert await client.receive() == result(1, {"stopReason": "cancelled"})


async def test_a_response_given_before_the_cancel_is_kept() -> None:
    began = anyio.Event()

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del params, call

        async def follow() -> None:
            began.set()
            await anyio.sleep_forever()

        async def run() -> Reply:
            return Reply("done", follow)

        return run

    async with open_raw_client(Handlers({"r": handle, **ECHO})) as client:
        client.request(1, "r")
        assert await client.receive() == result(1, "done")
        await began.wait()
        client.cancel(1)
        client.request(2, "echo", {})
        assert await client.receive() == result(2, {})
        assert await client.receive_until_end() == []


async def test_abandoning_a_request_cancels_it_on_the_other_side() -> None:
    blocked = BlockedRequest()
    async with open_two_peers(Handlers(), block_in(blocked)) as (local, _):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(local.request, "hold", None)
            await blocked.started.wait()
            tasks.cancel_scope.cancel()
        await run_ready_tasks()
        assert blocked.was_cancelled
        assert await local.request("echo", {"still": "here"}) == {"still": "here"}


async def test_a_late_response_is_ignored() -> None:
    async with open_raw_client(Handlers(ECHO)) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.peer.request, "ask", None)
            await client.receive()
            tasks.cancel_scope.cancel()
        assert await client.receive() == {
            "jsonrpc": "2.0",
            "method": "$/cancel_request",
            "params": {"requestId": 1},
        }
        client.send(result(1, "late"), cancelled(1))
        client.request(9, "echo", {})
        assert await client.receive() == result(9, {})
