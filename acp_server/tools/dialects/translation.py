"""Translates calls: a name and arguments become our tool, our arguments and remarks. Pure."""

from collections.abc import Mapping

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import PartialArguments
from acp_server.tools.dialects.conversions import convert
from acp_server.tools.dialects.names import ToolMeant
from acp_server.tools.dialects.reading import (
    CHANGING,
    ArgumentNames,
    CallReading,
    ToolSchema,
    read_names,
    reject_unknown,
)
from acp_server.tools.dialects.values import fit_values

READ_ACTIONS = frozenset({"list", "poll", "log", "wait"})


@frozen_dataclass
class Translation:
    """A call by our names."""

    values: Mapping[str, JsonValue]
    remarks: tuple[str, ...] = ()
    """What was read as what."""
    ignored: tuple[str, ...] = ()
    """Arguments that were not understood, in backquotes, with the nearest of ours."""


def translate(meant: ToolMeant, schema: ToolSchema, values: Mapping[str, JsonValue]) -> Translation:
    """Return the arguments of a call by our names.

    Raises:
        UnreadableCallError: The call cannot be understood.
    """
    reading = CallReading(schema, meant.alias)
    read_names(reading, values)
    for name, value in meant.implied.items():
        reading.values.setdefault(name, value)
    convert(reading, gives_milliseconds=meant.gives_milliseconds)
    fit_values(reading)
    is_change = schema.tool in CHANGING or (
        schema.tool == "process" and reading.values.get("action") not in READ_ACTIONS
    )
    reject_unknown(reading, changes_something=is_change)
    return Translation(reading.values, tuple(reading.remarks), tuple(reading.ignored))


def describe(remarks: tuple[str, ...], ignored: tuple[str, ...]) -> str:
    """Return what the model is told about how its call was understood; empty if nothing."""
    texts = [f"read {', '.join(remarks)}"] if remarks else []
    texts += [f"ignored {', '.join(ignored)}"] if ignored else []
    return f"[{'; '.join(texts)}]" if texts else ""


def rename_partial(schema: ToolSchema, so_far: PartialArguments) -> PartialArguments:
    """Return streamed arguments by our names, so that a growing diff can be shown."""
    known = schema.properties
    if so_far.complete.keys() | so_far.incomplete.keys() <= known.keys():
        return so_far
    names = ArgumentNames(schema)
    return PartialArguments(
        {names.find(name, value) or name: value for name, value in so_far.complete.items()},
        {names.find(name, value) or name: value for name, value in so_far.incomplete.items()},
    )
