"""Engine on other machines: the part that does not depend on how workers are called.

It places each attempt on a worker with a free slot, sends repositories there once, renews the lease
of its attempts, and reports attempts as lost whose worker is gone. A backend calls the workers.
"""

import ipaddress
import math
import secrets
import tempfile
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
from anyio import from_thread, to_thread
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.fleet.attempts import (
    Attempt,
    AttemptReport,
    NodeFacts,
    Placement,
    report_from_json,
)
from acp_server.fleet.bundles import make_bundle
from acp_server.fleet.engines import remote_node
from acp_server.fleet.engines.capacity import NodeCapacity
from acp_server.fleet.engines.seam import EngineConfig, EngineError
from acp_server.fleet.git import FleetGit, FleetGitError
from acp_server.fleet.results import whole_number
from acp_server.fleet.task_file import is_url
from acp_server.text.json_values import as_object, as_text
from acp_server.version import __version__

POLL_SECONDS = 1.0
JOIN_SECONDS = 60.0
"""Time for a first worker to join: clusters of batch systems start them on demand."""
RENEW_SECONDS = 5.0
PART_BYTES = 8_000_000
BUNDLES_DIRECTORY = "bundles"
Json = dict[str, JsonValue]


class NodeLostError(Exception):
    """A worker cannot be reached."""


class RemoteBackend(Protocol):
    """Calls functions of `remote_node` on workers. All methods block; used from threads."""

    def workers(self) -> Mapping[str, int]:
        """Return the slots of each worker, by its address.

        Raises:
            EngineError: The cluster cannot be reached.
        """
        ...

    def call(self, worker: str, function: Callable[..., object], *arguments: object) -> object:
        """Call a function on one worker and return its result.

        Raises:
            NodeLostError: The worker cannot be reached.
        """
        ...

    def start(
        self,
        worker: str,
        handle: str,
        arguments: Sequence[object],
        done: Callable[[Json | None], None],
    ) -> None:
        """Start `remote_node.run_attempt`; call `done` in a thread, with None if it was lost.

        Raises:
            NodeLostError: The worker is gone.
        """
        ...

    def forget(self, handle: str) -> None:
        """Do not run an attempt again, whose worker is gone."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


def check_address(address: str, config: EngineConfig, *, is_authenticated: bool) -> None:
    """Refuse a cluster that others on the network could control.

    Raises:
        EngineError: The address is neither on this machine nor authenticated.
    """
    host = urlsplit(address if "://" in address else f"tcp://{address}").hostname or ""
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if not (is_loopback or is_authenticated or config.is_insecure_allowed):
        raise EngineError(
            f"the engine at {address} is neither on this machine nor authenticated: anyone on its "
            "network could run commands on its nodes. Use TLS (see --engine-options), a tunnel to "
            "127.0.0.1, or --engine-insecure"
        )


@dataclass(slots=True)
class _Worker:
    """Worker that passed the node check."""

    facts: NodeFacts
    process: int
    capacity: NodeCapacity
    """One processor per slot."""
    files: set[str] = field(default_factory=set[str])
    """Names of the files that it has."""


class RemoteEngine:
    """Places attempts on the workers of a cluster."""

    def __init__(self, backend: RemoteBackend, config: EngineConfig, directory: Path) -> None:
        """Keep bundles in `directory` while the engine is open."""
        self._backend = backend
        self._config = config
        self._directory = directory
        self._fleet = secrets.token_hex(8)
        self._git = FleetGit(
            settings.child_environment(dict.fromkeys(settings.load({}).secret_variables))
        )
        self._bundle_lock = threading.Lock()
        self._workers: dict[str, _Worker] = {}
        self._refused: dict[str, NodeFacts] = {}
        self._waiting: deque[Attempt] = deque()
        self._places: dict[str, str] = {}
        """Worker of each running attempt."""
        self._gone = ""
        """Why the cluster cannot be used any more."""
        self._changed = anyio.Event()
        self._token = anyio.lowlevel.current_token()
        self._threads = anyio.CapacityLimiter(math.inf)
        self._send, self._receive = anyio.create_memory_object_stream[Placement | AttemptReport](
            math.inf
        )

    async def submit(self, attempt: Attempt) -> str:
        """Have an attempt run on a worker, as soon as one has a free slot.

        Raises:
            EngineError: The cluster is gone.
        """
        if self._gone:
            raise EngineError(self._gone)
        self._waiting.append(attempt)
        self._changed.set()
        return attempt.handle

    def events(self) -> AsyncIterator[Placement | AttemptReport]:
        """Return the placements and the reports."""
        return self._receive

    async def cancel(self, handle: str) -> None:
        """End an attempt; its report follows."""
        for attempt in self._waiting:
            if attempt.handle == handle:
                self._waiting.remove(attempt)
                report = AttemptReport(handle, is_cancelled=True, has_agent=False)
                self._send.send_nowait(report)
                return
        worker = self._places.get(handle)
        if worker is not None:
            try:
                await self._call(worker, remote_node.cancel_attempt, handle)
            except NodeLostError:
                self._lose(worker)

    async def nodes(self) -> Sequence[NodeFacts]:
        """Return all nodes, also refused ones."""
        return [*(each.facts for each in self._workers.values()), *self._refused.values()]

    async def run(self) -> None:
        """Look after workers and attempts until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._renew)
            tasks.start_soon(self._poll)
            while True:
                self._changed = anyio.Event()
                await self._place_waiting()
                await self._changed.wait()

    def close(self) -> None:
        """Close the streams of reports."""
        self._send.close()
        self._receive.close()

    async def wait_for_workers(self) -> None:
        """Check the workers; wait for a first one to join.

        Raises:
            EngineError: No node can run tasks.
        """
        with anyio.move_on_after(JOIN_SECONDS):
            while not (self._workers or self._refused or self._gone):
                await self.look_for_workers()
                await anyio.sleep(0 if self._workers else POLL_SECONDS)
        if not self._workers:
            problems = [f"{each.name}: {each.problem}" for each in self._refused.values()]
            reason = f"the cluster at {self._config.address} has no node that can run tasks"
            raise EngineError("\n".join((reason, *problems, *filter(None, (self._gone,)))))

    async def look_for_workers(self) -> None:
        """Check new workers, and report the attempts of those that are gone as lost."""
        try:
            found = await to_thread.run_sync(self._backend.workers, limiter=self._threads)
        except EngineError as error:
            self._gone = str(error)
            for worker in [*self._workers]:
                self._lose(worker)
            for attempt in self._waiting:
                report = AttemptReport(attempt.handle, is_lost=True, has_agent=False)
                self._send.send_nowait(report)
            self._waiting.clear()
            return
        for worker in [each for each in self._workers if each not in found]:
            self._lose(worker)
        for worker in [each for each in self._refused if each not in found]:
            del self._refused[worker]
        for worker, slots in found.items():
            if worker not in self._workers and worker not in self._refused:
                await self._check_node(worker, slots)
        self._changed.set()

    async def _poll(self) -> None:
        while True:
            await anyio.sleep(POLL_SECONDS)
            await self.look_for_workers()

    async def _renew(self) -> None:
        while True:
            for worker in [each for each, state in self._workers.items() if state.capacity.running]:
                try:
                    await self._call(worker, remote_node.renew_lease, self._fleet)
                except NodeLostError:
                    self._lose(worker)
            await anyio.sleep(RENEW_SECONDS)

    async def _check_node(self, worker: str, slots: int) -> None:
        try:
            answer = await self._call(worker, remote_node.node_facts, slots)
        except NodeLostError as error:
            facts = NodeFacts(worker, "", "", 0, slots, f"the node check failed: {error}")
            self._refused[worker] = facts
            return
        value = as_object(answer)
        problem = as_text(value.get("problem"))
        server = as_text(value.get("server"))
        if server != __version__:
            problem = f"it has acp-server {server}, and this is {__version__}"
        facts = NodeFacts(
            f"{as_text(value.get('name'))} ({worker})",
            server,
            as_text(value.get("git")),
            whole_number(value.get("free_bytes")),
            slots,
            problem,
        )
        if problem:
            self._refused[worker] = facts
        else:
            self._workers[worker] = _Worker(
                facts,
                whole_number(value.get("process")),
                # A thread of the worker is a slot, and an attempt takes at least one.
                NodeCapacity(slots, whole_number(value.get("memory")), least=1.0),
            )

    async def _place_waiting(self) -> None:
        """Start waiting attempts on workers with free slots."""
        while self._waiting:
            unit = self._waiting[0].unit
            free = {
                name: state.capacity.free_processors
                for name, state in self._workers.items()
                if state.capacity.has_room_for(unit)
            }
            if not free:
                return
            worker = max(free, key=lambda name: free[name])
            attempt = self._waiting.popleft()
            state = self._workers[worker]
            state.capacity.running[attempt.handle] = unit
            self._places[attempt.handle] = worker
            self._send.send_nowait(Placement(attempt.handle, state.facts.name))
            try:
                await self._send_files(worker, state, attempt)
            except NodeLostError:
                self._lose(worker)
                continue
            except (FleetGitError, OSError) as error:
                report = AttemptReport(attempt.handle, problem=str(error), has_agent=False)
                self._end(report)
                continue
            if attempt.handle in self._places:  # the worker was not lost meanwhile
                arguments = (self._config.command, self._fleet, state.process, attempt.as_json())
                done = _DoneCallback(self, attempt.handle)
                start = partial(self._backend.start, worker, attempt.handle, arguments, done)
                try:
                    await to_thread.run_sync(start, limiter=self._threads)
                except NodeLostError:
                    self._lose(worker)

    async def _send_files(self, worker: str, state: _Worker, attempt: Attempt) -> None:
        """Send the repository and the uncommitted changes of a unit, unless the node has them."""
        source = attempt.unit.workspace
        files: dict[str, Path] = {}
        if not is_url(source.repository):
            name = remote_node.bundle_name(source.commit)
            files[name] = self._directory / BUNDLES_DIRECTORY / name
            if name not in state.files:
                await to_thread.run_sync(
                    self._make_bundle, Path(source.repository), source.commit, files[name]
                )
        if source.changes:
            files[remote_node.changes_name(source.changes)] = self._config.changes[source.changes]
        for name, path in files.items():
            if name not in state.files:
                await self._send_file(worker, name, path)
                state.files.add(name)

    async def _send_file(self, worker: str, name: str, path: Path) -> None:
        size = (await anyio.Path(path).stat()).st_size
        if await self._call(worker, remote_node.has_file, name, size):
            return
        async with await anyio.open_file(path, "rb") as file:
            is_first = True
            while part := await file.read(PART_BYTES):
                await self._call(worker, remote_node.store_part, name, part, is_first)
                is_first = False

    def _make_bundle(self, repository: Path, commit: str, target: Path) -> None:
        with self._bundle_lock:
            make_bundle(repository, commit, target, self._git)

    async def _call(
        self, worker: str, function: Callable[..., object], *arguments: object
    ) -> JsonValue:
        call = partial(self._backend.call, worker, function, self._config.command, *arguments)
        return cast("JsonValue", await to_thread.run_sync(call, limiter=self._threads))

    def _lose(self, worker: str) -> None:
        """Report all attempts of a worker as lost."""
        state = self._workers.pop(worker, None)
        for handle in [*state.capacity.running] if state else []:
            self._end(AttemptReport(handle, is_lost=True))
            # In a thread: it may wait for a cluster that does not answer.
            threading.Thread(target=self._backend.forget, args=(handle,), daemon=True).start()

    def end_from_thread(self, handle: str, answer: Json | None) -> None:
        """Report the end of an attempt; called in a thread of the backend."""
        report = AttemptReport(handle, is_lost=True) if answer is None else report_from_json(answer)
        with suppress(RuntimeError, anyio.ClosedResourceError):  # the engine is closed
            if report.is_lost:
                # No attempt may be placed there before the worker has been checked again.
                worker = self._places.get(handle, "")
                from_thread.run_sync(self._lose, worker, token=self._token)
            from_thread.run_sync(self._end, report, token=self._token)

    def _end(self, report: AttemptReport) -> None:
        worker = self._places.pop(report.handle, None)
        if worker is None:  # reported as lost before
            return
        if worker in self._workers:
            self._workers[worker].capacity.running.pop(report.handle, None)
        self._send.send_nowait(report)
        self._changed.set()


@dataclass(frozen=True, slots=True)
class _DoneCallback:
    """Callback of a backend for one attempt."""

    engine: RemoteEngine
    handle: str

    def __call__(self, answer: Json | None) -> None:
        self.engine.end_from_thread(self.handle, answer)


@asynccontextmanager
async def run_remote_engine(
    backend: RemoteBackend, config: EngineConfig
) -> AsyncGenerator[RemoteEngine]:
    """Run an engine over a backend; close both when the context exits.

    Raises:
        EngineError: No node can run tasks.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix="acp-engine-") as directory,
            ExitStack() as stack,
        ):
            engine = RemoteEngine(backend, config, Path(directory))
            stack.callback(engine.close)
            await engine.wait_for_workers()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(engine.run)
                yield engine
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(backend.close)
