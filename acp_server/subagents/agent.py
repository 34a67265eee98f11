"""Agents: sub-agents with a name. Values only: cheap to import."""

from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class ToolSelection:
    """The tools that a definition names, as it names them."""

    allowed: tuple[str, ...] | None = None
    """None for all."""
    denied: tuple[str, ...] = ()


@frozen_dataclass
class AgentDefinition:
    """A sub-agent that `delegate_task` can be asked for by name."""

    name: str
    description: str
    prompt: str
    tools: ToolSelection = ToolSelection()
    model: str | None = None
    """A model's id or a part of it; None for the session's."""
    is_isolated: bool = False
    """Whether it works in a git worktree of its own."""
    path: Path | None = None
    """None for a built-in agent."""
    is_users: bool = True
    """Whether the file belongs to the user's home rather than to the workspace."""
