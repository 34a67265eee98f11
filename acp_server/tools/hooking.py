"""Hooks as processes: run as every local command is, with JSON on stdin and a deadline.

Not confined, for the user has said what they are to do, and it may well be outside the workspace.
Without our secrets, on the record of who ends what the server leaves behind, and ended with all
that they started when their time is up or the turn is cancelled.
"""

from contextlib import suppress
from pathlib import Path

import anyio

from acp_server.frozen import frozen
from acp_server.hooks.rules import Hook
from acp_server.hooks.shapes import Ran
from acp_server.tools.shell.child import Child
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.output import OutputLog
from acp_server.tools.shell.session import ShellSession

MOST_OUTPUT_BYTES = 64_000


@frozen
class HookShell:
    """Runs the hooks of one session in its folder."""

    shell: ShellSession
    cwd: Path

    async def run(self, hook: Hook, told: bytes) -> Ran:
        """Run a hook to its end or its deadline. A failure is what it returns."""
        log = OutputLog(MOST_OUTPUT_BYTES, 0)

        async def keep(chunk: bytes) -> None:
            log.write(chunk)

        try:
            child = await self.shell.start(hook.command, self.cwd, "pipe", is_unconfined=True)
        except ShellError as error:
            return Ran(None, "", failure=str(error))
        try:
            with anyio.move_on_after(hook.timeout_seconds) as limit:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_tell, child, told)
                    await self.shell.follow(child, keep)
                    tasks.cancel_scope.cancel()  # it may have ended without reading all
        finally:
            self.shell.release(child)
        is_cut = log.total_bytes > MOST_OUTPUT_BYTES
        return Ran(child.exit.code, log.text(), is_cut, _failure(child, hook, limit))


async def _tell(child: Child, told: bytes) -> None:
    """Write what the hook reads; one that does not care to read has said so by ending."""
    with suppress(BrokenPipeError):
        await child.write(told)
    child.close_stdin()


def _failure(child: Child, hook: Hook, limit: anyio.CancelScope) -> str:
    if limit.cancelled_caught:
        return f"its time was up after {hook.timeout_seconds:g} s"
    return f"it was ended by {child.exit.signal}" if child.exit.code is None else ""
