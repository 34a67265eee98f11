"""Dask clusters for tests: a scheduler and workers as processes, with all listeners on loopback.

A cluster may use TLS, with an authority and a certificate of its own.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import trustme
from pydantic import JsonValue

from tests.support.timeouts import HANG_TIMEOUT_SECONDS

LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
CONFIG = {
    # Dead workers are noticed by their closed connection, and by this if a machine is gone.
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "false",
}


def run_dask(*arguments: str, variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a command of Dask in a session of its own."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}  # noqa: TID251
    return subprocess.Popen(
        (sys.executable, "-m", "dask", *arguments),
        env={**environment, **CONFIG, **variables, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """An authority, and a certificate of it with its key."""

    authority: Path
    certificate: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        """Options of Dask's commands."""
        files = (str(self.authority), str(self.certificate), str(self.key))
        return ("--tls-ca-file", files[0], "--tls-cert", files[1], "--tls-key", files[2])

    @property
    def engine_options(self) -> dict[str, JsonValue]:
        """Options of the engine, as of `--engine-options`."""
        return {
            "ca_file": str(self.authority),
            "client_cert": str(self.certificate),
            "client_key": str(self.key),
        }


def make_tls_files(folder: Path) -> TlsFiles:
    """Make an authority, and a certificate for this machine."""
    folder.mkdir()
    made = TlsFiles(folder / "ca.pem", folder / "machine.pem", folder / "machine.key")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(made.authority))
    made.certificate.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(made.key))
    return made


@dataclass(slots=True)
class DaskCluster:
    """Running scheduler and its nodes, each with one worker."""

    folder: Path
    scheduler: "subprocess.Popen[bytes]"
    variables: Mapping[str, str]
    tls: TlsFiles | None = None
    has_nannies: bool = True
    """Whether the worker of a node is a child of its nanny, which restarts it."""
    started: int = 0
    nodes: "list[subprocess.Popen[bytes]]" = field(default_factory=list["subprocess.Popen[bytes]"])

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return (self.folder / "address").read_text()

    def add_node(self, slots: int = 2) -> None:
        """Start a node; it joins when it is ready."""
        self.started += 1
        home = self.folder / f"home{self.started}"
        home.mkdir()
        tls = self.tls.options if self.tls else ()
        options = (*LOOPBACK, *tls, "--nworkers", "1", "--nthreads", str(slots))
        options += () if self.has_nannies else ("--no-nanny",)
        node = run_dask(
            *("worker", self.address, *options, "--local-directory", str(home)),
            variables={**self.variables, "HERMES_HOME": str(home), "TMPDIR": str(home)},
        )
        self.nodes.append(node)

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes: children of the nannies that run Python."""
        found: list[psutil.Process] = []
        for node in self.nodes:
            with suppress(psutil.NoSuchProcess):
                found += [
                    each
                    for each in psutil.Process(node.pid).children()
                    if any("spawn_main" in word for word in each.cmdline())
                ]
        return found

    def kill_node(self, node: "subprocess.Popen[bytes]") -> None:
        """Kill a nanny and its worker at once, as if the machine was switched off."""
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(node.pid).children()
            node.kill()
            for each in children:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        node.wait()


@contextmanager
def dask_cluster(
    folder: Path, nodes: int, tls: TlsFiles | None = None, /, **variables: str
) -> Generator[DaskCluster]:
    """Run a cluster; at the end no process of it is left."""
    folder.mkdir(exist_ok=True)
    file = folder / "scheduler.json"
    options = (*LOOPBACK, *(("--protocol", "tls", *tls.options) if tls else ()))
    scheduler = run_dask(
        *("scheduler", *options, "--port", "0", "--scheduler-file", str(file)), variables=variables
    )
    cluster = DaskCluster(folder, scheduler, variables, tls)
    with ExitStack() as stack:
        stack.callback(end_processes, cluster)
        (folder / "address").write_text(wait_for_address(scheduler, file))
        for _ in range(nodes):
            cluster.add_node()
        yield cluster


def wait_for_address(scheduler: "subprocess.Popen[bytes]", file: Path) -> str:
    """Return the address of a scheduler, which writes its file once it listens."""
    for _ in range(int(HANG_TIMEOUT_SECONDS * 10)):
        if file.is_file() and file.stat().st_size:
            return str(json.loads(file.read_text())["address"])
        with suppress(subprocess.TimeoutExpired):
            scheduler.wait(0.1)
            break
    raise AssertionError("the scheduler did not start")


def end_processes(cluster: DaskCluster) -> None:
    """End all processes of a cluster."""
    for each in (*cluster.nodes, cluster.scheduler):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(each.pid, signal.SIGTERM)
    for each in (*cluster.nodes, cluster.scheduler):
        with suppress(subprocess.TimeoutExpired):
            each.wait(5)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(each.pid, signal.SIGKILL)
        each.wait()
