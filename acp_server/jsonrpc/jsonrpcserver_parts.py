"""The parts of jsonrpcserver this package uses, imported without the package's `__init__`.

That `__init__` also sets up an unused JSON-schema validator and HTTP server, and costs more than
the rest of this package together. `jsonrpcserver` and `oslash`, which it is built on, are therefore
registered as packages whose `__init__` has not run; it runs when an attribute of the package itself
is first requested. No other module of this project imports jsonrpcserver.
"""

# ruff: noqa: E402  # the parts can only be imported once their packages were entered

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType


def _register_lazy_package(name: str) -> None:
    """Make the submodules of a package importable without running its `__init__` yet."""
    spec = find_spec(name)
    # Never replace a package that is already imported: its modules would exist twice.
    if name not in sys.modules and spec is not None:
        sys.modules[name] = _lazy_package(spec)


def _lazy_package(spec: ModuleSpec) -> ModuleType:
    package = module_from_spec(spec)

    def open_for(attribute: str) -> object:
        # First: a name looked up while the `__init__` still runs would start it again.
        del package.__dict__["__getattr__"]
        if spec.loader is not None:
            spec.loader.exec_module(package)
        return getattr(package, attribute)

    package.__dict__["__getattr__"] = open_for
    return package


_register_lazy_package("oslash")
_register_lazy_package("jsonrpcserver")

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
