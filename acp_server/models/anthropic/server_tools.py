"""The provider's server-side tools (web search) inside an answer.

Their blocks are stored and sent back unchanged, encrypted contents included, because the provider
verifies them. The user sees only titles and addresses of results. Imports no SDK.
Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    UserMessage,
)
from acp_server.turn.ports import ServerToolCalled, ServerToolResult

WEB_SEARCH: Mapping[str, JsonValue] = {
    "type": "web_search_20250305",
    "name": "web_search",
    "max_uses": 8,
}
"""The tool's declaration in a request. The version is part of its type name."""
MAX_SHOWN_CHARACTERS = 300
_USE_TYPE = "server_tool_use"
_RESULT_SUFFIX = "_tool_result"

Wire = Mapping[str, JsonValue]


class ServerToolCalls:
    """Server tool calls of one message while it is streamed."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[dict[str, JsonValue], list[str]]] = {}

    def start(self, index: int, block: Wire) -> ServerToolResult | None:
        """Handle the start of a block; return a result, which arrives in one piece."""
        kind = str(block["type"])
        if kind == _USE_TYPE:
            self._open[index] = (dict(block), [])
        if kind.endswith(_RESULT_SUFFIX):
            content = block.get("content")
            text, is_error = _format_results(content), isinstance(content, dict)
            return ServerToolResult(str(block["tool_use_id"]), text, block, is_error=is_error)
        return None

    def add_input(self, index: int, fragment: str) -> None:
        """Add a fragment of a call's input."""
        if index in self._open:
            self._open[index][1].append(fragment)

    def end(self, index: int) -> ServerToolCalled | None:
        """Return the call that a block's end completes, if any.

        Raises:
            ValueError: The call's input is not JSON.
        """
        if index not in self._open:
            return None
        block, fragments = self._open.pop(index)
        if "".join(fragments):
            block["input"] = cast("JsonValue", json.loads("".join(fragments)))
        tool_input = block.get("input")
        arguments = tool_input if isinstance(tool_input, dict) else {}
        name, query = str(block["name"]), arguments.get("query")
        title = f"Search the web: {query}" if query else f"The provider's {name}"
        return ServerToolCalled(str(block["id"]), name, title, arguments, block)


def drop_unsendable_blocks(messages: Sequence[Message], *, has_tools: bool) -> Sequence[Message]:
    """Return messages without the server tool blocks that the provider would reject.

    A call without a result is dropped, except in the last message, where it asks the provider to
    continue. Without the tools, all calls and results are dropped and cited text becomes plain.
    A message that lost a part also loses its thinking: the provider would see it as modified.
    """
    parts = [part for message in messages for part in message.parts]
    answer_ids = {part.answered_id for part in parts if isinstance(part, ProviderBlock)}
    last = len(messages) - 1
    return [
        message
        if isinstance(message, UserMessage)
        else _drop_from_message(message, None if index == last else answer_ids, has_tools=has_tools)
        for index, message in enumerate(messages)
    ]


def _drop_from_message(
    message: AssistantMessage, answer_ids: Collection[str] | None, *, has_tools: bool
) -> AssistantMessage:
    if not any(isinstance(part, ProviderBlock) for part in message.parts):
        return message
    parts = [_keep_or_replace(part, answer_ids, has_tools=has_tools) for part in message.parts]
    if parts == list(message.parts):
        return message
    without_thinking = (part for part in parts if not isinstance(part, Thinking | RedactedThinking))
    return AssistantMessage(tuple(part for part in without_thinking if part is not None))


def _keep_or_replace(
    part: ReplyPart, answer_ids: Collection[str] | None, *, has_tools: bool
) -> ReplyPart | None:
    if not isinstance(part, ProviderBlock):
        return part
    if not has_tools:
        return Text(part.text) if part.text else None
    is_open = bool(part.called_id) and answer_ids is not None and part.called_id not in answer_ids
    return None if is_open else part


def _format_results(content: JsonValue) -> str:
    """Return the results as a Markdown list, or the error."""
    if isinstance(content, dict):
        return f"the search failed: {content.get('error_code', 'unknown')}"
    items = content if isinstance(content, list) else []
    found = [each for each in items if isinstance(each, dict)]
    lines = [f"- [{_escape(each.get('title'))}]({_escape(each.get('url'))})" for each in found]
    return "\n".join(lines) or "nothing was found"


def _escape(value: JsonValue) -> str:
    text = " ".join(str(value or "").split())[:MAX_SHOWN_CHARACTERS]
    return text.replace("[", "(").replace("]", ")")
