"""Agents for tests of the headless driver: the real server in memory, a fake, processes."""

import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.headless.agent import AgentClient, ClientProfile
from acp_server.headless.driver import connect_agent
from acp_server.headless.errors import unwrap_single_exception
from acp_server.headless.process import AgentLaunch, ShutdownTimeouts
from acp_server.headless.wire import RecordLine, ignore_line
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.jsonrpc.peer import Handlers, InboundRequest, Peer, RequestHandler
from acp_server.server.app import build_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class DrivenAgent:
    """Agent as driven by the client, the agent's side of the connection, and its shutdown."""

    agent: AgentClient
    peer: Peer
    close_stream: Callable[[], None]


@asynccontextmanager
async def drive_memory_server(
    home: Path, script: str, editor: ClientProfile, record: RecordLine = ignore_line
) -> AsyncGenerator[AgentClient]:
    """Drive the real server with a scripted model."""
    file = home / "test.script"
    file.write_text(script, encoding="utf-8")
    configuration = settings.load({"--model": f"scripted:{file}"}, {"HERMES_HOME": str(home)})
    server_end, client_end = create_memory_pair()

    async def serve() -> None:
        async with server_end:
            await build_server(server_end, configuration).run()

    with unwrap_single_exception():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                async with connect_agent(client_end, editor, record) as agent:
                    yield agent


@asynccontextmanager
async def drive_peer(
    answers: Mapping[str, RequestHandler], editor: ClientProfile | None = None
) -> AsyncGenerator[DrivenAgent]:
    """Drive a fake agent with these handlers; the test sends through its peer."""
    agent_end, client_end = create_memory_pair()
    peer = Peer(agent_end)

    async def serve() -> None:
        async with agent_end:
            await peer.run(Handlers(requests=answers))

    with unwrap_single_exception():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                async with connect_agent(client_end, editor) as agent:
                    yield DrivenAgent(agent, peer, agent_end.end)


def make_hanging_handler(started: anyio.Event) -> RequestHandler:
    """Return a handler that sets an event when called and never responds."""

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del params, call

        async def run() -> Reply:
            started.set()
            await anyio.sleep_forever()
            raise AssertionError("not reached")

        return run

    return handle


def make_fixed_handler(result: JsonValue) -> RequestHandler:
    """Return a handler that always returns this result."""

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del params, call

        async def run() -> Reply:
            return Reply(result)

        return run

    return handle


def make_python_launch(source: str, timeouts: ShutdownTimeouts | None = None) -> AgentLaunch:
    """Return the launch parameters of an agent written as Python source."""
    return AgentLaunch(
        (sys.executable, "-c", source), stderr="capture", timeouts=timeouts or ShutdownTimeouts()
    )
