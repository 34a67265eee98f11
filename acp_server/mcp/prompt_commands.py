"""Prompts of servers as slash commands: their names and argument parsing."""

import re
import shlex
from collections.abc import Sequence

from anyio import to_thread
from pydantic import JsonValue

from acp_server.mcp.features import OfferedPrompt, PromptArgument
from acp_server.mcp.ports import Json, ServerError
from acp_server.mcp.results import Suspect, prompt_text
from acp_server.mcp.server import Server
from acp_server.startup.fast_dataclass import frozen

MOST_NAME_CHARACTERS = 100
_OTHERS = re.compile(r"[^\w.-]", re.ASCII)
_NAMED = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)


@frozen
class ServerPrompt:
    """A prompt as a slash command; `name` is without the slash, `hint` shows the arguments."""

    name: str
    description: str
    hint: str | None
    server: Server
    offered: OfferedPrompt
    suspect: Suspect

    async def text(self, arguments: str) -> str:
        """Fetch the text to send to the model; `arguments` is the text after the command name.

        Raises:
            ServerError: An argument is missing, or the server fails or returns no text.
        """
        given = read_arguments(arguments, self.offered.arguments)
        missing = [
            each.name
            for each in self.offered.arguments
            if each.is_required and each.name not in given
        ]
        if missing:
            message = f"`/{self.name}` needs {', '.join(missing)}: `/{self.name} {self.hint}`"
            raise ServerError(message)
        values: dict[str, JsonValue] = dict(given)
        parameters: Json = {"name": self.offered.name, "arguments": values}
        result = await self.server.request("prompts/get", parameters)
        result = self.server.redacted.result(result)
        text = await to_thread.run_sync(prompt_text, result, self.server.name, self.suspect)
        if not text.strip():
            message = f"the MCP server {self.server.name} has no text for this prompt"
            raise ServerError(message)
        return text


def server_prompt(
    server: Server, part: str, offered: OfferedPrompt, suspect: Suspect
) -> ServerPrompt:
    """Return a prompt as a command; `part` is its server's part of the name."""
    name = f"mcp:{part}:{_OTHERS.sub('_', offered.name)}"[:MOST_NAME_CHARACTERS]
    description = offered.description or f"A prompt of the MCP server {server.name}"
    hint = " ".join(_hint(each) for each in offered.arguments) or None
    return ServerPrompt(name, description, hint, server, offered, suspect)


def _hint(argument: PromptArgument) -> str:
    return f"<{argument.name}>" if argument.is_required else f"[{argument.name}]"


def read_arguments(text: str, wanted: Sequence[PromptArgument]) -> dict[str, str]:
    """Parse prompt arguments: `name=value`, or values in order.

    Quotes group words. Surplus words are added to the last argument without a value.
    """
    known = {each.name for each in wanted}
    given: dict[str, str] = {}
    rest: list[str] = []
    for word in _words(text):
        found = _NAMED.fullmatch(word)
        if found and found[1] in known:
            given[found[1]] = found[2]
        else:
            rest.append(word)
    open_names = [each.name for each in wanted if each.name not in given]
    if open_names and len(rest) > len(open_names):
        last = len(open_names) - 1
        rest[last:] = [" ".join(rest[last:])]
    return given | dict(zip(open_names, rest, strict=False))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an unclosed quote is an apostrophe
        return text.split()
