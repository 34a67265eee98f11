"""Being an ACP client, without an editor: of a process started for it, or over any transport.

    launch = Launch(serve_command("--model", "scripted:demo"))
    async with spawn(launch, Editor(show)) as child:
        await child.agent.initialize()
        session = await child.agent.new_session(Path("/a/workspace"))
        answer = await child.agent.prompt(session.session_id, "Hello")
        exit = await child.close()

`drive` is the same over a transport that is there already, such as one end of a `memory_pair`.
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
    """An agent in a process of its own."""

    def __init__(self, agent: Agent, process: ChildProcess, started: float) -> None:
        self.agent = agent
        self.started = started
        """When the process was started, on the clock of `time.perf_counter`."""
        self._process = process
        self._exit: Exit | None = None

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def stderr_text(self) -> str:
        """The end of what the agent wrote to stderr, if that is captured."""
        return self._process.stderr_text

    async def close(self) -> Exit:
        """Close the agent's stdin and wait for its end; what does not end in time is killed."""
        if self._exit is None:
            await self._hang_up()
            self._exit = await self._process.leave()
            with anyio.move_on_after(LAST_UPDATES_SECONDS):
                await self.agent.is_over.wait()
            self._process.release(is_read_to_its_end=self.agent.has_left)
        return self._exit

    async def _hang_up(self) -> None:
        """Get everything written; an agent that does not read it is killed for that."""
        with anyio.move_on_after(self._process.patience.flush_seconds) as flushing:
            await self.agent.hang_up()
        if flushing.cancelled_caught:
            self._process.kill()
            await self.agent.hang_up()


@asynccontextmanager
async def drive(
    transport: Transport, editor: Editor | None = None, record: Record = record_nothing
) -> AsyncGenerator[Agent]:
    """Be the client at one end of a transport; leaving ends the stream.

    `record` is called for every line, in order.
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
    """Start an agent and be its client; leaving closes it, however that comes about.

    Raises:
        AgentStartError: the command cannot be started.
        AgentLeftError: the agent left before it had answered; says why, as far as is known.
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
