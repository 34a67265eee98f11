"""MCP servers of a session as real processes, and calls of their tools as from the model."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.mcp.lazy_imports import McpLoader, McpPremises
from acp_server.mcp.ports import Limits
from acp_server.mcp.results import Suspect, trusts_all
from acp_server.mcp.session_servers import Around, SessionServers
from acp_server.permissions.gate import Refusal
from acp_server.permissions.questions import Question
from acp_server.session.ports.elicitation import Answer, Form, Page
from acp_server.session.ports.mcp_configs import ProcessServer, ServerConfig
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import Text, ToolCall
from acp_server.turn.events import CallChanged, Event
from acp_server.turn.ports import Outcome

PATIENCE_SECONDS = 30
LOOK_SECONDS = 0.01
PROGRAMS = Path(__file__).parent / "programs"
QUICK = Limits(
    first_call_seconds=PATIENCE_SECONDS,
    backoff_seconds=(0.02, 0.02, 0.02),
    reconnecting_seconds=10.0,
)


@dataclass(slots=True)
class OpenGate:
    """Permission gate that records questions and allows everything, or refuses everything."""

    refusal: Refusal | None = None
    questions: list[Question] = field(default_factory=list[Question])

    def join(self, call_id: str, tool: str = "") -> None:
        del call_id, tool

    def step_aside(self, call_id: str) -> None:
        del call_id

    def leave(self, call_id: str) -> None:
        del call_id

    async def pass_through(self, question: Question) -> Refusal | None:
        self.questions.append(question)
        return self.refusal

    def left_out_of_searches(self) -> Sequence[str]:
        return ()

    async def may_preview(self, path: Path) -> bool:
        del path
        return True


@dataclass(slots=True)
class Person:
    """Elicitor that records questions and answers all alike."""

    answer: Answer = field(default_factory=lambda: Answer("decline"))
    questions: list[Form | Page] = field(default_factory=list[Form | Page])
    can_ask: bool = True
    thinks_seconds: float = 0.0
    completed: list[str] = field(default_factory=list[str])

    async def ask(self, question: Form | Page) -> Answer:
        self.questions.append(question)
        await anyio.sleep(self.thinks_seconds)
        return self.answer

    async def complete(self, page_id: str) -> None:
        self.completed.append(page_id)


@dataclass(slots=True)
class Screen:
    """Sink that stores events."""

    events: list[Event] = field(default_factory=list[Event])

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    def emit_now(self, event: Event) -> None:
        self.events.append(event)

    def passing(self) -> list[str]:
        """Return the texts shown while a call ran."""
        return [
            part.text
            for event in self.events
            if isinstance(event, CallChanged) and event.is_passing
            for part in event.content or ()
            if isinstance(part, Text)
        ]


@dataclass(slots=True)
class Office:
    """Running MCP servers of a session."""

    servers: SessionServers
    gate: OpenGate
    screen: Screen = field(default_factory=Screen)

    async def call(self, name: str, arguments: Mapping[str, JsonValue] | None = None) -> Outcome:
        """Call a tool of the current tool list."""
        toolbox = SessionToolbox(self.servers.tools())
        live = await toolbox.open("call", name, self.screen)
        return await live.run(ToolCall("call", name, json.dumps(dict(arguments or {}))))

    def names(self) -> list[str]:
        return [tool.spec.name for tool in self.servers.tools()]

    async def until(self, words: str) -> str:
        """Wait until the description of the servers contains this text, and return it."""
        return await until(self.servers.description, words)


async def until(page: Callable[[], str], words: str) -> str:
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            if words in (text := page()):
                return text
            await anyio.sleep(LOOK_SECONDS)  # other processes signal no event


def program(name: str, *traits: str, environment: Mapping[str, str] | None = None) -> ProcessServer:
    """Return the config of `programs/server.py` with some traits; see there."""
    args = (str(PROGRAMS / "server.py"), *traits)
    return ProcessServer(name, sys.executable, args, environment or {})


@dataclass(slots=True)
class Building:
    """Factory of session servers, with the parts that sessions share."""

    tasks: TaskGroup
    root: Path
    loader: McpLoader
    limits: Limits = QUICK
    person: Person = field(default_factory=Person)
    suspect: Suspect = trusts_all

    def office(
        self,
        *configs: ServerConfig,
        root: Path | None = None,
    ) -> Office:
        """Create the servers of a session without starting them."""
        gate = OpenGate()
        around = Around(
            gate=gate,
            roots=(root or self.root,),
            tasks=self.tasks,
            load=partial(self.loader.load, self.tasks),
            elicitor=self.person,
            suspect=self.suspect,
            limits=self.limits,
            taken=("read_file",),
        )
        return Office(SessionServers(configs, around), gate)

    @asynccontextmanager
    async def opened(self, *configs: ServerConfig) -> AsyncGenerator[Office]:
        """Start the servers of a session and wait until they are ready."""
        office = self.office(*configs)
        office.servers.begin()
        try:
            with anyio.fail_after(PATIENCE_SECONDS):
                await office.servers.ready()
                yield office
        finally:
            await office.servers.close()


@asynccontextmanager
async def building(
    root: Path, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[Building]:
    """Open a factory; exiting the context ends its servers."""
    own = environment or {"PATH": os.defpath, "HOME": str(root)}
    async with anyio.create_task_group() as tasks:
        loader = McpLoader(McpPremises(own, ("OUR_KEY",)))
        try:
            yield Building(tasks, root, loader)
        finally:
            await loader.close()
            tasks.cancel_scope.cancel()
