"""The parts of jsonrpcserver this package uses, imported without the package's `__init__`.

That `__init__` also sets up an unused JSON-schema validator and HTTP server, and costs more than
the rest of this package together; so does that of `oslash`, which it is built on. No other module
of this project imports jsonrpcserver.
"""

# ruff: noqa: E402  # the parts can only be imported once their packages were entered

from acp_server.startup.lazy_import import make_lazy

make_lazy(("oslash", "jsonrpcserver"))

from jsonrpcserver.dispatcher import dispatch_request, to_response
from jsonrpcserver.exceptions import JsonRpcError
from jsonrpcserver.methods import Method, Methods
from jsonrpcserver.request import Request as DispatchRequest
from jsonrpcserver.response import ResponseType, to_serializable_one
from jsonrpcserver.result import Result, Success

__all__ = [
    "DispatchRequest",
    "JsonRpcError",
    "Method",
    "Methods",
    "ResponseType",
    "Result",
    "Success",
    "dispatch_request",
    "to_response",
    "to_serializable_one",
]
