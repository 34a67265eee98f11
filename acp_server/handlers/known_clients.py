"""Peculiarities of known clients, by the name that each gives itself in `initialize`.

Only what the protocol leaves open, and what a client's source shows; an unknown client gets the
usual form.
"""

from pydantic import JsonValue

from acp_server.jsonrpc.errors import INTERNAL_ERROR, RpcError
from acp_server.jsonrpc.messages import ErrorObject

ZED = "zed"


def describe_error(client_name: str, method: str, error: RpcError) -> ErrorObject:
    """Return the error member of a response, in the form that the client shows best.

    Zed appends `data` to the message as raw JSON. It shows `data.details` alone for an internal
    error of a prompt, but only if there is no other member.
    """
    data: JsonValue = error.data
    if client_name == ZED:
        details = data.get("details") if isinstance(data, dict) else None
        is_read = method == "session/prompt" and error.code == INTERNAL_ERROR
        data = {"details": details} if is_read and isinstance(details, str) else None
    return ErrorObject(error.code, error.message, data)
