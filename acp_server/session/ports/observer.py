"""The observer port: shows the client what a session changes outside a response."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from acp_server.permissions.modes import Mode
from acp_server.session.commands.command import Command
from acp_server.session.project.options import Option

ShowNotice = Callable[[str], bool]
"""Shows a notice between turns; returns whether the client supports that."""


def hide_notice(text: str) -> bool:
    """Show nothing, where no client shows a session's notices."""
    del text
    return False


class SessionObserver(Protocol):
    """Receives the changes of one session as they happen; never waits."""

    def show_notice(self, text: str) -> bool:
        """Show a notice between turns; return whether the client supports that."""
        ...

    def options_changed(self, mode: Mode, options: Sequence[Option]) -> None:
        """Report the mode and the options after the session itself changed one of them."""
        ...

    def commands_changed(self, commands: Sequence[Command]) -> None:
        """Report all commands after some were added, removed or described differently."""
        ...

    def title_changed(self, title: str, updated_at: datetime) -> None:
        """Report the session's title and the time of its last prompt."""
        ...


ObserverFactory = Callable[[str], SessionObserver]
"""Creates the observer of the session with this id."""


class NullObserver:
    """An observer of a session that no client shows."""

    def show_notice(self, text: str) -> bool:
        """Show nothing."""
        del text
        return False

    def options_changed(self, mode: Mode, options: Sequence[Option]) -> None:
        """Do nothing."""

    def commands_changed(self, commands: Sequence[Command]) -> None:
        """Do nothing."""

    def title_changed(self, title: str, updated_at: datetime) -> None:
        """Do nothing."""


def unobserved(session_id: str) -> SessionObserver:
    """Return the observer of a session that no client shows."""
    del session_id
    return NullObserver()
