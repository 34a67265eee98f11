"""Ray engine: attempts run on the nodes of a running Ray cluster. Ray must be installed.

Each node has one actor, in which its attempts run. The actor dies with this driver.
"""

import importlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from threading import Lock, Thread
from typing import Protocol, cast

from anyio import to_thread
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.fleet.engines import remote_node
from acp_server.fleet.engines.remote import (
    NodeLostError,
    RemoteEngine,
    check_address,
    run_remote_engine,
)
from acp_server.fleet.engines.seam import EngineConfig, EngineError

CALL_SECONDS = 60
MAX_CALLS = 256
"""Calls that an actor runs at the same time: leases and cancels must not wait for attempts."""
Json = dict[str, JsonValue]


class _RemoteMethod(Protocol):
    def remote(self, *arguments: object) -> object: ...


class _ActorHandle(Protocol):
    call: _RemoteMethod


class _ActorClass(Protocol):
    def remote(self) -> _ActorHandle: ...


class RayModule(Protocol):
    """The part of Ray that is used; its own types are incomplete."""

    def init(self, **options: object) -> object:
        """Join a cluster."""
        ...

    def nodes(self) -> Sequence[Mapping[str, object]]:
        """Return the nodes of the cluster."""
        ...

    def get(self, reference: object, timeout: float | None = None) -> object:
        """Wait for a result."""
        ...

    def kill(self, actor: object) -> None:
        """End an actor."""
        ...

    def remote(self, **options: object) -> Callable[[type], _ActorClass]:
        """Return a decorator for actors."""
        ...

    def shutdown(self) -> None:
        """Leave the cluster."""
        ...


class NodeActor:
    """Actor of a node: calls the functions of `remote_node`."""

    def call(self, name: str, arguments: Sequence[object]) -> object:
        """Call a function by its name."""
        function = cast("Callable[..., object]", getattr(remote_node, name))
        return function(*arguments)


class RayBackend:
    """Calls nodes through actors."""

    def __init__(self, ray: RayModule) -> None:
        self._ray = ray
        self._actors: dict[str, _ActorHandle] = {}
        self._restarts: dict[str, int] = {}
        self._lock = Lock()
        errors = importlib.import_module("ray.exceptions")
        self._errors = cast("tuple[type[Exception], ...]", (errors.RayError, ConnectionError))

    def workers(self) -> Mapping[str, int]:
        """Return the processors of each node, by its id and how often its actor was lost."""
        try:
            nodes = self._ray.nodes()
        except self._errors as error:
            raise EngineError(f"the Ray cluster does not answer: {error}") from error
        found: dict[str, int] = {}
        for node in nodes:
            resources = cast("Mapping[str, float]", node["Resources"])
            if node["Alive"] and resources.get("CPU"):
                name = str(node["NodeID"])
                found[f"{name}.{self._restarts.get(name, 0)}"] = int(resources["CPU"])
        return found

    def call(self, worker: str, function: Callable[..., object], *arguments: object) -> object:
        """Call a function in the actor of one node."""
        try:
            reference = self._call(worker, function.__name__, arguments)
            return self._ray.get(reference, timeout=CALL_SECONDS)
        except self._errors as error:
            self._drop(worker)
            raise NodeLostError(f"{type(error).__name__}: {error}") from error

    def start(
        self,
        worker: str,
        handle: str,
        arguments: Sequence[object],
        done: Callable[[Json | None], None],
    ) -> None:
        """Start an attempt in the actor of one node; a thread waits for it."""
        reference = self._call(worker, remote_node.run_attempt.__name__, arguments)

        def wait() -> None:
            try:
                answer = cast("Json | None", self._ray.get(reference))
            except self._errors:
                self._drop(worker)
                answer = None
            done(answer)

        Thread(target=wait, name=handle, daemon=True).start()

    def forget(self, handle: str) -> None:
        """Do nothing: actors are not restarted, and so are their calls."""
        del handle

    def close(self) -> None:
        """End the actors and leave the cluster."""
        for actor in self._actors.values():
            with suppress(*self._errors):
                self._ray.kill(actor)
        self._ray.shutdown()

    def _call(self, worker: str, name: str, arguments: Sequence[object]) -> object:
        with self._lock:
            node, _, restarts = worker.partition(".")
            if int(restarts) != self._restarts.get(node, 0):
                raise NodeLostError("its actor has ended")
            if worker not in self._actors:
                self._actors[worker] = self._make_actor(node)
            method = self._actors[worker].call
        return method.remote(name, arguments)

    def _make_actor(self, node: str) -> _ActorHandle:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        make = self._ray.remote(
            num_cpus=0,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=MAX_CALLS,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=False),
        )(NodeActor)
        return make.remote()

    def _drop(self, worker: str) -> None:
        """Give the node a new name, under which it is checked again with another actor."""
        with self._lock:
            if self._actors.pop(worker, None) is not None:
                node = worker.partition(".")[0]
                self._restarts[node] = self._restarts.get(node, 0) + 1


@asynccontextmanager
async def open_ray_engine(config: EngineConfig) -> AsyncGenerator[RemoteEngine]:
    """Join a running Ray cluster.

    Raises:
        EngineError: There is no cluster, it is not safe to use, or no node can run tasks.
    """
    if not config.address or config.address in {"auto", "local"}:
        raise EngineError("--engine ray needs --engine-address, such as 127.0.0.1:6379")
    variables = settings.child_environment({})
    is_authenticated = variables.get("RAY_AUTH_MODE") == "token"
    check_address(config.address, config, is_authenticated=is_authenticated)
    backend = RayBackend(await to_thread.run_sync(_join, config.address))
    async with run_remote_engine(backend, config) as engine:
        yield engine


def _join(address: str) -> RayModule:
    try:
        ray = cast("RayModule", importlib.import_module("ray"))
    except ImportError as error:
        raise EngineError("Ray is not installed here: pip install ray") from error
    try:
        # An address makes Ray join a cluster; without one it would start its own.
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise EngineError(f"there is no Ray cluster at {address}: {error}") from error
    return ray
