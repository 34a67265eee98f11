"""What the commands of one session share: variables, a mark, and who watches over them.

Owns the way of every command: started, put on record, followed, ended or left to go on.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from anyio.abc import TaskGroup

from acp_server.tools.shell.child import Child, Launch, Receive, Stdin
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.shell.environment import command_environment
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.processes import end_processes
from acp_server.tools.shell.watcher import Watcher

REAP_SECONDS = 0.4
"""What was killed is gone at once, unless the system itself holds it."""


class ShellSession:
    """Starts shells and ends them, with everything that they started."""

    def __init__(
        self,
        watcher: Watcher,
        tasks: TaskGroup,
        own: Mapping[str, str],
        secret_names: Collection[str],
        sandbox: SessionSandbox | None = None,
    ) -> None:
        """Prepare; `own` are our variables, of which no command sees those of `secret_names`.

        In `tasks` runs what goes on after a call: background commands, leftovers.
        """
        self.tasks = tasks
        self._watcher = watcher
        self._own = own
        self._secret_names = secret_names
        self._sandbox = sandbox
        self._mark = watcher.session_mark()
        self._commands = 0

    async def start(
        self, command: str, cwd: Path, stdin: Stdin, *, is_unconfined: bool = False
    ) -> Child:
        """Start a command in a shell of its own, confined where there is a sandbox.

        Raises:
            ShellError: it cannot be started.
        """
        self._commands += 1
        mark = f"{self._mark}{self._commands}."
        environment = command_environment(self._own, self._secret_names, mark)
        launcher: tuple[str, ...] = ()
        if self._sandbox is not None and not is_unconfined:
            launcher, environment = await self._sandbox.launch(environment)
        child = await Child.start(Launch(command, cwd, environment, stdin, launcher))
        try:
            self._watcher.register(child.group, mark)
        except ShellError:
            child.close()
            raise
        child.go(stdin)
        return child

    async def end(self, child: Child) -> None:
        """End a command and all that it started; takes at most a second and a half."""
        await self._end(child.mark)
        await child.wait(REAP_SECONDS)

    async def follow(self, child: Child, receive: Receive) -> None:
        """Pass on a command's output until its shell has ended; cut short, end the command.

        What an ended shell left running goes on, and stays on the record.
        """
        is_over = False
        try:
            await child.follow(receive)
            is_over = True
        finally:
            if is_over:
                self._watcher.forget_if_empty(child.group)
            else:
                await self.end(child)

    def release(self, child: Child) -> None:
        """Let go of a command that was followed.

        What it left running could not print any more, and would wait or fail, if nobody read.
        """
        if child.is_output_over:
            child.close()
        else:
            child.close_stdin()
            self.tasks.start_soon(child.discard_output)

    async def end_leftovers(self) -> None:
        """End whatever any command of this session is still running; for the session's end."""
        await self._end(self._mark)

    async def _end(self, mark: str) -> None:
        groups = self._watcher.groups(mark)
        is_over = await end_processes(groups, mark)
        for group in groups:
            if is_over:  # the dead that nobody has waited for may still hold the number
                self._watcher.forget(group)
            else:
                self._watcher.forget_if_empty(group)
