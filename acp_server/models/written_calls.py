"""Finds a tool call that a model wrote as text instead of making it.

Models without good support for tools write calls in the form that they were trained on:

    <tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>
    <tool_call><function=read_file><parameter=path>a.py</parameter></function></tool_call>
    <function_calls><invoke name="read_file"><parameter name="path">a.py</parameter></invoke>...
    a fenced block of JSON, or a bare JSON object that is the whole answer

Only a block at the very end of an answer counts, and only if it parses and names a known tool:
text that explains such a form goes on behind it, quotes it, or names no tool of this session.
"""

import json
from collections.abc import Collection
from typing import cast

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import (
    Model,
    ModelEvent,
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    TextDelta,
    ToolCallStarted,
)

_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_FENCE = "```"
_CALL_TAG, _CALLS_TAG = "tool_call", "function_calls"
_PREFIXES = ("antml:",)
"""Namespaces that some models put before these tags, some of the time."""


@frozen_dataclass
class WrittenCallModel:
    """Model of an endpoint whose models may write calls as text; reports those that do."""

    inner: Model

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Stream one answer; `written_call` in place of a normal end. See `turn.ports.Model`.

        Raises:
            TurnError: The request failed.
        """
        texts: list[str] = []
        has_calls = False

        async def receive_and_note(event: ModelEvent) -> None:
            nonlocal has_calls
            if isinstance(event, TextDelta):
                texts.append(event.text)
            has_calls = has_calls or isinstance(event, ToolCallStarted)
            await receive(event)

        stop = await self.inner.respond(request, receive_and_note)
        if stop not in {"end_turn", "tool_use"} or has_calls:
            return stop
        names = {tool.name for tool in request.tools}
        return stop if find_written_call("".join(texts), names) is None else "written_call"


def find_written_call(answer: str, tool_names: Collection[str]) -> str | None:
    """Return the name of the tool whose call an answer ends with as text; None if there is none."""
    text = answer.strip()
    name = _name_in_json(text)
    if name is None and text.endswith(_FENCE):
        name = _name_in_fence(text)
    elif name is None:
        name = _name_in_tags(text)
    return name if name in tool_names else None


def _name_in_fence(text: str) -> str | None:
    """Return the tool named in the fenced block of JSON that ends a text."""
    before, fence, block = text.removesuffix(_FENCE).rpartition(_FENCE)
    # An odd number of fences before it: the block is the text between two others.
    if not fence or before.count(_FENCE) % 2:
        return None
    language, _, body = block.partition("\n")
    return _name_in_json(body) if language.strip() in {"", "json", "tool_call", "tool"} else None


def _name_in_tags(text: str) -> str | None:
    """Return the tool named in the element that ends a text; its closing tag may be missing."""
    before, tag, body = text.rpartition(f"<{_CALL_TAG}>")
    if tag and not _is_quoted(before):
        body = _without_end(body, f"</{_CALL_TAG}>")
        # `<function=name>...</function>`, or JSON
        return _name_in_json(body) or _attribute(body, "<function=", ">", "</function>")
    for prefix in _PREFIXES:
        text = text.replace(f"<{prefix}", "<").replace(f"</{prefix}", "</")
    before, tag, body = text.rpartition(f"<{_CALLS_TAG}>")
    if tag and not _is_quoted(before):
        body = _without_end(body, f"</{_CALLS_TAG}>")
        return _attribute(body, '<invoke name="', '">', "</invoke>")
    return None


def _without_end(body: str, closing_tag: str) -> str:
    # Some endpoints stop generating at the closing tag and leave it out.
    return body.strip().removesuffix(closing_tag).strip()


def _is_quoted(before: str) -> bool:
    """Whether the text before a tag opens a code span or a fenced block that the tag is part of."""
    return before.count(_FENCE) % 2 == 1 or before.endswith("`")


def _attribute(body: str, opening: str, end: str, closing_tag: str) -> str | None:
    """Return the name in the opening tag of an element that is the whole body."""
    if not body.startswith(opening) or not body.endswith(closing_tag):
        return None
    name, found, _ = body.removeprefix(opening).partition(end)
    return name.strip() if found else None


def _name_in_json(text: str) -> str | None:
    """Return the tool named in a JSON text that is a call, or a list of calls."""
    text = text.strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        value = cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        return None
    call = value[0] if isinstance(value, list) and value else value
    if isinstance(call, dict) and isinstance(call.get("function"), dict):
        call = call["function"]  # as in a request of chat completions
    if not isinstance(call, dict):
        return None
    name = next((call[key] for key in _NAME_KEYS if key in call), None)
    has_arguments = any(isinstance(call.get(key), dict | str) for key in _ARGUMENT_KEYS)
    return name if isinstance(name, str) and has_arguments else None
