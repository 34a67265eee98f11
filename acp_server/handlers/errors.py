"""The one table from what went wrong to what the client is told.

-32000 means "sign in first" to every ACP client and is used for nothing else.
"""

from collections.abc import Generator
from contextlib import contextmanager

from acp_server.jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from acp_server.session.errors import SessionError, UnknownSessionError
from acp_server.turn.errors import TurnError

RESOURCE_NOT_FOUND = -32002

_TABLE: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownSessionError, RESOURCE_NOT_FOUND, "Session not found"),
    (SessionError, INVALID_PARAMS, "Invalid params"),
    (TurnError, INTERNAL_ERROR, "The turn failed"),
)


@contextmanager
def translated() -> Generator[None]:
    """Turn the engine's errors into answers; `data.message` carries the cause."""
    try:
        yield
    except (SessionError, TurnError) as error:
        code, message = next(row[1:] for row in _TABLE if isinstance(error, row[0]))
        raise RpcError(code, message, {"message": str(error)}) from error
