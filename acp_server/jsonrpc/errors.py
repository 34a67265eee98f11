"""Errors between two JSON-RPC peers.

JsonRpcError (jsonrpcserver)
  RpcError                 raised by a handler to answer a request with an error
    InvalidRequestError    -32600
    InvalidParamsError     -32602
    InternalError          -32603
Exception
  RemoteError              the other side answered our request with an error
  ConnectionClosedError    the other side is gone; no answer can arrive
  MalformedError           a line that is not a message; carries the answer to send
"""

from pydantic import JsonValue

from acp_server.jsonrpc.jsonrpcserver_parts import JsonRpcError
from acp_server.jsonrpc.messages import ErrorObject, RequestId

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800


class RpcError(JsonRpcError):
    """An error answer: `code`, `message` and `data`; clients show the message on one line."""

    def __init__(self, code: int, message: str, data: JsonValue = None) -> None:
        super().__init__(code, message, data)
        # Exception keeps the arguments of the subclass, such as the reason alone; show all in
        # str().
        self.args = (code, message, data)


class InvalidRequestError(RpcError):
    """The message is JSON, but not a request that is allowed at this point."""

    def __init__(self, reason: str) -> None:
        super().__init__(INVALID_REQUEST, f"Invalid Request: {reason}", {"details": reason})


class InvalidParamsError(RpcError):
    """The method exists, but its parameters do not fit."""

    def __init__(self, reason: str) -> None:
        super().__init__(INVALID_PARAMS, f"Invalid params: {reason}", {"details": reason})


class InternalError(RpcError):
    """A failure of this side or of a dependency; `reason` is written for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(INTERNAL_ERROR, f"Internal error: {reason}", {"details": reason})


class RemoteError(Exception):
    """An error response to a request that this side sent."""

    def __init__(self, error: ErrorObject) -> None:
        super().__init__(f"{error.message} ({error.code})")
        self.code = error.code
        self.message = error.message
        self.data = error.data


class ConnectionClosedError(Exception):
    """The stream ended before the response arrived."""


class MalformedError(Exception):
    """A line that is not a message.

    `error` is the answer to send under `request_id` (None if no id could be read).
    """

    def __init__(self, code: int, message: str, reason: str, request_id: RequestId = None) -> None:
        super().__init__(reason)
        self.error = ErrorObject(code, f"{message}: {reason}", {"details": reason})
        self.request_id = request_id
