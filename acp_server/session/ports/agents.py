"""The port of sub-agents that files of the workspace or of its user define."""

from collections.abc import Sequence
from typing import Protocol


class AgentsPort(Protocol):
    """The agents of one session."""

    async def load(self) -> None:
        """Find the agents, and follow their changes from now on."""
        ...

    async def refresh(self) -> None:
        """Find the agents again, for example because the workspace is trusted now."""
        ...

    def untrusted_names(self) -> Sequence[str]:
        """Return the names of the workspace's agents that only wait for the user's trust."""
        ...

    def describe(self) -> str:
        """Describe the agents and the refused files as Markdown; empty if there are none."""
        ...

    @property
    def digest(self) -> str:
        """A digest of the agents that the tool's description lists; empty if it lists none."""
        ...

    def list_again(self) -> None:
        """Have the tool's description list the present agents; only between two conversations."""
        ...

    def take_notices(self) -> Sequence[str]:
        """Return notices for the model of agents that came or went, each in square brackets."""
        ...

    def close(self) -> None:
        """Stop following changes."""
        ...


class NoAgents:
    """No agents."""

    async def load(self) -> None:
        """Do nothing."""

    async def refresh(self) -> None:
        """Do nothing."""

    def untrusted_names(self) -> Sequence[str]:
        """Return no names."""
        return ()

    def describe(self) -> str:
        """Return an empty text."""
        return ""

    @property
    def digest(self) -> str:
        """Return an empty text."""
        return ""

    def list_again(self) -> None:
        """Do nothing."""

    def take_notices(self) -> Sequence[str]:
        """Return no notices."""
        return ()

    def close(self) -> None:
        """Do nothing."""
