"""The parts of jsonrpcserver that this package uses, imported without the package's `__init__`.

That `__init__` also sets up an unused JSON-schema validator and HTTP server, and costs more than
the rest of this package together; so does that of `oslash`, which it is built on. If the parts are
not as expected, the package's public names are used. No other module of this project imports
jsonrpcserver.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import JsonValue

from acp_server.startup.fallback import FastWayError, fast_or_plain
from acp_server.startup.lazy_import import make_lazy

if TYPE_CHECKING:
    from jsonrpcserver import JsonRpcError, Success
    from jsonrpcserver.methods import Method, Methods
    from jsonrpcserver.response import ResponseType
    from jsonrpcserver.result import Result
else:
    Method = Methods = Result = object  # only named in annotations

__all__ = ["JsonRpcError", "Method", "Methods", "Result", "Success", "dispatch_one"]

Response = Mapping[str, object]
"""A response as an object with either `result` or `error`."""


class _Library(NamedTuple):
    dispatch: Callable[[Methods, object, str, JsonValue], Response]
    success: Callable[[object], Result]
    json_rpc_error: "type[JsonRpcError]"


def _import_parts() -> _Library:
    make_lazy(("oslash", "jsonrpcserver"))
    from jsonrpcserver.dispatcher import dispatch_request, to_response
    from jsonrpcserver.exceptions import JsonRpcError
    from jsonrpcserver.request import Request
    from jsonrpcserver.response import to_serializable_one
    from jsonrpcserver.result import Success

    def dispatch(methods: Methods, context: object, name: str, params: JsonValue) -> Response:
        request = Request(name, [params], 0)
        _, result = dispatch_request(methods, context, request)
        response = cast("ResponseType", to_response(request, result))
        return cast("Response", to_serializable_one(response))

    library = _Library(dispatch, Success, JsonRpcError)
    _check(library)
    return library


def _import_package() -> _Library:
    from jsonrpcserver import JsonRpcError, Success, dispatch_to_serializable

    def dispatch(methods: Methods, context: object, name: str, params: JsonValue) -> Response:
        request = {"jsonrpc": "2.0", "method": name, "params": [params], "id": 0}

        def deserialize(_: str) -> object:
            return request

        def validate(_: object) -> None:
            """`parsing` has checked the request."""

        response = dispatch_to_serializable(
            "", methods, context=context, deserializer=deserialize, validator=validate
        )
        return cast("Response", response)

    return _Library(dispatch, Success, JsonRpcError)


def _check(library: _Library) -> None:
    """Call a method that succeeds and one that is refused."""

    def answer(context: object, params: JsonValue) -> Result:
        return library.success((context, params))

    def refuse(context: object, params: JsonValue) -> Result:
        raise library.json_rpc_error(1, "refused", [context, params])

    methods: Methods = {"answer": answer, "refuse": refuse}
    answered = library.dispatch(methods, "context", "answer", "params")
    refused = library.dispatch(methods, "context", "refuse", "params")
    if answered.get("result") != ("context", "params"):
        raise FastWayError(f"a method that succeeds was answered with {answered}")
    if refused.get("error") != {"code": 1, "message": "refused", "data": ["context", "params"]}:
        raise FastWayError(f"a method that refuses was answered with {refused}")


_library = fast_or_plain(
    "parts of jsonrpcserver", _import_parts, _import_package, packages=("oslash", "jsonrpcserver")
)
dispatch_one = _library.dispatch
"""Calls a method with the context and the params, and returns its response.

The params are one positional argument, not keywords: the handler validates them as a model.
"""
if not TYPE_CHECKING:
    JsonRpcError, Success = _library.json_rpc_error, _library.success
