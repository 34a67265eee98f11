"""Adapter to jsonrpcserver: its method table holds the handlers; it selects and calls them.

A handler is a plain function that returns a job. The library's synchronous dispatcher calls it in
the read loop, so handlers run in arrival order; the job travels through the library as the method's
result and is awaited by the peer, in the request's own task. The library's asynchronous dispatcher
would run all of a handler in that task, after later messages were read. Its JSON-schema validator
is not used: `parsing` has already checked the envelope.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from pydantic import JsonValue

from acp_server.jsonrpc.errors import METHOD_NOT_FOUND, InternalError, RpcError
from acp_server.jsonrpc.jsonrpcserver_parts import (
    Method,
    Methods,
    Result,
    Success,
    dispatch_one,
)
from acp_server.jsonrpc.messages import Payload, Request
from acp_server.startup.fast_dataclass import frozen_dataclass

logger = logging.getLogger(__name__)
logging.getLogger("jsonrpcserver").setLevel(logging.CRITICAL)  # failures are logged here


@frozen_dataclass
class Reply:
    """The result of a handler, and an action to run after the response is queued.

    `after_response` is for updates that must follow the response on the wire.
    """

    result: Payload
    after_response: Callable[[], Awaitable[None]] | None = None


Job = Callable[[], Awaitable[Reply]]


def build_method_table(handlers: Mapping[str, Callable[..., Job]]) -> Methods:
    """Return the library's table of these handlers."""
    return {name: _as_method(name, handler) for name, handler in handlers.items()}


def dispatch(methods: Methods, request: Request, context: object) -> Job:
    """Select the request's handler, call it with the params and the context, and return its job.

    Raises:
        RpcError: there is no such method, or the handler refused the request or failed.
    """
    outcome = dispatch_one(methods, context, request.method, request.params)
    if "result" in outcome:
        return cast("Job", outcome["result"])
    error = cast("dict[str, JsonValue]", outcome["error"])
    code, message = cast("int", error["code"]), cast("str", error["message"])
    # The library's `data` is the bare name; this peer always sends an object with the reason.
    if code == METHOD_NOT_FOUND:
        reason = f"there is no method {request.method!r}"
        raise RpcError(code, f"{message}: {reason}", {"details": reason})
    raise RpcError(code, message, error.get("data"))


def _as_method(name: str, handler: Callable[..., Job]) -> Method:
    """Return a handler as the library's method, whose result is the job."""

    # A closure, not a `partial`: the library inspects the signature for every request, which takes
    # twice as long for a `partial`.
    def method(context: object, params: JsonValue) -> Result:
        try:
            return Success(handler(params, context))
        except RpcError:
            raise
        except Exception as error:
            # The library would contain this too, but answer without the error's type.
            logger.exception("%s failed before it began", name)
            raise InternalError(f"{type(error).__name__}: {error}") from error

    return method
