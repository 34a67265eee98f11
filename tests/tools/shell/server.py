"""Stand-in for the server, to be killed: runs the given commands concurrently.

Arguments: a directory, then commands. Prints `ready` before it starts the first.
"""

import sys
from pathlib import Path

import anyio

from acp_server.config.settings import child_environment
from acp_server.tools.shell.session import ShellSession
from acp_server.tools.shell.watcher import ProcessWatcher


def forward_output(chunk: bytes) -> None:
    """Forward the output of a command."""
    sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


async def run(folder: Path, commands: list[str]) -> None:
    """Run the commands until killed."""
    variables = child_environment({})
    async with anyio.create_task_group() as tasks:
        session = ShellSession(ProcessWatcher(tasks, variables), tasks, variables, ())
        forward_output(b"ready\n")
        for command in commands:
            tasks.start_soon(session.run, command, folder, forward_output, None)


anyio.run(run, Path(sys.argv[1]), sys.argv[2:])
