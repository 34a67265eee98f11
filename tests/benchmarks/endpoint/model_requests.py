"""Parser for model requests in any of the four API formats.

A benchmark prompt contains a command, `[bench chunks 2000 in /folder]`. The position of a request
within its turn is derived from the messages after that prompt, so the endpoint needs no state and
answers a repeated request the same way. Knows no answers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, cast

from pydantic import JsonValue

ApiFormat = Literal["messages", "chat", "responses", "gemini"]
Object = Mapping[str, JsonValue]
MessageRole = Literal["user", "model", "tool"]

COMMAND_PATTERN = re.compile(r"\[bench ([\w ]+) in ([^\]]+)\]")
PATHS: Mapping[str, ApiFormat] = {
    "/messages": "messages",
    "/chat/completions": "chat",
    "/responses": "responses",
    ":streamGenerateContent": "gemini",
    ":generateContent": "gemini",
}
CONVERSATION_KEYS: Mapping[ApiFormat, str] = {
    "messages": "messages",
    "chat": "messages",
    "responses": "input",
    "gemini": "contents",
}
"""Field that holds the conversation, by API format."""


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """One parsed request."""

    command: tuple[str, ...]
    """Words of the command; empty if the prompt contains none."""
    folder: str
    step: int
    """Number of answers that the model has already given to this prompt."""
    tools: frozenset[str]
    bytes: int
    asks_for_summary: bool = False
    """Whether it ends with words of the agent's own about a summary."""


def format_command(words: str, folder: object) -> str:
    """Return a prompt with a command for the model."""
    return f"[bench {words} in {folder}]"


def parse_request(form: ApiFormat, body: Object, size: int) -> BenchmarkRequest:
    """Parse a request."""
    messages = list(_transcript(form, body))
    found: re.Match[str] | None = None
    next_index = len(messages)
    for index, (speaker, text) in enumerate(messages):
        commands = list(COMMAND_PATTERN.finditer(text)) if speaker == "user" else []
        if commands:
            found, next_index = commands[-1], index + 1
    turns = [speaker for speaker, _ in groupby(speaker for speaker, _ in messages[next_index:])]
    words = tuple(found[1].split()) if found else ()
    role, last = messages[-1] if messages else ("user", "")
    is_own = role == "user" and not COMMAND_PATTERN.search(last)
    return BenchmarkRequest(
        words,
        found[2] if found else "",
        turns.count("model"),
        tools_of(body),
        size,
        is_own and "summar" in last.lower(),
    )


def _transcript(form: ApiFormat, body: Object) -> Iterator[tuple[MessageRole, str]]:
    """Yield role and text of each message; tool calls have the role `model`."""
    for item in objects(body.get(CONVERSATION_KEYS[form])):
        kind, role = str(item.get("type")), item.get("role")
        if kind.endswith("_output") or role == "tool":
            yield "tool", ""
        elif role == "user":
            content = item.get("content") or item.get("parts")
            is_result = any(
                block.get("type") == "tool_result" or "functionResponse" in block
                for block in objects(content)
            )
            yield ("tool", "") if is_result else ("user", text_of(content))
        elif role in {"assistant", "model"} or kind.endswith("_call"):
            yield "model", ""


def objects(value: JsonValue) -> list[Object]:
    """Return the items of a list that are objects."""
    found = value if isinstance(value, list) else []
    return [cast("Object", each) for each in found if isinstance(each, dict)]


def text_of(content: JsonValue) -> str:
    """Return the text of a message in any of its notations."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in objects(content) if "text" in block)


def tools_of(body: Object) -> frozenset[str]:
    """Return the names of the offered tools."""
    listed = objects(body.get("tools"))
    declared = [each for tool in listed for each in objects(tool.get("functionDeclarations"))]
    return frozenset(str(_tool_declaration(tool).get("name")) for tool in [*listed, *declared])


def _tool_declaration(tool: Object) -> Object:
    function = tool.get("function")
    return function if isinstance(function, dict) else tool
