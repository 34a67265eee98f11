"""Base classes of tools: a tool with its schema, and one use of it, from draft to result."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Generic

import anyio
from pydantic import JsonValue

from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import (
    ArgumentError,
    Arguments,
    ArgumentsT,
    PartialArguments,
    json_schema_of,
    model_schema_of,
    validate_arguments,
)
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.errors import RefusedError, ToolError
from acp_server.turn.call_access import CHANGES, CallAccess
from acp_server.turn.events import CallKind, Location
from acp_server.turn.ports import ToolOutcome, ToolSpec

logger = logging.getLogger(__name__)

MIN_TITLE_SECONDS = 0.1
"""Minimum time between two titles while the arguments are streamed."""


@frozen_dataclass
class CallDescription:
    """Title of a tool call for the user, and the files that it touches."""

    title: str
    locations: tuple[Location, ...] = field(default=())


class ToolUse(ABC):
    """One use of a tool, without the type of its arguments."""

    usual_access: CallAccess = CHANGES
    """What calls of this tool may do, unless their arguments say more."""

    @abstractmethod
    async def draft(self, so_far: PartialArguments) -> None:
        """Show partial arguments to the user. Must have no effect: nothing was permitted yet."""

    def access_of_values(self, values: Mapping[str, JsonValue]) -> CallAccess:
        """Return what a call with these arguments may do."""
        del values
        return self.usual_access

    @abstractmethod
    async def run_call(self, values: Mapping[str, JsonValue]) -> ToolOutcome:
        """Run with the complete arguments. Expected failures are returned as outcomes."""

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome of a run that is cancelled. Must not await."""
        return ToolOutcome(reason, is_error=True)


class TypedToolUse(ToolUse, Generic[ArgumentsT]):
    """One use of a tool, with arguments of type `ArgumentsT`."""

    def __init__(self, arguments: type[ArgumentsT], reporter: CallReporter) -> None:
        self._arguments = arguments
        self._described_at = float("-inf")
        self.reporter = reporter

    async def draft(self, so_far: PartialArguments) -> None:
        """Update the title and the locations, at most every `MIN_TITLE_SECONDS`."""
        if anyio.current_time() - self._described_at >= MIN_TITLE_SECONDS:
            await self._show_description(so_far)

    async def _show_description(self, so_far: PartialArguments) -> None:
        description = self.describe(so_far)
        if description is not None:
            self._described_at = anyio.current_time()
            await self.reporter.describe(description.title, description.locations)

    def access_of_values(self, values: Mapping[str, JsonValue]) -> CallAccess:
        """Return what a call may do; a call with invalid arguments keeps its place in the order."""
        try:
            return self.access(validate_arguments(self._arguments, values))
        except ArgumentError:
            return CHANGES

    async def run_call(self, values: Mapping[str, JsonValue]) -> ToolOutcome:
        """Show and validate the arguments, then run; invalid arguments are shown too."""
        await self.reporter.show_arguments(values)
        try:
            arguments = validate_arguments(self._arguments, values)
            await self._show_description(PartialArguments(arguments.model_dump(), {}))
            return await self.run(arguments)
        except (ArgumentError, ToolError) as error:
            return ToolOutcome(str(error), is_error=True)
        except PermissionError as error:
            logger.warning("the system denied something to a tool", exc_info=error)
            return ToolOutcome(_describe_denial(error), is_error=True)

    async def require_permission(self, gate: Gate, question: PermissionQuestion) -> None:
        """Ask for permission; with it, the call is in progress.

        Raises:
            RefusedError: Permission was refused.
        """
        refusal = await gate.authorize(question)
        if refusal is not None:
            raise RefusedError(refusal.reason)
        await self.reporter.mark_in_progress()

    def access(self, arguments: ArgumentsT) -> CallAccess:
        """Return what a call may do, without reading the disk."""
        del arguments
        return self.usual_access

    @abstractmethod
    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the title and locations for partial or complete arguments; None if unknown yet."""

    @abstractmethod
    async def run(self, arguments: ArgumentsT) -> ToolOutcome:
        """Run the tool with valid arguments.

        Raises:
            ToolError: An expected failure, whose reason becomes the outcome.
        """


@frozen_dataclass
class Tool:
    """A tool of a session. Its description is part of every request to the model: keep it short."""

    spec: ToolSpec
    kind: CallKind
    title: str
    """Title of a call until its arguments are known."""
    create_use: Callable[[CallReporter], ToolUse]
    returns_data: bool = False
    """Whether its results hold text of others, which must not instruct the model."""


def build_spec(
    name: str, description: str, arguments: type[Arguments], *, streams: bool = False
) -> ToolSpec:
    """Return the specification of a tool for the model."""
    return ToolSpec(
        name,
        description,
        model_schema_of(arguments),
        streams_arguments=streams,
        full_schema=json_schema_of(arguments),
    )


def _describe_denial(error: PermissionError) -> str:
    place = f" to {error.filename}" if isinstance(error.filename, str) else ""
    return f"the system denies access{place}; ask the user to change that, or use another path"
