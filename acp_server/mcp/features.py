"""Features of a server (tools, prompts), parsed leniently: a bad entry does not affect the others.

Pure. Tool annotations (`ToolAnnotations`) are unverified claims of the server.
"""

from collections.abc import Iterable
from dataclasses import field

from pydantic import JsonValue

from acp_server.mcp.json_values import as_list, as_object, as_text, line_of, shortened
from acp_server.mcp.ports import Json
from acp_server.mcp.schema_repair import SchemaError, repaired
from acp_server.startup.fast_dataclass import frozen

MOST_TOOLS = 256
MOST_NAME_CHARACTERS = 256
MOST_TITLE_CHARACTERS = 100
MOST_DESCRIPTION_CHARACTERS = 2_000
MOST_PROMPTS = 100


@frozen
class ToolClaims:
    """A server's unverified hints about its tool; `permissions.policy` decides their weight."""

    reads_only: bool = False
    destroys: bool = False


@frozen
class OfferedTool:
    """A tool under the server's own name."""

    name: str
    title: str
    description: str
    schema: Json
    claims: ToolClaims = ToolClaims()


@frozen
class PromptArgument:
    """An argument of a prompt."""

    name: str
    description: str = ""
    is_required: bool = False


@frozen
class OfferedPrompt:
    """A prompt under the server's own name."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


@frozen
class Offers:
    """The tools and prompts of a server, and messages about skipped entries."""

    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    left_out: tuple[str, ...] = field(default=())


def read_tools(entries: Iterable[JsonValue]) -> tuple[tuple[OfferedTool, ...], tuple[str, ...]]:
    """Parse a tool list; return the tools, unique by name, and messages about skipped entries."""
    tools: dict[str, OfferedTool] = {}
    left_out: list[str] = []
    for entry in entries:
        name = as_text(as_object(entry).get("name"))
        if not name or len(name) > MOST_NAME_CHARACTERS or name in tools:
            left_out.append(
                f"{_brief(name) or 'a tool'}: its name is missing, too long or already used"
            )
        elif len(tools) >= MOST_TOOLS:
            left_out.append(f"{_brief(name)}: the server has more than {MOST_TOOLS} tools")
        else:
            try:
                tools[name] = _tool(name, as_object(entry))
            except SchemaError as error:
                left_out.append(f"{_brief(name)}: {error}")
    return tuple(tools.values()), tuple(left_out)


def _tool(name: str, entry: Json) -> OfferedTool:
    hints = as_object(entry.get("annotations"))
    title = as_text(entry.get("title")) or as_text(hints.get("title")) or name
    return OfferedTool(
        name,
        line_of(title, MOST_TITLE_CHARACTERS),
        shortened(as_text(entry.get("description")).strip(), MOST_DESCRIPTION_CHARACTERS),
        repaired(entry.get("inputSchema")),
        # `is True`: any other value, such as "false", must not count as a claim.
        ToolClaims(hints.get("readOnlyHint") is True, hints.get("destructiveHint") is True),
    )


def read_prompts(entries: Iterable[JsonValue]) -> tuple[OfferedPrompt, ...]:
    """Parse a prompt list; return the prompts, unique by name. Invalid entries are skipped."""
    prompts: dict[str, OfferedPrompt] = {}
    for entry in map(as_object, entries):
        name = as_text(entry.get("name"))
        if name and len(name) <= MOST_NAME_CHARACTERS and len(prompts) < MOST_PROMPTS:
            description = as_text(entry.get("description")) or as_text(entry.get("title"))
            arguments = tuple(_arguments(entry.get("arguments")))
            line = line_of(description, MOST_DESCRIPTION_CHARACTERS)
            prompts.setdefault(name, OfferedPrompt(name, line, arguments))
    return tuple(prompts.values())


def _arguments(value: JsonValue) -> Iterable[PromptArgument]:
    for entry in map(as_object, as_list(value)):
        name = as_text(entry.get("name"))
        if name:
            description = line_of(as_text(entry.get("description")), MOST_DESCRIPTION_CHARACTERS)
            yield PromptArgument(name, description, entry.get("required") is True)


def _brief(name: str) -> str:
    return line_of(name, MOST_TITLE_CHARACTERS)
