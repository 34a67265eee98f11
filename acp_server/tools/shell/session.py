"""Shell session: environment, mark and lifecycle of all commands of one ACP session.

Every command that this server starts itself goes through here (an editor's terminals do not):
start, registration with the watcher, follow, then termination or release.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.permissions.effects import WorkspaceProgram
from acp_server.permissions.shell.findings import ProgramCall
from acp_server.session.command_variables import CommandVariables
from acp_server.session.ports.editor import TerminalExit
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.child import Child, OutputCallback, ShellLaunch, Stdin
from acp_server.tools.shell.command_access import CONFINED, CommandAccess
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.shell.environment import build_command_environment
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.process_groups import terminate_processes
from acp_server.tools.shell.search_path import find_workspace_programs, remove_workspace_entries
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
        roots: Sequence[Path] = (),
    ) -> None:
        """Prepare; `environment` is the server's; commands never see `secret_names` of it.

        `roots` are the directories of the workspace, symlinks resolved.

        `tasks` runs work that outlives a tool call: background commands and leftovers.
        """
        self.tasks = tasks
        self._watcher = watcher
        self._environment = environment
        self._secret_names = secret_names
        self._sandbox = sandbox
        self._roots = roots
        self.variables = CommandVariables()
        """Those that the user lets the commands of the model use; sub-agents share them."""
        self._mark = watcher.new_session_mark()
        self._command_count = 0

    @property
    def _search_path(self) -> str:
        return self._environment.get("PATH", os.defpath)

    async def find_workspace_programs(
        self, calls: Sequence[ProgramCall], cwd: Path
    ) -> tuple[WorkspaceProgram, ...]:
        """Return the programs that PATH finds in the workspace, or that it chooses."""
        return await to_thread.run_sync(
            self.find_workspace_programs_now, calls, cwd, abandon_on_cancel=True
        )

    def find_workspace_programs_now(
        self, calls: Sequence[ProgramCall], cwd: Path
    ) -> tuple[WorkspaceProgram, ...]:
        """Return the programs that PATH finds in the workspace, or that it chooses. Blocks."""
        return find_workspace_programs(calls, cwd, self._search_path, self._roots)

    async def safe_search_path(self) -> str | None:
        """Return PATH without the entries that lead into the workspace; None if it has none."""
        safe = await to_thread.run_sync(
            remove_workspace_entries, self._search_path, self._roots, abandon_on_cancel=True
        )
        return None if safe == self._search_path else safe

    async def start(
        self,
        command: str,
        cwd: Path,
        stdin: Stdin,
        access: CommandAccess = CONFINED,
    ) -> Child:
        """Start a command in its own shell, confined if there is a sandbox.

        Raises:
            ShellError: The command cannot be started.
        """
        self._command_count += 1
        mark = f"{self._mark}{self._command_count}."
        environment = build_command_environment(
            self._environment, self._secret_names, mark, only_reads=access.only_reads
        )
        # Hooks and checks, which no call runs, do without.
        if access.origin is not None:
            environment = {**self.variables.current, **environment}
        if access.only_reads and (search_path := await self.safe_search_path()):
            environment["PATH"] = search_path
        launcher: tuple[str, ...] = ()
        if self._sandbox is not None and not access.is_unconfined:
            launcher, environment = await self._sandbox.wrap_command(
                environment,
                access.origin,
                has_network=access.has_network,
                shield=access.shield,
            )
        child = await Child.start(
            ShellLaunch(
                command,
                cwd,
                environment,
                stdin,
                launcher,
                tuple(self._roots),
                self.variables.hidden_values,
            )
        )
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
        access: CommandAccess = CONFINED,
    ) -> CommandResult:
        """Run a command with empty stdin until its shell ends; pass its output on in order.

        On timeout or cancellation, the command is terminated with everything it started. On a
        normal end, processes that it left in the background keep running.

        Raises:
            ShellError: The command cannot be started.
        """
        child = await self.start(command, cwd, "empty", access)
        try:
            with anyio.move_on_after(timeout_seconds) as timeout_scope:
                if access.origin is not None:
                    access.origin.limit_time(timeout_scope)
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
