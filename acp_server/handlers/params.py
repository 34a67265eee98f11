"""Validates parameters; an error names the field and the reason."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from acp_server.handlers.errors import translate_errors
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.errors import InvalidParamsError
from acp_server.jsonrpc.peer import InboundRequest, NotificationHandler, RequestHandler
from acp_server.protocol.model import WireModel

P = TypeVar("P", bound=WireModel)


def parse_params(model: type[P], params: JsonValue) -> P:
    """Return the parameters of a method as a model; absent ones count as an empty object.

    Raises:
        InvalidParamsError: they are not an object, or a field does not fit.
    """
    if params is not None and not isinstance(params, dict):
        reason = "params must be an object"
        raise InvalidParamsError(reason)
    try:
        return model.from_wire(params or {})
    except ValidationError as error:
        raise InvalidParamsError(_describe_error(error)) from None


def request_handler(
    model: type[P],
    handle: Callable[[P, InboundRequest], Job],
    check: Callable[[], None] | None = None,
    while_answering: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> RequestHandler:
    """Adapt a handler that takes a model; `check` runs first and may refuse."""

    def admit(params: JsonValue, call: InboundRequest) -> Job:
        if check is not None:
            check()
        with translate_errors():
            job = handle(parse_params(model, params), call)

        async def run() -> Reply:
            # Entered here: a job that is cancelled before it starts would never leave the context.
            with while_answering(), translate_errors():
                return await job()

        return run

    return admit


def deferred(handle: Callable[[P], Awaitable[Reply]]) -> Callable[[P, InboundRequest], Job]:
    """Adapt a handler without a synchronous part: it runs in the request's own task."""

    def admit(params: P, _call: InboundRequest) -> Job:
        return partial(handle, params)

    return admit


def answer_with(reply: Reply) -> Job:
    """Return a job with nothing left to do."""

    async def run() -> Reply:
        return reply

    return run


def notification_handler(model: type[P], handle: Callable[[P], None]) -> NotificationHandler:
    """Adapt a notification handler that takes a model."""

    def accept(params: JsonValue) -> None:
        handle(parse_params(model, params))

    return accept


def _describe_error(error: ValidationError) -> str:
    first, *others = error.errors(include_url=False, include_input=False)
    location = ".".join(str(part) for part in first["loc"]) or "params"
    more = f" (and {len(others)} more)" if others else ""
    return f"{location}: {first['msg']}{more}"
