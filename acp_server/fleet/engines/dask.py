"""Dask engine: attempts run on the workers of a running Dask cluster. Needs the extra `[dask]`."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol, cast

import distributed
from anyio import to_thread
from pydantic import JsonValue

from acp_server.fleet.engines import remote_node
from acp_server.fleet.engines.remote import (
    NodeLostError,
    RemoteEngine,
    check_address,
    run_remote_engine,
)
from acp_server.fleet.engines.seam import EngineConfig, EngineError
from acp_server.text.json_values import as_object, as_text

CONNECT_SECONDS = 20
TLS_FILES = ("ca_file", "client_cert", "client_key")
Json = dict[str, JsonValue]


class DaskFuture(Protocol):
    """Task of a Dask cluster."""

    status: str

    def result(self) -> object:
        """Return the result of a finished task."""
        ...

    def add_done_callback(self, callback: "Callable[[DaskFuture], None]") -> None:
        """Call a function in a thread, once the task has ended."""
        ...

    def cancel(self) -> None:
        """Do not run the task any more."""
        ...


class DaskClient(Protocol):
    """The part of Dask's client that is used; the package has no types."""

    status: str

    def nthreads(self) -> Mapping[str, int]:
        """Return the threads of each worker."""
        ...

    def run(
        self, function: Callable[..., object], *arguments: object, workers: Sequence[str]
    ) -> Mapping[str, object]:
        """Call a function on workers, outside of their task threads."""
        ...

    def submit(
        self, function: Callable[..., object], *arguments: object, **options: object
    ) -> DaskFuture:
        """Submit a task."""
        ...

    def close(self, timeout: int) -> None:
        """Disconnect."""
        ...


class DaskBackend:
    """Calls workers through a Dask scheduler."""

    def __init__(self, client: DaskClient) -> None:
        self._client = client
        self._futures: dict[str, DaskFuture] = {}

    def workers(self) -> Mapping[str, int]:
        """Return the threads of each worker, by its address."""
        if self._client.status != "running":
            raise EngineError("the connection to the Dask scheduler was lost")
        try:
            found = self._client.nthreads()
        except (OSError, TimeoutError) as error:
            raise EngineError(f"the Dask scheduler does not answer: {error}") from error
        return dict(found)

    def call(self, worker: str, function: Callable[..., object], *arguments: object) -> object:
        """Call a function on one worker."""
        try:
            answers = self._client.run(function, *arguments, workers=[worker])
        except (OSError, TimeoutError, ImportError, KeyError, RuntimeError) as error:
            raise NodeLostError(f"{type(error).__name__}: {error}") from error
        return answers[worker]

    def start(
        self,
        worker: str,
        handle: str,
        arguments: Sequence[object],
        done: Callable[[Json | None], None],
    ) -> None:
        """Start an attempt on one worker, which Dask must not move to another."""

        def report(future: DaskFuture) -> None:
            answer = future.result() if future.status == "finished" else None
            self._futures.pop(handle, None)
            done(cast("Json | None", answer))

        future = self._client.submit(
            remote_node.run_attempt,
            *arguments,
            key=handle,
            workers=[worker],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )
        self._futures[handle] = future
        future.add_done_callback(report)

    def forget(self, handle: str) -> None:
        """Cancel an attempt whose worker is gone: Dask would wait for a worker of that address."""
        future = self._futures.pop(handle, None)
        if future is not None:
            with suppress(OSError, TimeoutError):
                future.cancel()

    def close(self) -> None:
        """Disconnect from the scheduler."""
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=5)


@asynccontextmanager
async def open_dask_engine(config: EngineConfig) -> AsyncGenerator[RemoteEngine]:
    """Join a running Dask cluster.

    Raises:
        EngineError: There is no cluster, it is not safe to use, or no node can run tasks.
    """
    if not config.address:
        raise EngineError("--engine dask needs --engine-address, such as tcp://127.0.0.1:8786")
    tls = as_object(config.options.get("tls"))
    if (tls or config.address.startswith("tls://")) and not set(TLS_FILES) <= set(tls):
        raise EngineError(
            f"the Dask scheduler at {config.address} uses TLS: name ca_file, client_cert and "
            "client_key in the table [tls] of --engine-options"
        )
    is_authenticated = config.address.startswith("tls://") and bool(tls)
    check_address(config.address, config, is_authenticated=is_authenticated)
    backend = DaskBackend(await to_thread.run_sync(_connect, config.address, tls))
    async with run_remote_engine(backend, config) as engine:
        yield engine


def _connect(address: str, tls: Json) -> DaskClient:
    make_security = cast("Callable[..., object]", distributed.Security)
    connect = cast("Callable[..., DaskClient]", distributed.Client)
    security = None
    if tls:
        files = {f"tls_{name}": as_text(tls[name]) for name in TLS_FILES}
        security = make_security(require_encryption=True, **files)
    try:
        return connect(
            address,
            security=security,
            timeout=CONNECT_SECONDS,
            set_as_default=False,
            name="acp-server",
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise EngineError(f"there is no Dask scheduler at {address}: {error}") from error
