"""Prompts of servers as slash commands: their names and argument parsing."""

import re
import shlex
from collections.abc import Sequence

from anyio import to_thread
from pydantic import JsonValue

from acp_server.mcp.features import McpPrompt, PromptArgument
from acp_server.mcp.ports import InjectionScan, Json, ServerError
from acp_server.mcp.results import prompt_text
from acp_server.mcp.server import Server
from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_NAME_CHARACTERS = 100
_INVALID_CHARACTER = re.compile(r"[^\w.-]", re.ASCII)
_NAMED_ARGUMENT = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)


@frozen_dataclass
class McpPromptCommand:
    """A prompt as a slash command; `name` is without the slash, `hint` shows the arguments."""

    name: str
    description: str
    hint: str | None
    server: Server
    prompt: McpPrompt
    scan: InjectionScan

    async def fetch_text(self, arguments: str) -> str:
        """Fetch the text to send to the model; `arguments` is the text after the command name.

        Raises:
            ServerError: An argument is missing, or the server fails or returns no text.
        """
        parsed = parse_prompt_arguments(arguments, self.prompt.arguments)
        missing = [
            each.name
            for each in self.prompt.arguments
            if each.is_required and each.name not in parsed
        ]
        if missing:
            message = f"`/{self.name}` needs {', '.join(missing)}: `/{self.name} {self.hint}`"
            raise ServerError(message)
        values: dict[str, JsonValue] = dict(parsed)
        parameters: Json = {"name": self.prompt.name, "arguments": values}
        result = await self.server.request("prompts/get", parameters)
        result = self.server.redact.redact_result(result)
        text = await to_thread.run_sync(prompt_text, result, self.server.name, self.scan)
        if not text.strip():
            message = f"the MCP server {self.server.name} has no text for this prompt"
            raise ServerError(message)
        return text


def make_prompt_command(
    server: Server, part: str, prompt: McpPrompt, scan: InjectionScan
) -> McpPromptCommand:
    """Return a prompt as a command; `part` is its server's part of the name."""
    name = f"mcp:{part}:{_INVALID_CHARACTER.sub('_', prompt.name)}"[:MAX_NAME_CHARACTERS]
    description = prompt.description or f"A prompt of the MCP server {server.name}"
    hints = [
        f"<{each.name}>" if each.is_required else f"[{each.name}]" for each in prompt.arguments
    ]
    hint = " ".join(hints) or None
    return McpPromptCommand(name, description, hint, server, prompt, scan)


def parse_prompt_arguments(text: str, declared: Sequence[PromptArgument]) -> dict[str, str]:
    """Parse prompt arguments: `name=value`, or values in order.

    Quotes group words. Surplus words are added to the last argument without a value.
    """
    known = {each.name for each in declared}
    named: dict[str, str] = {}
    positional: list[str] = []
    try:
        words = shlex.split(text)
    except ValueError:  # an unclosed quote is an apostrophe
        words = text.split()
    for word in words:
        found = _NAMED_ARGUMENT.fullmatch(word)
        if found and found[1] in known:
            named[found[1]] = found[2]
        else:
            positional.append(word)
    unset_names = [each.name for each in declared if each.name not in named]
    if unset_names and len(positional) > len(unset_names):
        last = len(unset_names) - 1
        positional[last:] = [" ".join(positional[last:])]
    return named | dict(zip(unset_names, positional, strict=False))
