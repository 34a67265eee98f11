"""A tool: what the model is told of it, and one use of it, from its first word to its end."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Generic

import anyio
from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.tools.arguments import (
    A,
    ArgumentError,
    Arguments,
    SoFar,
    read_arguments,
    schema_of,
)
from acp_server.tools.report import Report
from acp_server.turn.events import CallKind, Location
from acp_server.turn.ports import Outcome, ToolSpec

LEAST_SECONDS = 0.1
"""How long a title stands at least while the arguments arrive."""


@frozen
class Description:
    """What a call is about: a line for the user, and the places it touches."""

    title: str
    locations: tuple[Location, ...] = field(default=())


class AnyUse(ABC):
    """One use of some tool."""

    @abstractmethod
    async def draft(self, so_far: SoFar) -> None:
        """Show what half the arguments tell; nothing has an effect yet."""

    @abstractmethod
    async def begin(self, values: Mapping[str, JsonValue]) -> Outcome:
        """Do it. A failure that was foreseen is an outcome."""

    def cut_short(self, reason: str) -> Outcome:
        """Return what it led to when it is given up while it runs."""
        return Outcome(reason, is_error=True)


class Use(AnyUse, Generic[A]):
    """One use of a tool whose arguments are an `A`."""

    def __init__(self, arguments: type[A], report: Report) -> None:
        self._arguments = arguments
        self._told_at = float("-inf")
        self.report = report

    async def draft(self, so_far: SoFar) -> None:
        """Sharpen the title and the places, though not with every word."""
        if anyio.current_time() - self._told_at >= LEAST_SECONDS:
            await self._tell(so_far)

    async def _tell(self, so_far: SoFar) -> None:
        description = self.describe(so_far)
        if description is not None:
            self._told_at = anyio.current_time()
            await self.report.describe(description.title, description.locations)

    async def begin(self, values: Mapping[str, JsonValue]) -> Outcome:
        """Read the arguments and do it; what does not fit is shown too."""
        await self.report.accept(values)
        try:
            arguments = read_arguments(self._arguments, values)
        except ArgumentError as error:
            return Outcome(str(error), is_error=True)
        await self._tell(SoFar(arguments.model_dump(), {}))
        return await self.run(arguments)

    @abstractmethod
    def describe(self, so_far: SoFar) -> Description | None:
        """Return what the call is about, from all or half of the arguments; None: unknown yet."""

    @abstractmethod
    async def run(self, arguments: A) -> Outcome:
        """Do it."""


@frozen
class Tool:
    """A tool of a session. Its description stands in every request: keep it short."""

    spec: ToolSpec
    kind: CallKind
    title: str
    """Stands for a call until its arguments tell more."""
    use: Callable[[Report], AnyUse]


def spec_of(
    name: str, description: str, arguments: type[Arguments], *, streams: bool = False
) -> ToolSpec:
    """Return what the model is told of a tool."""
    return ToolSpec(name, description, schema_of(arguments), streams_arguments=streams)
