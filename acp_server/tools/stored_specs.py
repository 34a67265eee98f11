"""The specifications of the tools as a file, so that a first request needs none of their code.

`stored_specs.json` is made from the tools by `tests/tools/stored_specs_file.py`. It is used only
with the sources that it was made from; otherwise the tools are built, which takes longer.
"""

import json
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TypedDict, cast

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import ToolSpec

FILE = Path(__file__).with_name("stored_specs.json")
PACKAGE = Path(__file__).parents[2]
"""The directory that the names of sources are relative to."""
CONFINED_TERMINAL = "terminal, confined"
DELEGATION_WITH_AGENTS = "delegate_task, with agents"
"""Keys of tools in another form; the latter's description ends before the list of agents."""

Schema = Mapping[str, JsonValue]


@frozen_dataclass
class StoredSchemas:
    """The schemas of the arguments of one tool."""

    full: Schema
    model: Schema
    """As the model gets it: without limits."""


@frozen_dataclass
class StoredSpecs:
    """The content of the file."""

    tools: Mapping[str, ToolSpec]
    """By the name of the tool."""
    schemas: Mapping[str, StoredSchemas]
    """By the name of the class of the arguments."""


class StoredTool(TypedDict):
    """A tool in the file."""

    name: str
    description: str
    arguments: str
    streams: bool


class StoredFile(TypedDict):
    """The file."""

    sources: dict[str, str]
    """Digests of the sources that it was made from, by name."""
    schemas: dict[str, list[dict[str, JsonValue]]]
    """By class of arguments: the full schema, and that for the model."""
    tools: dict[str, StoredTool]


def digest_of(source: str) -> str:
    """Return the digest of a source as it is now."""
    # Not `importlib.util.source_hash`, whose result depends on the version of Python.
    return blake2b((PACKAGE / source).read_bytes(), digest_size=8).hexdigest()


@cache
def stored_specs() -> StoredSpecs | None:
    """Return the content of the file; None if it cannot be read or has other sources. Blocks."""
    try:
        file = cast("StoredFile", json.loads(FILE.read_text("utf-8")))
        if any(digest_of(name) != digest for name, digest in file["sources"].items()):
            return None
        schemas = {
            name: StoredSchemas(full, model) for name, (full, model) in file["schemas"].items()
        }
        tools = {
            key: ToolSpec(
                each["name"],
                each["description"],
                schemas[each["arguments"]].model,
                streams_arguments=each["streams"],
                full_schema=schemas[each["arguments"]].full,
            )
            for key, each in file["tools"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return StoredSpecs(tools, schemas)


def class_key(arguments: type) -> str:
    """Return the name under which the schemas of a class are stored."""
    return f"{arguments.__module__}.{arguments.__qualname__}"
