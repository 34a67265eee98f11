"""Policy of an unattended run: decisions made before the start, because no user can be asked.

An editor's server has none. Independent of the command line and of file formats.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import ToolCall

if TYPE_CHECKING:  # what they import takes a while, and an editor's server has no terms
    from acp_server.permissions.gate import AuditCallback
    from acp_server.permissions.run_rules import RunRules


def ignore_refusal(call: ToolCall, reason: str) -> None:
    """Ignore the refusal."""
    del call, reason


@frozen_dataclass
class HeadlessPolicy:
    """The policy for all sessions of a headless server."""

    rules: "RunRules"
    """Actions that are allowed without asking, and actions that are forbidden."""
    audit: "AuditCallback"
    """Called with the gate's decision on each effect."""
    on_refusal: Callable[[ToolCall, str], None] = ignore_refusal
    """Called with each tool call that a hook rejected, and the reason; such calls never reach
    the gate."""
    is_trusted: bool = False
    """Whether the workspace's own skills, settings, hooks and servers are used."""
    platform: str = "ci"
    """The surface named in the system prompt."""
    is_ephemeral: bool = False
    """Whether nothing is stored."""
    wrap_catalog: Callable[[ModelCatalog], ModelCatalog] = lambda catalog: catalog
    """Wraps the model catalog, to count model calls for example."""
