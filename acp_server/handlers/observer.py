"""Reports a session's own changes to the client."""

from collections.abc import Sequence
from datetime import datetime

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.updates import commands_update, format_timestamp, options_update
from acp_server.permissions.modes import Mode
from acp_server.protocol.updates import CurrentModeUpdate, Notice, SessionInfoUpdate
from acp_server.session.commands.command import Command
from acp_server.session.project.options import Option
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class AcpSessionObserver:
    """Sends the changes of one session as updates, at once."""

    connection: ClientConnection
    session_id: str

    def show_notice(self, text: str) -> bool:
        """Show a notice if the client supports notices; return whether."""
        if self.connection.shows_notices:
            notice = Notice(severity="info", title=text)
            self.connection.client.send_update_now(self.session_id, notice)
        return self.connection.shows_notices

    def options_changed(self, mode: Mode, options: Sequence[Option]) -> None:
        """Send the mode, for clients that show modes, and all options."""
        client = self.connection.client
        client.send_update_now(self.session_id, CurrentModeUpdate(current_mode_id=mode))
        client.send_update_now(self.session_id, options_update(options, self.connection))

    def commands_changed(self, commands: Sequence[Command]) -> None:
        """Send all commands."""
        self.connection.client.send_update_now(self.session_id, commands_update(commands))

    def title_changed(self, title: str, updated_at: datetime) -> None:
        """Send the title and the time, for a list of sessions."""
        update = SessionInfoUpdate(title=title, updated_at=format_timestamp(updated_at))
        self.connection.client.send_update_now(self.session_id, update)
