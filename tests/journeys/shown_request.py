"""A request as the model of a journey reads it, in any of the three API forms."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from pydantic import JsonValue

from tests.support.editor import Object

ApiForm = Literal["messages", "chat", "responses"]


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part of a prompt: a block of text, a call, or a call's result."""

    role: Literal["user", "assistant", "result"]
    text: str
    """Empty for what is neither text nor a result."""
    call_id: str = ""
    """Id of the call that this is the result of."""


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """What a model is shown: the conversation, and what is new since its last answer."""

    model: str
    parts: tuple[PromptPart, ...]

    @property
    def news(self) -> tuple[PromptPart, ...]:
        """The parts after the model's last answer: results, or a prompt with its remarks."""
        ends = (i for i in reversed(range(len(self.parts))) if self.parts[i].role == "assistant")
        return self.parts[next(ends, -1) + 1 :]

    @property
    def results(self) -> list[str]:
        """The results of the last calls, in their order."""
        return [part.text for part in self.news if part.role == "result"]

    @property
    def text(self) -> str:
        """All new text."""
        return "\n".join(part.text for part in self.news)

    def find(self, pattern: str) -> re.Match[str]:
        """Return the first match in the new text; a model that does not find it is at a loss."""
        found = re.search(pattern, self.text, re.MULTILINE)
        assert found, f"the model looked for {pattern!r} in:\n{self.text}"
        return found


def read_request(form: str, body: Object) -> ShownRequest:
    """Read the body of a request."""
    read = {"messages": _messages_parts, "chat": _chat_parts, "responses": _responses_parts}[form]
    return ShownRequest(str(body["model"]), tuple(read(body)))


def prefix_parts(form: str, body: Object) -> list[str]:
    """Return a request as the sequence of parts that a prompt cache compares, without markers."""
    if form == "responses":
        items = [
            _objects(body, "tools"),
            [{"is": body.get("instructions")}],
            _objects(body, "input"),
        ]
    elif form == "chat":
        items = [_objects(body, "tools"), _flat_messages(body)]
    else:
        items = [_objects(body, "tools"), _objects(body, "system"), _flat_messages(body)]
    return [json.dumps(_unmarked(part), ensure_ascii=False) for group in items for part in group]


def continues(before: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether a request begins with the parts of the one before.

    The last part may have grown: chat completions join the texts of a prompt into one.
    """
    if not before:
        return True
    last = len(before) - 1
    if list(parts[:last]) != list(before[:last]) or len(parts) <= last:
        return False
    return parts[last].startswith(before[last].rstrip('"}'))


def _messages_parts(body: Object) -> Iterator[PromptPart]:
    for message in _objects(body, "messages"):
        for block in _objects(message, "content"):
            if block["type"] == "tool_result":
                yield PromptPart(
                    "result", _text_of(block.get("content")), str(block["tool_use_id"])
                )
            else:
                role = "user" if message["role"] == "user" else "assistant"
                yield PromptPart(role, str(block.get("text", "")))


def _chat_parts(body: Object) -> Iterator[PromptPart]:
    for message in _objects(body, "messages"):
        match message["role"]:
            case "tool":
                content = _text_of(message["content"])
                yield PromptPart("result", content, str(message["tool_call_id"]))
            case "user":
                for part in _objects(message, "content"):
                    yield PromptPart("user", str(part.get("text", "")))
            case "assistant":
                yield PromptPart("assistant", _text_of(message["content"]))
            case _:  # the system prompt
                pass


def _responses_parts(body: Object) -> Iterator[PromptPart]:
    for item in _objects(body, "input"):
        if item["type"] == "function_call_output":
            yield PromptPart("result", str(item["output"]), str(item["call_id"]))
        elif item["type"] == "message" and item["role"] == "user":
            for part in _objects(item, "content"):
                yield PromptPart("user", str(part.get("text", "")))
        else:
            yield PromptPart("assistant", _text_of(item.get("content")))


def _objects(value: Mapping[str, JsonValue], name: str) -> Sequence[Object]:
    """Return the objects of a list; a plain string is one text."""
    listed = value.get(name) or []
    return (
        [{"type": "text", "text": listed}]
        if isinstance(listed, str)
        else cast("list[Object]", listed)
    )


def _text_of(content: JsonValue) -> str:
    return "\n".join(
        str(part.get("text", "")) for part in _objects({"content": content}, "content")
    )


def _flat_messages(body: Object) -> list[Object]:
    """Return the messages' blocks one by one, since a message may grow by a block."""
    return [
        {**{name: value for name, value in message.items() if name != "content"}, "content": block}
        for message in _objects(body, "messages")
        for block in _objects(message, "content") or [{}]
    ]


def _unmarked(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
        case list():
            return [_unmarked(each) for each in value]
        case _:
            return value
