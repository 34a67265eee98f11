"""jsonrpcserver as this peer uses it: finds the method, checks the call, shapes the outcome.

It is awaited in the request's own task (its own entry points gather in a foreign one, which would
cut shielded clean-up short), and its JSON-schema validator is not used: the envelope was checked.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, cast

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.jsonrpc.errors import METHOD_NOT_FOUND
from acp_server.jsonrpc.library import (
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

logging.getLogger("jsonrpcserver").setLevel(logging.CRITICAL)  # the peer logs failures itself


@frozen
class Reply:
    """A handler's answer, and what to do once it is queued (such as updates that must follow)."""

    result: Payload
    then: Callable[[], Awaitable[None]] | None = None


Job = Callable[[], Awaitable[Reply]]


class Prepared(Protocol):
    """A request whose synchronous part is done."""

    @property
    def request(self) -> Request:
        """What was asked."""
        ...

    @property
    def job(self) -> Job:
        """What answers it."""
        ...


def method_table(names: Iterable[str]) -> Methods:
    """Return the dispatch table: every name leads to the job that its request carries."""
    return dict.fromkeys(names, cast("Method", _run_job))


async def dispatch(methods: Methods, call: Prepared) -> Reply | ErrorObject:
    """Run a prepared request's job and return its outcome. Raises only cancellation."""
    request = DispatchRequest(call.request.method, [], call.request.id)
    _, result = await dispatch_request(methods, call, request)
    response = cast("ResponseType", to_response(request, result))
    outcome = cast("dict[str, object]", to_serializable_one(response))
    if "result" in outcome:
        return cast("Reply", outcome["result"])
    return _error(call.request.method, cast("dict[str, JsonValue]", outcome["error"]))


async def _run_job(call: Prepared) -> Result:
    return Success(await call.job())


def _error(method: str, error: dict[str, JsonValue]) -> ErrorObject:
    code, message = cast("int", error["code"]), cast("str", error["message"])
    if code == METHOD_NOT_FOUND:
        return ErrorObject(code, message, {"message": f"there is no method {method!r}"})
    return ErrorObject(code, message, error.get("data"))


def failing(error: JsonRpcError) -> Job:
    """Return a job that fails so."""

    async def fail() -> Reply:
        raise error

    return fail
