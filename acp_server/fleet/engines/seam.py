"""Seam between a fleet's driver and the engine that places its attempts.

Policy (journal, retries, budget, secrets) is the driver's. An engine carries plain data to a node,
has it run by `FleetNode.run`, and brings the report back. Its own retries are off.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from acp_server.fleet.attempts import Attempt, AttemptReport, NodeFacts, Placement


class EngineError(Exception):
    """An engine cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Options of the command line that an engine is opened with."""

    jobs: int = 1
    """Attempts to run at the same time."""
    address: str = ""
    options: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Contents of `--engine-options`."""
    is_insecure_allowed: bool = False
    command: tuple[str, ...] = ()
    """Command that runs one attempt; empty for `acp-server run -`."""
    changes: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Files with uncommitted changes, by digest."""


class FleetEngine(Protocol):
    """Places attempts on nodes."""

    async def submit(self, attempt: Attempt) -> str:
        """Have an attempt run and return its handle; its placement and its report are events.

        Raises:
            EngineError: The engine is gone.
        """
        ...

    def events(self) -> AsyncIterator[Placement | AttemptReport]:
        """Return the reports of attempts, in the order in which they end.

        Where there is a choice of nodes, the placement of an attempt comes before its report.
        """
        ...

    async def cancel(self, handle: str) -> None:
        """End an attempt; its report follows."""
        ...

    async def nodes(self) -> Sequence[NodeFacts]:
        """Return the nodes, each with the reason if no unit may run there."""
        ...


class EngineFactory(Protocol):
    """Opens an engine; entry points of the group `acp_server.engines` are such functions."""

    def __call__(self, config: EngineConfig) -> AbstractAsyncContextManager[FleetEngine]:
        """Open the engine.

        Raises:
            EngineError: It cannot be used.
        """
        ...
