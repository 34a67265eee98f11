"""The method table: the library selects and calls the handlers themselves."""

import pytest
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, Reply, build_method_table, dispatch
from acp_server.jsonrpc.errors import RpcError
from acp_server.jsonrpc.messages import Request
from tests.support.user_texts import NO_SUCH_METHOD


async def finish() -> Reply:
    return Reply("done")


@pytest.mark.parametrize("params", [None, {}, {"a": 1}, [], [1, 2]])
def test_dispatching_calls_the_handler_at_once_and_returns_its_job(params: JsonValue) -> None:
    calls: list[object] = []

    def handle(params: JsonValue, context: object) -> Job:
        calls.append((params, context))
        return finish

    methods = build_method_table({"other": refuse, "handle": handle})
    assert dispatch(methods, Request(1, "handle", params), "context") is finish
    assert calls == [(params, "context")]


def refuse(params: JsonValue, context: object) -> Job:
    raise RpcError(-32002, "Session not found", {"params": params, "context": str(context)})


def test_a_refusal_keeps_its_code_message_and_data() -> None:
    with pytest.raises(RpcError) as refusal:
        dispatch(build_method_table({"refuse": refuse}), Request(1, "refuse", [1]), 7)
    data = {"params": [1], "context": "7"}
    assert refusal.value.args == (-32002, "Session not found", data)


def test_an_unknown_method_is_refused_by_name() -> None:
    with pytest.raises(RpcError) as refusal:
        dispatch(build_method_table({"refuse": refuse}), Request(1, "other", {}), None)
    data = {"details": f"{NO_SUCH_METHOD} 'other'"}
    assert refusal.value.args == (-32601, f"Method not found: {data['details']}", data)
