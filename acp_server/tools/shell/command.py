"""A foreground command: the tool call waits for it."""

from pathlib import Path

import anyio

from acp_server.session.ports.editor import TerminalExit
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.child import OutputCallback
from acp_server.tools.shell.session import ShellSession


@frozen_dataclass
class CommandResult:
    """How a command ended, and whether its timeout was the reason."""

    exit: TerminalExit
    timed_out: bool


class LocalCommand:
    """One command in its own shell, without a terminal and with empty stdin."""

    def __init__(
        self, session: ShellSession, command: str, cwd: Path, *, is_unconfined: bool = False
    ) -> None:
        self._session = session
        self._command = command
        self._cwd = cwd
        self._is_unconfined = is_unconfined

    async def run(self, on_output: OutputCallback, timeout_seconds: float | None) -> CommandResult:
        """Run the command until its shell ends; pass stdout and stderr to `on_output` in order.

        Nothing is read while `on_output` waits, so back-pressure reaches the command. On timeout or
        cancellation, the command is terminated with everything it started. On a normal end,
        processes that it left in the background keep running.

        Raises:
            ShellError: The command cannot be started.
        """
        child = await self._session.start(
            self._command, self._cwd, "empty", is_unconfined=self._is_unconfined
        )
        try:
            with anyio.move_on_after(timeout_seconds) as timeout_scope:
                await self._session.follow(child, on_output)
            # After a timeout `follow` was cut short: deliver the output that is still in the pipe.
            if timeout_scope.cancelled_caught and (remainder := child.read_available()):
                await on_output(remainder)
        finally:
            # Must also run on cancellation, or the pipes' descriptors would leak.
            self._session.release(child)
        return CommandResult(child.exit, timeout_scope.cancelled_caught)
