"""What a server offers, read leniently from its lists: a bad entry costs no good one.

Pure. Claims about a tool (`ToolClaims`) are the server's word, and are passed on as no more.
"""

from collections.abc import Iterable
from dataclasses import field

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.mcp.ports import Json
from acp_server.mcp.reading import as_list, as_object, as_text, line_of, shortened
from acp_server.mcp.schemas import SchemaError, repaired

MOST_TOOLS = 256
MOST_NAME_CHARACTERS = 256
MOST_TITLE_CHARACTERS = 100
MOST_DESCRIPTION_CHARACTERS = 2_000
MOST_PROMPTS = 100


@frozen
class ToolClaims:
    """What a server says of a tool of its own; see `permissions.policy` for what that is worth."""

    reads_only: bool = False
    destroys: bool = False


@frozen
class OfferedTool:
    """A tool, by the server's own name for it."""

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
    """A prompt, by the server's own name for it."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


@frozen
class Offers:
    """All that a server offers, and sentences about what was left out."""

    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    left_out: tuple[str, ...] = field(default=())


def read_tools(entries: Iterable[JsonValue]) -> tuple[tuple[OfferedTool, ...], tuple[str, ...]]:
    """Return the tools of a list, each name once, and why others were left out."""
    tools: dict[str, OfferedTool] = {}
    left_out: list[str] = []
    for entry in entries:
        name = as_text(as_object(entry).get("name"))
        if not name or len(name) > MOST_NAME_CHARACTERS or name in tools:
            left_out.append(f"{_brief(name) or 'a tool'}: its name is missing, too long or taken")
        elif len(tools) >= MOST_TOOLS:
            left_out.append(f"{_brief(name)}: there are more than {MOST_TOOLS} tools")
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
        ToolClaims(hints.get("readOnlyHint") is True, hints.get("destructiveHint") is True),
    )


def read_prompts(entries: Iterable[JsonValue]) -> tuple[OfferedPrompt, ...]:
    """Return the prompts of a list, each name once."""
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
