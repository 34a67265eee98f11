"""Base classes of tools: a tool with its schema, and one use of it, from draft to result."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Generic

import anyio
from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.arguments import (
    A,
    ArgumentError,
    Arguments,
    SoFar,
    read_arguments,
    schema_of,
)
from acp_server.tools.call_reporter import Report
from acp_server.turn.events import CallKind, Location
from acp_server.turn.ports import Outcome, ToolSpec

LEAST_SECONDS = 0.1
"""Minimum time between two titles while the arguments are streamed."""


@frozen
class Description:
    """Title of a tool call for the user, and the files that it touches."""

    title: str
    locations: tuple[Location, ...] = field(default=())


class AnyUse(ABC):
    """One use of a tool, without the type of its arguments."""

    @abstractmethod
    async def draft(self, so_far: SoFar) -> None:
        """Show partial arguments to the user. Must have no effect: nothing was permitted yet."""

    @abstractmethod
    async def begin(self, values: Mapping[str, JsonValue]) -> Outcome:
        """Run with the complete arguments. Expected failures are returned as outcomes."""

    def cut_short(self, reason: str) -> Outcome:
        """Return the outcome of a run that is cancelled. Must not await."""
        return Outcome(reason, is_error=True)


class Use(AnyUse, Generic[A]):
    """One use of a tool, with arguments of type `A`."""

    def __init__(self, arguments: type[A], report: Report) -> None:
        self._arguments = arguments
        self._told_at = float("-inf")
        self.report = report

    async def draft(self, so_far: SoFar) -> None:
        """Update the title and the locations, at most every `MIN_TITLE_SECONDS`."""
        if anyio.current_time() - self._told_at >= LEAST_SECONDS:
            await self._tell(so_far)

    async def _tell(self, so_far: SoFar) -> None:
        description = self.describe(so_far)
        if description is not None:
            self._told_at = anyio.current_time()
            await self.report.describe(description.title, description.locations)

    async def begin(self, values: Mapping[str, JsonValue]) -> Outcome:
        """Show and validate the arguments, then run; invalid arguments are shown too."""
        await self.report.accept(values)
        try:
            arguments = read_arguments(self._arguments, values)
        except ArgumentError as error:
            return Outcome(str(error), is_error=True)
        await self._tell(SoFar(arguments.model_dump(), {}))
        return await self.run(arguments)

    @abstractmethod
    def describe(self, so_far: SoFar) -> Description | None:
        """Return the title and locations for partial or complete arguments; None if unknown yet."""

    @abstractmethod
    async def run(self, arguments: A) -> Outcome:
        """Run the tool with valid arguments."""


@frozen
class Tool:
    """A tool of a session. Its description is part of every request to the model: keep it short."""

    spec: ToolSpec
    kind: CallKind
    title: str
    """Title of a call until its arguments are known."""
    use: Callable[[Report], AnyUse]


def spec_of(
    name: str, description: str, arguments: type[Arguments], *, streams: bool = False
) -> ToolSpec:
    """Return the specification of a tool for the model."""
    return ToolSpec(name, description, schema_of(arguments), streams_arguments=streams)
