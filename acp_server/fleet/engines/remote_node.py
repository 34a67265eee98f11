"""Functions that engines call on workers. Each worker process has one node.

A driver renews its lease every few seconds. If it dies, its attempts end with the lease: a worker
that outlives its driver must not go on spending money.
"""

import os
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock, Thread

from pydantic import JsonValue

from acp_server.config import settings
from acp_server.fleet.attempts import Attempt, AttemptReport, attempt_from_json
from acp_server.fleet.clones import CloneCache
from acp_server.fleet.git import FleetGit
from acp_server.fleet.node import FleetNode, UnitSource, machine_memory
from acp_server.fleet.task_file import is_url
from acp_server.fleet.unit import Unit
from acp_server.text.json_values import as_text

LEASE_SECONDS = 20.0
CHECK_SECONDS = 1.0
Json = dict[str, JsonValue]


class RemoteNode:
    """Node of a worker process, with the repositories that drivers have sent."""

    def __init__(self, command: Sequence[str]) -> None:
        environment = settings.child_environment({})
        self._cache = settings.hermes_home(environment) / "acp" / "fleet" / "clones"
        self.node = FleetNode(self._find_source, command)
        self._clones = CloneCache(self._cache, FleetGit(environment, self.node.guard))
        self._leases: dict[str, float] = {}
        self._attempts: dict[str, str] = {}
        """Fleet of each running attempt."""
        self._lock = Lock()
        Thread(target=self._watch_leases, name="acp-fleet-leases", daemon=True).start()

    def run(self, fleet: str, value: Json) -> Json:
        """Run an attempt of a fleet and return its report."""
        attempt: Attempt = attempt_from_json(value)
        with self._lock:
            self._leases.setdefault(fleet, time.monotonic())
            self._attempts[attempt.handle] = fleet
        try:
            return self.node.run(attempt).as_json()
        finally:
            with self._lock:
                self._attempts.pop(attempt.handle, None)

    def renew(self, fleet: str) -> None:
        """Note that the driver of a fleet is alive."""
        with self._lock:
            self._leases[fleet] = time.monotonic()

    def store(self, name: str, data: bytes, *, is_first: bool) -> None:
        """Store a part of a bundle or diff in the cache."""
        self._cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._path(name).open("wb" if is_first else "ab") as file:
            file.write(data)

    def has(self, name: str, size: int) -> bool:
        """Return whether a file is in the cache completely."""
        path = self._path(name)
        return path.is_file() and path.stat().st_size == size

    def _path(self, name: str) -> Path:
        return self._cache / Path(name).name

    def _find_source(self, unit: Unit) -> UnitSource:
        source = unit.workspace
        if is_url(source.repository):
            repository = self._clones.clone_of_url(source.repository, source.commit)
        else:
            bundle = self._path(bundle_name(source.commit))
            repository = self._clones.clone_of_bundle(source.commit, bundle)
        changes = b""
        if source.changes:
            changes = self._path(changes_name(source.changes)).read_bytes()
        return UnitSource(repository, changes)

    def _watch_leases(self) -> None:
        while True:
            time.sleep(CHECK_SECONDS)
            oldest = time.monotonic() - LEASE_SECONDS
            with self._lock:
                dead = {fleet for fleet, renewed in self._leases.items() if renewed < oldest}
                ended = [handle for handle, fleet in self._attempts.items() if fleet in dead]
                for fleet in dead:
                    del self._leases[fleet]
            for handle in ended:
                self.node.cancel(handle)


def bundle_name(commit: str) -> str:
    """Return the name of a commit's bundle in a node's cache."""
    return f"{commit}.bundle"


def changes_name(digest: str) -> str:
    """Return the name of uncommitted changes in a node's cache."""
    return f"{digest}.diff"


@cache
def this_node(command: tuple[str, ...]) -> RemoteNode:
    """Return the node of this process."""
    return RemoteNode(command)


def run_attempt(command: tuple[str, ...], fleet: str, process: int, value: Json) -> Json:
    """Run an attempt on this worker.

    An engine may call again after the death of the process that the attempt was for: that attempt
    is lost, and the driver decides about another one.
    """
    if os.getpid() != process:
        return AttemptReport(as_text(value.get("handle")), is_lost=True).as_json()
    return this_node(command).run(fleet, value)


def cancel_attempt(command: tuple[str, ...], handle: str) -> None:
    """End an attempt on this worker."""
    this_node(command).node.cancel(handle)


def renew_lease(command: tuple[str, ...], fleet: str) -> None:
    """Tell this worker that a fleet's driver is alive."""
    this_node(command).renew(fleet)


def store_part(command: tuple[str, ...], name: str, data: bytes, is_first: bool) -> None:  # noqa: FBT001  travels by position
    """Store a part of a file in this worker's cache."""
    this_node(command).store(name, data, is_first=is_first)


def has_file(command: tuple[str, ...], name: str, size: int) -> bool:
    """Return whether this worker's cache has a file."""
    return this_node(command).has(name, size)


def node_facts(command: tuple[str, ...], slots: int) -> Json:
    """Return the facts of this worker's node as JSON."""
    facts = this_node(command).node.facts(slots)
    return {
        "name": facts.name,
        "server": facts.server,
        "git": facts.git,
        "free_bytes": facts.free_bytes,
        "slots": facts.slots,
        "problem": facts.problem,
        "process": os.getpid(),
        "memory": machine_memory(),
    }
