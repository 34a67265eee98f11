"""A command that is waited for."""

from pathlib import Path

import anyio

from acp_server.frozen import frozen
from acp_server.session.editor import Exit
from acp_server.tools.shell.child import Receive
from acp_server.tools.shell.session import ShellSession


@frozen
class Ended:
    """How a command ended, and whether that was because its time was up."""

    exit: Exit
    timed_out: bool


class LocalCommand:
    """One command in a shell of its own, without a terminal and with nothing to read."""

    def __init__(
        self, session: ShellSession, command: str, cwd: Path, *, is_unconfined: bool = False
    ) -> None:
        self._session = session
        self._command = command
        self._cwd = cwd
        self._is_unconfined = is_unconfined

    async def run(self, on_output: Receive, timeout_seconds: float | None) -> Ended:
        """Run it to the end of its shell, passing on what it prints, stdout and stderr in order.

        While `on_output` waits, nothing is read, and the command waits too. When the time is up,
        or the caller is cancelled, the command is ended with all that it started; otherwise what
        it left running in the background goes on.

        Raises:
            ShellError: it cannot be started.
        """
        child = await self._session.start(
            self._command, self._cwd, "empty", is_unconfined=self._is_unconfined
        )
        try:
            with anyio.move_on_after(timeout_seconds) as limit:
                await self._session.follow(child, on_output)
            if limit.cancelled_caught and (rest := child.take_rest()):
                await on_output(rest)
        finally:
            self._session.release(child)
        return Ended(child.exit, limit.cancelled_caught)
