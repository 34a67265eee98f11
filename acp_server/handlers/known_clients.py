"""Peculiarities of known clients, by the name that each gives itself in `initialize`.

Only what the protocol leaves open, and what a client's source shows; an unknown client gets the
usual form.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue

from acp_server.jsonrpc.errors import INTERNAL_ERROR, RpcError
from acp_server.jsonrpc.messages import ErrorObject

if TYPE_CHECKING:
    from acp_server.permissions.questions import PermissionChoice, PermissionChoiceId

ZED = "zed"
SHOW_ALL_CHOICES = frozenset(
    {ZED, "acp-server-vscode", "acp-server-headless", "acpx", "Agentic.nvim", "toad"}
)
"""Clients that show every answer to a question under its own name, in our order."""
MAP_CHOICES_BY_KIND = frozenset({"CodeCompanion.nvim"})
"""Clients that keep one answer per kind, under a name of their own."""
NAME_CALLS_BY_DIFF = frozenset({"CodeCompanion.nvim"})
"""Clients that show the file of a call's first diff in place of the call's title."""
_NARROWEST: "Mapping[str, PermissionChoiceId]" = {"allow_always": "allow_session"}


def order_choices(
    client_name: str, choices: "Sequence[PermissionChoice]"
) -> "tuple[PermissionChoice, ...]":
    """Return the answers to offer, in an order in which no client makes one wider than it is named.

    Clients that map answers by their kind usually keep the last one. For "always" that must be
    "for this session", not the saved rule.
    """
    if client_name in SHOW_ALL_CHOICES:
        return tuple(choices)
    ordered: list[PermissionChoice] = []
    for kind in dict.fromkeys(choice.kind for choice in choices):
        same = [choice for choice in choices if choice.kind == kind]
        narrowest = [choice for choice in same if choice.id == _NARROWEST.get(kind)]
        if client_name in MAP_CHOICES_BY_KIND:
            # Without a narrow one, what is left is wider than the client's own name for it.
            ordered += narrowest or ([] if kind in _NARROWEST and same[0].scope else same[:1])
        else:
            ordered += [choice for choice in same if choice not in narrowest] + narrowest
    return tuple(ordered)


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
