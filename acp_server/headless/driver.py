"""Connects to an ACP agent: in a child process, or over an existing transport.

    launch = AgentLaunch(serve_command("--model", "scripted:demo"))
    async with spawn_agent(launch, ClientProfile(show)) as child:
        await child.agent.initialize()
        session = await child.agent.new_session(Path("/a/workspace"))
        answer = await child.agent.prompt(session.session_id, "Hello")
        exit = await child.close()

`connect_agent` does the same over an existing transport, such as one end of a `memory_pair`.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from acp_server.headless.agent import Agent, Editor
from acp_server.headless.errors import AgentLeftError, ungrouped
from acp_server.headless.process import ChildProcess, Exit, Launch
from acp_server.headless.wire import Record, TappedTransport, record_nothing
from acp_server.jsonrpc.stdio import StdioTransport
from acp_server.jsonrpc.transport import Transport

LAST_UPDATES_SECONDS = 2.0


class SpawnedAgent:
    """A connected agent in a child process."""

    def __init__(self, agent: Agent, process: ChildProcess, started: float) -> None:
        self.agent = agent
        self.started = started
        """Start time of the process, from `time.perf_counter`."""
        self._process = process
        self._exit: Exit | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def stderr_text(self) -> str:
        """The last 64 KiB of the agent's stderr, if it is captured."""
        return self._process.stderr_text

    async def close(self) -> Exit:
        """Close the agent's stdin and wait for its exit; kill it if it does not exit in time."""
        if self._exit is None:
            await self._hang_up()
            self._exit = await self._process.leave()
            with anyio.move_on_after(LAST_UPDATES_SECONDS):
                await self.agent.is_over.wait()
            self._process.release(is_read_to_its_end=self.agent.has_left)
        return self._exit

    async def _hang_up(self) -> None:
        """Wait until everything is written; kill an agent that does not read it."""
        with anyio.move_on_after(self._process.patience.flush_seconds) as flushing:
            await self.agent.hang_up()
        if flushing.cancelled_caught:
            self._process.kill()
            await self.agent.hang_up()  # returns now: the write to the dead process fails


@asynccontextmanager
async def drive(
    transport: Transport, editor: Editor | None = None, record: Record = record_nothing
) -> AsyncGenerator[Agent]:
    """Connect to an agent over a transport; leaving the context closes the transport.

    `record` is called for every line sent and received, in order.
    """
    tapped = TappedTransport(transport, record)
    agent = Agent(tapped, editor or Editor())
    with ungrouped():
        async with tapped, anyio.create_task_group() as tasks:
            tasks.start_soon(agent.run)
            try:
                yield agent
            finally:
                tasks.cancel_scope.cancel()


@asynccontextmanager
async def spawn(
    launch: Launch, editor: Editor | None = None, record: Record = record_nothing
) -> AsyncGenerator[SpawnedAgent]:
    """Start an agent process and connect to it; leaving the context always closes it.

    Raises:
        AgentStartError: The command cannot be started.
        AgentDisconnectedError: The agent exited before it answered; has its exit code and stderr.
    """
    started = time.perf_counter()
    child: SpawnedAgent | None = None
    try:
        with ungrouped():
            async with (
                ChildProcess.start(launch) as process,
                drive(StdioTransport(process.descriptors), editor, record) as agent,
            ):
                child = SpawnedAgent(agent, process, started)
                try:
                    yield child
                finally:
                    with anyio.CancelScope(shield=True):
                        await child.close()
    except AgentLeftError as error:
        if child is None:
            raise
        exit_code = (await child.close()).code
        raise AgentLeftError(error.method, exit_code, child.stderr_text) from error
