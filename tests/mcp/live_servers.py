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

from acp_server.mcp.config import McpConfig
from acp_server.mcp.lazy_imports import create_connector
from acp_server.mcp.ports import InjectionScan, McpConnector, McpContext, McpLimits, no_scan
from acp_server.mcp.session_servers import SessionServers
from acp_server.permissions.gate import Refusal
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.ports.elicitation import ElicitationForm, ElicitationResult, ElicitationUrl
from acp_server.session.ports.mcp_configs import ServerConfig, StdioServerConfig
from acp_server.startup.lazy_value import Lazy
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.call_access import CallAccess
from acp_server.turn.conversation import Text, ToolCall
from acp_server.turn.events import CallChanged, Event
from acp_server.turn.ports import ToolOutcome

TIMEOUT_SECONDS = 30
POLL_SECONDS = 0.01
PROGRAMS = Path(__file__).parent / "programs"
FAST_LIMITS = McpLimits(
    first_call_seconds=TIMEOUT_SECONDS,
    backoff_seconds=(0.02, 0.02, 0.02),
    reconnect_wait_seconds=10.0,
)


@dataclass(slots=True)
class RecordingGate:
    """Permission gate that records questions and allows everything, or refuses everything."""

    refusal: Refusal | None = None
    questions: list[PermissionQuestion] = field(default_factory=list[PermissionQuestion])

    def enter_queue(self, call_id: str, tool: str = "") -> None:
        del call_id, tool

    def yield_queue(self, call_id: str) -> None:
        del call_id

    def leave_queue(self, call_id: str) -> None:
        del call_id

    async def authorize(self, question: PermissionQuestion) -> Refusal | None:
        self.questions.append(question)
        return self.refusal

    def search_excludes(self) -> Sequence[str]:
        return ()

    async def forbid_tool(self, tool: str) -> Refusal | None:
        del tool
        return None

    async def can_preview(self, path: Path) -> bool:
        del path
        return True


@dataclass(slots=True)
class FakeElicitor:
    """Elicitor that records questions and answers all alike."""

    answer: ElicitationResult = field(default_factory=lambda: ElicitationResult("decline"))
    questions: list[ElicitationForm | ElicitationUrl] = field(
        default_factory=list[ElicitationForm | ElicitationUrl]
    )
    can_ask: bool = True
    shows_pages: bool = True
    delay_seconds: float = 0.0
    completed: list[str] = field(default_factory=list[str])

    async def ask(self, question: ElicitationForm | ElicitationUrl) -> ElicitationResult:
        self.questions.append(question)
        await anyio.sleep(self.delay_seconds)
        return self.answer

    async def complete(self, page_id: str) -> None:
        self.completed.append(page_id)


@dataclass(slots=True)
class EventRecorder:
    """Sink that stores events."""

    events: list[Event] = field(default_factory=list[Event])

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    def emit_now(self, event: Event) -> None:
        self.events.append(event)

    def progress_texts(self) -> list[str]:
        """Return the texts shown while a call ran."""
        return [
            part.text
            for event in self.events
            if isinstance(event, CallChanged) and event.is_passing
            for part in event.content or ()
            if isinstance(part, Text)
        ]


@dataclass(slots=True)
class LiveServers:
    """Running MCP servers of a session."""

    servers: SessionServers
    gate: RecordingGate
    notices: list[str]
    """What the user was told."""
    recorder: EventRecorder = field(default_factory=EventRecorder)

    async def call(
        self, name: str, arguments: Mapping[str, JsonValue] | None = None
    ) -> ToolOutcome:
        """Call a tool of the current tool list."""
        toolbox = SessionToolbox(self.servers.tools())
        live = await toolbox.open("call", name, self.recorder)
        return await live.run(ToolCall("call", name, json.dumps(dict(arguments or {}))))

    async def access(self, name: str) -> CallAccess:
        """Return what a call of a tool may do."""
        live = await SessionToolbox(self.servers.tools()).open("call", name, self.recorder)
        return live.access(ToolCall("call", name, "{}"))

    def tool_names(self) -> list[str]:
        return [tool.spec.name for tool in self.servers.tools()]

    async def wait_for_description(self, words: str) -> str:
        """Wait until the description of the servers contains this text, and return it."""
        return await wait_for_text(self.servers.describe, words)


async def wait_for_text(read_text: Callable[[], str], expected: str) -> str:
    with anyio.fail_after(TIMEOUT_SECONDS):
        while True:
            if expected in (text := read_text()):
                return text
            await anyio.sleep(POLL_SECONDS)  # other processes signal no event


def server_program(
    name: str, *behaviors: str, environment: Mapping[str, str] | None = None
) -> StdioServerConfig:
    """Return the config of `programs/server.py` with some traits; see there."""
    args = (str(PROGRAMS / "server.py"), *behaviors)
    return StdioServerConfig(name, sys.executable, args, environment or {})


@dataclass(slots=True)
class LiveServersFactory:
    """Factory of session servers, with the parts that sessions share."""

    tasks: TaskGroup
    root: Path
    connector: Lazy[McpConnector]
    limits: McpLimits = FAST_LIMITS
    elicitor: FakeElicitor = field(default_factory=FakeElicitor)
    scan: InjectionScan = no_scan

    def create(
        self,
        *configs: ServerConfig,
        root: Path | None = None,
    ) -> LiveServers:
        """Create the servers of a session without starting them."""
        gate, notices = RecordingGate(), list[str]()
        context = McpContext(
            gate=gate,
            roots=(root or self.root,),
            tasks=self.tasks,
            load_connector=self.connector.get,
            elicitor=self.elicitor,
            scan=self.scan,
            limits=self.limits,
            reserved_names=("read_file",),
            notify_user=notices.append,
        )
        return LiveServers(SessionServers(configs, context), gate, notices)

    @asynccontextmanager
    async def open_servers(self, *configs: ServerConfig) -> AsyncGenerator[LiveServers]:
        """Start the servers of a session and wait until they are ready."""
        live = self.create(*configs)
        live.servers.start(lambda: None)
        try:
            with anyio.fail_after(TIMEOUT_SECONDS):
                await live.servers.wait_ready()
                yield live
        finally:
            await live.servers.close()


@asynccontextmanager
async def open_factory(
    root: Path, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[LiveServersFactory]:
    """Open a factory; exiting the context ends its servers."""
    variables = environment or {"PATH": os.defpath, "HOME": str(root)}
    async with anyio.create_task_group() as tasks:
        connector = Lazy(partial(create_connector, tasks, McpConfig(variables, ("OUR_KEY",), root)))
        try:
            yield LiveServersFactory(tasks, root, connector)
        finally:
            if connector.loaded is not None:
                await connector.loaded.close()
            tasks.cancel_scope.cancel()
