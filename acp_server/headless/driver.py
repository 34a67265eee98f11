"""Connects to an ACP agent: in a child process, or over an existing transport.

    launch = AgentLaunch(serve_command("--model", "scripted:demo"))
    async with spawn_agent(launch, ClientProfile(show)) as child:
        await child.agent.initialize()
        session = await child.agent.new_session(Path("/a/workspace"))
        answer = await child.agent.prompt(session.session_id, "Hello")
        exit = await child.close()

`connect_agent` does the same over an existing transport, such as one end of a `create_memory_pair`.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from acp_server.headless.agent import AgentClient, ClientProfile
from acp_server.headless.errors import AgentDisconnectedError, unwrap_single_exception
from acp_server.headless.process import AgentExit, AgentLaunch, AgentProcess
from acp_server.headless.wire import RecordingTransport, RecordLine, ignore_line
from acp_server.jsonrpc.stdio import StdioTransport
from acp_server.jsonrpc.transport import Transport

DRAIN_UPDATES_SECONDS = 2.0


class SpawnedAgent:
    """A connected agent in a child process."""

    def __init__(self, agent: AgentClient, process: AgentProcess, started: float) -> None:
        self.agent = agent
        self.started = started
        """Start time of the process, from `time.perf_counter`."""
        self._process = process
        self._exit: AgentExit | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def stderr_text(self) -> str:
        """The last 64 KiB of the agent's stderr, if it is captured."""
        return self._process.stderr_text

    async def close(self) -> AgentExit:
        """Close the agent's stdin and wait for its exit; kill it if it does not exit in time."""
        if self._exit is None:
            # Wait until everything is written; kill an agent that does not read it.
            with anyio.move_on_after(self._process.timeouts.flush_seconds) as flush_scope:
                await self.agent.finish_sending()
            if flush_scope.cancelled_caught:
                self._process.kill()
                await self.agent.finish_sending()  # at once: the write to the dead process fails
            self._exit = await self._process.shut_down()
            with anyio.move_on_after(DRAIN_UPDATES_SECONDS):
                await self.agent.closed.wait()
            self._process.close_stdout(is_fully_read=self.agent.has_disconnected)
        return self._exit


@asynccontextmanager
async def connect_agent(
    transport: Transport, profile: ClientProfile | None = None, record: RecordLine = ignore_line
) -> AsyncGenerator[AgentClient]:
    """Connect to an agent over a transport; leaving the context closes the transport.

    `record` is called for every line sent and received, in order.
    """
    recording_transport = RecordingTransport(transport, record)
    agent = AgentClient(recording_transport, profile or ClientProfile())
    with unwrap_single_exception():
        async with recording_transport, anyio.create_task_group() as tasks:
            tasks.start_soon(agent.run)
            try:
                yield agent
            finally:
                tasks.cancel_scope.cancel()


@asynccontextmanager
async def spawn_agent(
    launch: AgentLaunch, profile: ClientProfile | None = None, record: RecordLine = ignore_line
) -> AsyncGenerator[SpawnedAgent]:
    """Start an agent process and connect to it; leaving the context always closes it.

    Raises:
        AgentStartError: The command cannot be started.
        AgentDisconnectedError: The agent exited before it answered; has its exit code and stderr.
    """
    started = time.perf_counter()
    child: SpawnedAgent | None = None
    try:
        with unwrap_single_exception():
            async with (
                AgentProcess.start(launch) as process,
                connect_agent(StdioTransport(process.descriptors), profile, record) as agent,
            ):
                child = SpawnedAgent(agent, process, started)
                try:
                    yield child
                finally:
                    with anyio.CancelScope(shield=True):
                        await child.close()
    except AgentDisconnectedError as error:
        if child is None:
            raise
        exit_code = (await child.close()).code
        raise AgentDisconnectedError(error.method, exit_code, child.stderr_text) from error
