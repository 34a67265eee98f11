"""Shell session: environment, mark and lifecycle of all commands of one ACP session.

Every command goes through here: start, registration with the watcher, follow, then termination or
release.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from acp_server.session.ports.editor import TerminalExit
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.child import Child, OutputCallback, ShellLaunch, Stdin
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.shell.environment import build_command_environment
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.process_groups import terminate_processes
from acp_server.tools.shell.watcher import ProcessWatcher

REAP_SECONDS = 0.4
"""A killed process is gone at once unless the kernel holds it."""


@frozen_dataclass
class CommandResult:
    """How a command ended, and whether its timeout was the reason."""

    exit: TerminalExit
    timed_out: bool


class ShellSession:
    """Starts the commands of one session and terminates them with all descendants."""

    def __init__(
        self,
        watcher: ProcessWatcher,
        tasks: TaskGroup,
        environment: Mapping[str, str],
        secret_names: Collection[str],
        sandbox: SessionSandbox | None = None,
    ) -> None:
        """Prepare; `environment` is the server's; commands never see `secret_names` of it.

        `tasks` runs work that outlives a tool call: background commands and leftovers.
        """
        self.tasks = tasks
        self._watcher = watcher
        self._environment = environment
        self._secret_names = secret_names
        self._sandbox = sandbox
        self._mark = watcher.new_session_mark()
        self._command_count = 0

    async def start(
        self, command: str, cwd: Path, stdin: Stdin, *, is_unconfined: bool = False
    ) -> Child:
        """Start a command in its own shell, confined if there is a sandbox.

        Raises:
            ShellError: The command cannot be started.
        """
        self._command_count += 1
        mark = f"{self._mark}{self._command_count}."
        environment = build_command_environment(self._environment, self._secret_names, mark)
        launcher: tuple[str, ...] = ()
        if self._sandbox is not None and not is_unconfined:
            launcher, environment = await self._sandbox.wrap_command(environment)
        child = await Child.start(ShellLaunch(command, cwd, environment, stdin, launcher))
        try:
            # Order: the child still waits for its start line. Register its group before the command
            # runs, so that no command survives a crash of the server.
            self._watcher.register(child.group, mark)
        except ShellError:
            child.close()
            raise
        # No await between `Child.start` and here: a cancellation in between would leave a waiting
        # child without an owner.
        child.run(stdin)
        return child

    async def run(
        self,
        command: str,
        cwd: Path,
        receive: OutputCallback,
        timeout_seconds: float | None,
        *,
        is_unconfined: bool = False,
    ) -> CommandResult:
        """Run a command with empty stdin until its shell ends; pass its output on in order.

        On timeout or cancellation, the command is terminated with everything it started. On a
        normal end, processes that it left in the background keep running.

        Raises:
            ShellError: The command cannot be started.
        """
        child = await self.start(command, cwd, "empty", is_unconfined=is_unconfined)
        try:
            with anyio.move_on_after(timeout_seconds) as timeout_scope:
                await self.follow(child, receive)
            # After a timeout `follow` was cut short: deliver the output that is still in the pipe.
            if timeout_scope.cancelled_caught and (remainder := child.read_available()):
                receive(remainder)
        finally:
            # Must also run on cancellation, or the pipes' descriptors would leak.
            self.release(child)
        return CommandResult(child.exit, timeout_scope.cancelled_caught)

    async def terminate(self, child: Child) -> None:
        """Terminate a command and its descendants; takes at most 1.5 seconds."""
        await self._terminate_marked(child.mark)
        await child.wait(REAP_SECONDS)

    async def follow(self, child: Child, receive: OutputCallback) -> None:
        """Pass on a command's output until its shell ends; terminate the command if cut short.

        Processes that an ended shell left in the background keep running and stay registered.
        """
        # Becomes true only on a normal end. Any error or cancellation, also one in `receive`,
        # terminates the command.
        has_finished = False
        try:
            await child.follow(receive)
            has_finished = True
        finally:
            if has_finished:
                self._watcher.unregister_if_empty(child.group)
            else:
                await self.terminate(child)

    def release(self, child: Child) -> None:
        """Release a command after `follow`.

        Its background processes keep a reader: without one, they would fail with SIGPIPE or block.
        """
        if child.is_output_closed:
            child.close()
        else:
            child.close_stdin()
            self.tasks.start_soon(child.discard_output)

    async def terminate_leftovers(self) -> None:
        """Terminate everything that commands of this session left running, at session end."""
        await self._terminate_marked(self._mark)

    async def _terminate_marked(self, mark: str) -> None:
        groups = self._watcher.groups(mark)
        is_terminated = await terminate_processes(groups, mark)
        for group in groups:
            # Unreaped zombies can still occupy the group's number, so it may be forgotten although
            # it is not empty.
            if is_terminated:
                self._watcher.unregister(group)
            else:
                self._watcher.unregister_if_empty(group)
