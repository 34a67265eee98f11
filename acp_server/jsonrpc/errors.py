"""What can go wrong between two JSON-RPC peers.

JsonRpcError (jsonrpcserver)
  RpcError                 what a handler raises to answer a request with an error
    InvalidRequestError    -32600
    InvalidParamsError     -32602
    InternalError          -32603
Exception
  RemoteError              the other side answered our request with an error
  ConnectionClosedError    the other side is gone: no answer can come any more
  MalformedError           a line that is no message; carries the answer that it deserves
"""

from pydantic import JsonValue

from acp_server.jsonrpc.library import JsonRpcError
from acp_server.jsonrpc.messages import ErrorObject, RequestId

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800


class RpcError(JsonRpcError):
    """An error answer: `code`, one line of `message`, and `data` with a `message` that says why."""

    def __init__(self, code: int, message: str, data: JsonValue = None) -> None:
        super().__init__(code, message, data)
        self.args = (code, message, data)


class InvalidRequestError(RpcError):
    """The message is JSON but not a request that may be made now."""

    def __init__(self, reason: str) -> None:
        super().__init__(INVALID_REQUEST, "Invalid Request", {"message": reason})


class InvalidParamsError(RpcError):
    """The method exists; its parameters do not fit."""

    def __init__(self, reason: str) -> None:
        super().__init__(INVALID_PARAMS, "Invalid params", {"message": reason})


class InternalError(RpcError):
    """Our own failure, or that of something we depend on; `reason` is for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(INTERNAL_ERROR, "Internal error", {"message": reason})


class RemoteError(Exception):
    """The other side's error answer to a request of ours."""

    def __init__(self, error: ErrorObject) -> None:
        super().__init__(f"{error.message} ({error.code})")
        self.code = error.code
        self.message = error.message
        self.data = error.data


class ConnectionClosedError(Exception):
    """The stream ended before the answer came."""


class MalformedError(Exception):
    """A line that is no message.

    `error` is what to answer, under `request_id` (None where no id could be read).
    """

    def __init__(self, code: int, message: str, reason: str, request_id: RequestId = None) -> None:
        super().__init__(reason)
        self.error = ErrorObject(code, message, {"message": reason})
        self.request_id = request_id
