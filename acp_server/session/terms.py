"""The terms of a run that nobody attends: what whoever started it has settled beforehand.

An editor's server has none: there a person is asked. Knows no command line and no formats.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from acp_server.frozen import frozen
from acp_server.session.ports import ModelCatalog
from acp_server.turn.conversation import ToolCall

if TYPE_CHECKING:  # what they import takes a while, and an editor's server has no terms
    from acp_server.permissions.gate import Witness
    from acp_server.permissions.orders import Orders


def ignore_refusal(call: ToolCall, reason: str) -> None:
    """Take no note."""
    del call, reason


def _as_it_is(catalog: ModelCatalog) -> ModelCatalog:
    return catalog


@frozen
class Terms:
    """What holds for all sessions of a server."""

    orders: "Orders"
    """What may be done without asking, and what may not be done at all."""
    witness: "Witness"
    """Called with what became of each effect at the gate."""
    refused: Callable[[ToolCall, str], None] = ignore_refusal
    """Called with each call that a hook has refused, and why: it never comes to the gate."""
    is_trusted: bool = False
    """Whether the workspaces' own skills, settings, hooks and servers are used."""
    platform: str = "ci"
    """The surface that the model is told it speaks to."""
    is_ephemeral: bool = False
    """Whether nothing of it is kept."""
    wrapped: Callable[[ModelCatalog], ModelCatalog] = _as_it_is
    """Returns the models with whatever counts their calls around them."""
