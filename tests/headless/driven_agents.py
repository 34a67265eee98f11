"""Agents for tests of the headless driver: the real server in memory, a fake, processes."""

import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.headless.agent import Agent, Editor
from acp_server.headless.driver import drive
from acp_server.headless.errors import ungrouped
from acp_server.headless.process import Launch, Patience
from acp_server.headless.wire import Record, record_nothing
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.memory import memory_pair
from acp_server.jsonrpc.peer import Call, Handlers, Peer, RequestHandler
from acp_server.server.app import build
from tests.support.timeouts import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Partner:
    """Agent as driven by the client, the agent's side of the connection, and its shutdown."""

    agent: Agent
    peer: Peer
    leave: Callable[[], None]


@asynccontextmanager
async def server_in_memory(
    home: Path, script: str, editor: Editor, record: Record = record_nothing
) -> AsyncGenerator[Agent]:
    """Drive the real server with a scripted model."""
    file = home / "test.script"
    file.write_text(script, encoding="utf-8")
    configuration = settings.load({"--model": f"scripted:{file}"}, {"HERMES_HOME": str(home)})
    server_end, client_end = memory_pair()

    async def serve() -> None:
        async with server_end:
            await build(server_end, configuration).run()

    with ungrouped():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            with anyio.fail_after(PATIENCE_SECONDS):
                async with drive(client_end, editor, record) as agent:
                    yield agent


@asynccontextmanager
async def driven_peer(
    answers: Mapping[str, RequestHandler], editor: Editor | None = None
) -> AsyncGenerator[Partner]:
    """Drive a fake agent with these handlers; the test sends through its peer."""
    agent_end, client_end = memory_pair()
    peer = Peer(agent_end)

    async def serve() -> None:
        async with agent_end:
            await peer.run(Handlers(requests=answers))

    with ungrouped():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            with anyio.fail_after(PATIENCE_SECONDS):
                async with drive(client_end, editor) as agent:
                    yield Partner(agent, peer, agent_end.end)


def waiting(started: anyio.Event) -> RequestHandler:
    """Return a handler that sets an event when called and never responds."""

    def handle(params: JsonValue, call: Call) -> Job:
        del params, call

        async def run() -> Reply:
            started.set()
            await anyio.sleep_forever()
            raise AssertionError("not reached")

        return run

    return handle


def answer(result: JsonValue) -> RequestHandler:
    """Return a handler that always returns this result."""

    def handle(params: JsonValue, call: Call) -> Job:
        del params, call

        async def run() -> Reply:
            return Reply(result)

        return run

    return handle


def python_agent(source: str, patience: Patience | None = None) -> Launch:
    """Return the launch parameters of an agent written as Python source."""
    return Launch((sys.executable, "-c", source), stderr="capture", patience=patience or Patience())
