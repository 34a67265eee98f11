"""What is used of jsonrpcserver, and how it is imported: part by part.

The package's own `__init__` also sets up what nobody here uses, a JSON-schema validator and an
HTTP server, and costs more than all the rest of this package. So `jsonrpcserver` and `oslash`,
which it is built on, are entered without their `__init__`, until somebody asks either for a name of
its own: then it runs as ever. No other module of ours imports jsonrpcserver.
"""

# ruff: noqa: E402  # the parts can only be imported once their packages were entered

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType


def _enter(name: str) -> None:
    """Make the parts of a package importable; its `__init__` runs when a name of it is missed."""
    spec = find_spec(name)
    if name not in sys.modules and spec is not None:
        sys.modules[name] = _unopened(spec)


def _unopened(spec: ModuleSpec) -> ModuleType:
    package = module_from_spec(spec)

    def open_for(attribute: str) -> object:
        del package.__dict__["__getattr__"]
        if spec.loader is not None:
            spec.loader.exec_module(package)
        return getattr(package, attribute)

    package.__dict__["__getattr__"] = open_for
    return package


_enter("oslash")
_enter("jsonrpcserver")

from jsonrpcserver.async_dispatcher import dispatch_request
from jsonrpcserver.dispatcher import to_response
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
