"""Local engine: attempts run as processes of this machine. The default."""

import math
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.config import settings
from acp_server.fleet.attempts import Attempt, AttemptReport, NodeFacts
from acp_server.fleet.clones import CloneCache
from acp_server.fleet.engines.capacity import NodeCapacity
from acp_server.fleet.engines.seam import EngineConfig
from acp_server.fleet.git import FleetGit
from acp_server.fleet.node import FleetNode, UnitSource, machine_memory, machine_processors
from acp_server.fleet.task_file import is_url
from acp_server.fleet.unit import Unit


class LocalEngine:
    """Runs attempts in threads of this process, each with a process of its own."""

    def __init__(self, config: EngineConfig, tasks: TaskGroup) -> None:
        self._config = config
        self._tasks = tasks
        environment = settings.child_environment({})
        cache = settings.hermes_home(environment) / "acp" / "fleet" / "clones"
        self._node = FleetNode(self._find_source, config.command)
        self._clones = CloneCache(cache, FleetGit(environment, self._node.guard))
        self._capacity = NodeCapacity(machine_processors(), machine_memory())
        self._waiting: deque[Attempt] = deque()
        # Threads wait for their processes; the driver decides how many there are.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._send, self._receive = anyio.create_memory_object_stream[AttemptReport](math.inf)

    async def submit(self, attempt: Attempt) -> str:
        """Start an attempt as soon as there are the processors and memory that it asks for."""
        self._waiting.append(attempt)
        self._start_waiting()
        return attempt.handle

    def events(self) -> AsyncIterator[AttemptReport]:
        """Return the reports, as attempts end."""
        return self._receive

    async def cancel(self, handle: str) -> None:
        """End an attempt; its report follows."""
        for attempt in self._waiting:
            if attempt.handle == handle:
                self._waiting.remove(attempt)
                report = AttemptReport(handle, is_cancelled=True, has_agent=False)
                self._send.send_nowait(report)
                self._start_waiting()
                return
        await to_thread.run_sync(self._node.cancel, handle)

    async def nodes(self) -> Sequence[NodeFacts]:
        """Return this machine."""
        return [await to_thread.run_sync(self._node.facts, self._config.jobs)]

    def close(self) -> None:
        """End all processes and remove all directories."""
        self._node.close()
        self._send.close()
        self._receive.close()

    def _start_waiting(self) -> None:
        # In order: one that needs much would never start if smaller ones went before it.
        while self._waiting and self._capacity.has_room_for(self._waiting[0].unit):
            attempt = self._waiting.popleft()
            self._capacity.running[attempt.handle] = attempt.unit
            self._tasks.start_soon(self._run, attempt)

    async def _run(self, attempt: Attempt) -> None:
        report = await to_thread.run_sync(self._node.run, attempt, limiter=self._threads)
        del self._capacity.running[attempt.handle]
        self._send.send_nowait(report)
        self._start_waiting()

    def _find_source(self, unit: Unit) -> UnitSource:
        source = unit.workspace
        if is_url(source.repository):
            repository = self._clones.clone_of_url(source.repository, source.commit)
        else:
            repository = Path(source.repository)
        changes = self._config.changes.get(source.changes)
        return UnitSource(repository, b"" if changes is None else changes.read_bytes())


@asynccontextmanager
async def open_local_engine(config: EngineConfig) -> AsyncGenerator[LocalEngine]:
    """Open the engine of this machine."""
    async with anyio.create_task_group() as tasks:
        engine = LocalEngine(config, tasks)
        try:
            yield engine
        finally:
            engine.close()
            tasks.cancel_scope.cancel()
