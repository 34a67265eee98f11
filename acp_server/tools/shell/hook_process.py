"""Runs hooks as processes, as every local command is run, with JSON on stdin and a timeout.

Hooks run outside the sandbox: the user configured them, and they may well work outside the
workspace. They do not get the agent's secrets. When the timeout expires or the turn is cancelled
they are terminated with all processes that they started; if this server is killed, the watcher
process terminates them.
"""

from contextlib import suppress
from pathlib import Path

import anyio

from acp_server.config.values import TurnHook
from acp_server.hooks.hook_protocol import HookResult
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.child import Child
from acp_server.tools.shell.command_access import UNCONFINED
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.output import OutputLog
from acp_server.tools.shell.session import ShellSession

MAX_OUTPUT_BYTES = 64_000


@frozen_dataclass
class HookProcessRunner:
    """Runs the hooks of one session in its directory."""

    shell: ShellSession
    cwd: Path

    async def run(self, hook: TurnHook, payload: bytes) -> HookResult:
        """Run a hook until it exits or its timeout expires. A failure is returned, not raised."""
        log = OutputLog(MAX_OUTPUT_BYTES, 0)
        try:
            child = await self.shell.start(hook.command, self.cwd, "pipe", UNCONFINED)
        except ShellError as error:
            return HookResult(None, "", failure=str(error))
        try:
            with anyio.move_on_after(hook.timeout_seconds) as timeout_scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_write_stdin, child, payload)
                    await self.shell.follow(child, log.write)
                    tasks.cancel_scope.cancel()  # it may have exited without reading all of stdin
        finally:
            self.shell.release(child)
        failure = ""
        if timeout_scope.cancelled_caught:
            failure = f"its time was up after {hook.timeout_seconds:g} s"
        elif child.exit.code is None:
            failure = f"it was ended by {child.exit.signal}"
        is_cut = log.total_bytes > MAX_OUTPUT_BYTES
        return HookResult(child.exit.code, log.text(), is_cut, failure)


async def _write_stdin(child: Child, payload: bytes) -> None:
    """Write the payload to the hook's stdin and close it."""
    with suppress(BrokenPipeError):  # a hook may exit without reading its input: that is no failure
        await child.write(payload)
    child.close_stdin()
