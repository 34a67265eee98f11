"""Adapter to jsonrpcserver: selects the method, checks the call, shapes the outcome.

`dispatch_request` is awaited in the request's own task. The library's own entry points gather in
another task, which would cut short a job's shielded clean-up. Its JSON-schema validator is not
used: `parsing` has already checked the envelope.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, cast

from pydantic import JsonValue

from acp_server.jsonrpc.errors import METHOD_NOT_FOUND
from acp_server.jsonrpc.jsonrpcserver_parts import (
    DispatchRequest,
    JsonRpcError,
    Method,
    Methods,
    ResponseType,
    Result,
    Success,
    dispatch_request,
    to_response,
    to_serializable_one,
)
from acp_server.jsonrpc.messages import ErrorObject, Payload, Request
from acp_server.startup.fast_dataclass import frozen_dataclass

logging.getLogger("jsonrpcserver").setLevel(logging.CRITICAL)  # the peer logs failures itself


@frozen_dataclass
class Reply:
    """The result of a handler, and an action to run after the response is queued.

    `after_response` is for updates that must follow the response on the wire.
    """

    result: Payload
    after_response: Callable[[], Awaitable[None]] | None = None


Job = Callable[[], Awaitable[Reply]]


class PreparedRequest(Protocol):
    """An inbound request whose synchronous part is done."""

    @property
    def request(self) -> Request:
        """The request to answer."""
        ...

    @property
    def job(self) -> Job:
        """The coroutine function that produces the answer."""
        ...


def build_method_table(names: Iterable[str]) -> Methods:
    """Return a dispatch table in which each name runs the job its request carries."""
    return dict.fromkeys(names, cast("Method", _run_job))


async def dispatch(methods: Methods, call: PreparedRequest) -> Reply | ErrorObject:
    """Run the job of a prepared request and return its outcome. Raises only cancellation."""
    # No params: the job has bound its own. jsonrpcserver only selects the method by name.
    request = DispatchRequest(call.request.method, [], call.request.id)
    _, result = await dispatch_request(methods, call, request)
    response = cast("ResponseType", to_response(request, result))
    outcome = cast("dict[str, object]", to_serializable_one(response))
    # The `Reply` passes through the library untouched, so the result is encoded once, by
    # `result_line`.
    if "result" in outcome:
        return cast("Reply", outcome["result"])
    return _to_error_object(call.request.method, cast("dict[str, JsonValue]", outcome["error"]))


async def _run_job(call: PreparedRequest) -> Result:
    return Success(await call.job())


def _to_error_object(method: str, error: dict[str, JsonValue]) -> ErrorObject:
    code, message = cast("int", error["code"]), cast("str", error["message"])
    # The library's `data` is the bare name; this peer always sends an object with a message.
    if code == METHOD_NOT_FOUND:
        return ErrorObject(code, message, {"message": f"there is no method {method!r}"})
    return ErrorObject(code, message, error.get("data"))


def failing_job(error: JsonRpcError) -> Job:
    """Return a job that raises the error."""

    async def fail() -> Reply:
        raise error

    return fail
