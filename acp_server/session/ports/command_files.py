"""The port of commands that are Markdown files of the workspace or of its user."""

from collections.abc import Callable, Sequence
from typing import Protocol

from acp_server.session.commands.command import PromptCommand


class CommandFilesPort(Protocol):
    """The command files of one session."""

    async def load(self, is_taken: Callable[[str], bool], on_change: Callable[[], None]) -> None:
        """Find the commands, and call `on_change` whenever they change from now on.

        A name that is taken gets the file's directory as a prefix.
        """
        ...

    async def refresh(self) -> None:
        """Find the commands again, for example because the workspace is trusted now."""
        ...

    def commands(self) -> Sequence[PromptCommand]:
        """Return the commands that may be used: the user's, and those of a trusted workspace."""
        ...

    def untrusted_names(self) -> Sequence[str]:
        """Return the workspace's commands that only wait for the user's trust, with a slash."""
        ...

    def describe(self) -> str:
        """Describe the commands and their files as Markdown; empty if there are none."""
        ...

    def close(self) -> None:
        """Stop following changes."""
        ...


class NoCommandFiles:
    """No command files."""

    async def load(self, is_taken: Callable[[str], bool], on_change: Callable[[], None]) -> None:
        """Do nothing."""
        del is_taken, on_change

    async def refresh(self) -> None:
        """Do nothing."""

    def commands(self) -> Sequence[PromptCommand]:
        """Return no commands."""
        return ()

    def untrusted_names(self) -> Sequence[str]:
        """Return no names."""
        return ()

    def describe(self) -> str:
        """Return an empty text."""
        return ""

    def close(self) -> None:
        """Do nothing."""
