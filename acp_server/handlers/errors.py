"""The one table from the engine's errors to error answers.

-32000 means "sign in first" to every ACP client and is used for nothing else.
"""

from collections.abc import Generator
from contextlib import contextmanager

from pydantic import JsonValue

from acp_server.jsonrpc.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    RpcError,
)
from acp_server.session.errors import (
    ArchiveError,
    RestoreRefusedError,
    SessionError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.turn.errors import (
    CostLimitError,
    CredentialsMissingError,
    ModelFailedError,
    ModelUnavailableError,
    PromptTooLargeError,
    RepeatedCallError,
    TurnError,
)

AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002

# The first match counts, so subclasses come before SessionError and TurnError.
_ERROR_ANSWERS: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownSessionError, RESOURCE_NOT_FOUND, "Session not found"),
    (SessionInUseError, INTERNAL_ERROR, "Session in use"),
    (ArchiveError, INTERNAL_ERROR, "Sessions cannot be saved"),
    (RestoreRefusedError, INVALID_REQUEST, "Cannot restore"),
    (SessionError, INVALID_PARAMS, "Invalid params"),
    (CredentialsMissingError, AUTH_REQUIRED, "Authentication required"),
    (PromptTooLargeError, INVALID_PARAMS, "Prompt too large"),
    (TurnError, INTERNAL_ERROR, ""),
)


@contextmanager
def translate_errors() -> Generator[None]:
    """Turn the engine's errors into error answers.

    `message` names the cause, because many clients show nothing else. `data.details` has it in
    full, `data.kind` its kind if a turn failed, and `data.retryAfterSeconds` how long the provider
    asks to wait, if it does.
    """
    try:
        yield
    except (SessionError, TurnError) as error:
        code, title = next(row[1:] for row in _ERROR_ANSWERS if isinstance(error, row[0]))
        data: dict[str, JsonValue] = {"details": str(error)}
        if isinstance(error, ModelFailedError):
            data["kind"] = error.kind
            if error.retry_after_seconds is not None:
                data["retryAfterSeconds"] = error.retry_after_seconds
        elif isinstance(error, ModelUnavailableError):
            data["kind"] = "unavailable"
        elif isinstance(error, RepeatedCallError):
            data["kind"] = "repetition"
        elif isinstance(error, CostLimitError):
            data["kind"] = "cost_limit"
        raise RpcError(code, f"{title}: {error}" if title else str(error), data) from error
