"""Builds the body of a chat completion request. Deterministic: same request in, same bytes out.

Each message must be serialized identically every time it is sent, so that the endpoint's prompt
cache stays valid. Features that the endpoint has rejected are omitted or replaced
(`endpoint_profile`). Reasoning is sent back only to the model that produced it
(`models/reasoning_signature`).
Source: https://developers.openai.com/api/reference/resources/chat
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import JsonValue

from acp_server.models.cache_markers import Block
from acp_server.models.call_ids import sanitize_call_id
from acp_server.models.families import ModelFamily, closest_thought_level
from acp_server.models.openai_compatible import endpoint_profile as q
from acp_server.models.openai_compatible.chat_cache_markers import add_cache_markers
from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from acp_server.models.openai_compatible.message_parts import (
    EMPTY_TEXT,
    arguments_json,
    configured_limit,
    content_parts,
    result_text,
)
from acp_server.models.reasoning_signature import ReasoningSignature
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.ports import ModelRequest

PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""Placeholder signature of a call by another model, for endpoints that require a signature."""


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The model that a request is built for, and its known restrictions."""

    model_id: str
    family: ModelFamily
    profile: EndpointProfile
    signature: ReasoningSignature
    """The signature of this model, without content."""
    rejected: frozenset[str] = frozenset()


def build_chat_body(request: ModelRequest, target: RequestTarget) -> dict[str, JsonValue]:
    """Return the complete body of the request."""
    writer = _MessageWriter(target)
    messages = [*writer.messages(request)]
    cache_marker = target.profile.cache_marker
    is_marked_model = target.model_id.startswith(target.profile.cache_marked_models)
    if cache_marker is not None and is_marked_model and q.NO_CACHE_MARKERS not in target.rejected:
        messages = add_cache_markers(messages, cache_marker)
    body: dict[str, JsonValue] = {
        "model": target.model_id,
        "messages": [*messages],
        "stream": True,
    }
    if q.NO_USAGE not in target.rejected:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.schema),
                },
            }
            for tool in request.tools
        ]
        if not writer.allows_parallel_calls and q.NO_PARALLEL_FIELD not in target.rejected:
            body["parallel_tool_calls"] = False
    level = closest_thought_level(target.family, request.thought_level)
    if q.EFFORT_NONE in target.rejected:
        body["reasoning_effort"] = "none"
    elif level is not None and q.NO_EFFORT not in target.rejected:
        if target.profile.effort == "object":
            body["reasoning"] = {"effort": level}
        elif target.profile.effort == "field":
            body["reasoning_effort"] = level
    if target.profile.max_output_tokens is not None and q.NO_LIMIT not in target.rejected:
        has_new_name = q.COMPLETION_LIMIT in target.rejected
        name = "max_completion_tokens" if has_new_name else "max_tokens"
        body[name] = configured_limit(request, target.family, target.profile.max_output_tokens)
    return body


class _MessageWriter:
    """Converts messages for one target."""

    def __init__(self, target: RequestTarget) -> None:
        self._target = target
        self._requires_reasoning = (
            target.profile.requires_reasoning or q.WITH_REASONING in target.rejected
        )
        self.allows_parallel_calls = (
            target.profile.allows_parallel_calls and q.ONE_CALL not in target.rejected
        )

    def messages(self, request: ModelRequest) -> Iterator[Block]:
        """Yield the system message and the conversation."""
        if request.system:
            role = self._target.profile.system_role(self._target.model_id)
            role = "system" if q.NO_DEVELOPER in self._target.rejected else role
            yield {"role": role, "content": request.system}
        messages = list(request.messages)
        for index, message in enumerate(messages):
            if isinstance(message, UserMessage):
                yield from self._user_messages(message)
            elif self.allows_parallel_calls:
                yield self._assistant_message(message.parts)
            else:
                following = messages[index + 1] if index + 1 < len(messages) else None
                yield from self._sequential_calls(message, following)

    def _user_messages(self, message: UserMessage) -> Iterator[Block]:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if self.allows_parallel_calls:
            yield from map(_tool_message, results)
        blocks = content_parts(message, self._target.rejected, "chat")
        content: JsonValue = [*blocks]
        if all(block["type"] == "text" for block in blocks):  # a list only if there are media
            content = "\n\n".join(str(block["text"]) for block in blocks)
        if content or not results:
            yield {"role": "user", "content": content or EMPTY_TEXT}

    def _sequential_calls(
        self, message: AssistantMessage, following: Message | None
    ) -> Iterator[Block]:
        """Split a reply into one reply per call, each followed by its result."""
        results = {
            part.call_id: part
            for part in (following.parts if isinstance(following, UserMessage) else ())
            if isinstance(part, ToolResult)
        }
        before: list[ReplyPart] = []
        for part in message.parts:
            before.append(part)
            if isinstance(part, ToolCall):
                yield self._assistant_message(before)
                if part.id in results:
                    yield _tool_message(results[part.id])
                before = []
        if before:
            yield self._assistant_message(before)

    def _assistant_message(self, parts: Sequence[ReplyPart]) -> Block:
        part_texts = (part.text for part in parts if isinstance(part, Text | ProviderBlock))
        text = "\n\n".join(text for text in part_texts if text.strip())
        calls = self._tool_calls(parts)
        block: Block = {"role": "assistant", "content": text or (None if calls else EMPTY_TEXT)}
        block |= self._reasoning(parts, has_calls=bool(calls))
        if calls:
            block["tool_calls"] = [*calls]
        return block

    def _tool_calls(self, parts: Sequence[ReplyPart]) -> list[Block]:
        signatures: dict[str, JsonValue] = {}
        """The signatures that this endpoint attached to its calls, by call id."""
        for part in parts:
            content = self._signed_content(part)
            if content and "call_id" in content:
                signatures[str(content["call_id"])] = content.get("extra_content")
        calls = [part for part in parts if isinstance(part, ToolCall)]
        blocks: list[Block] = []
        for index, call in enumerate(calls):
            block: Block = {
                "id": sanitize_call_id(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_json(call)},
            }
            if call.id in signatures:
                block["extra_content"] = signatures[call.id]
            # Only the first of parallel calls carries a signature. Without any, the endpoint
            # rejects the request.
            elif self._target.profile.signs_calls and index == 0 and not signatures:
                block["extra_content"] = {"google": {"thought_signature": PLACEHOLDER_SIGNATURE}}
            blocks.append(block)
        return blocks

    def _reasoning(self, parts: Sequence[ReplyPart], *, has_calls: bool) -> Block:
        """Return the reasoning fields as the endpoint sent them; other models' are dropped."""
        fields: Block = {}
        if q.NO_REASONING not in self._target.rejected:
            thoughts = [part for part in parts if isinstance(part, Thinking)]
            signed = [(thought, self._signed_content(thought)) for thought in thoughts]
            own_thoughts = [(str(found["field"]), each) for each, found in signed if found]
            for name, group in groupby(own_thoughts, key=lambda pair: pair[0]):
                fields[name] = "".join(each.text for _, each in group)
            for part in parts:
                details = (self._signed_content(part) or {}).get("details")
                if details:
                    fields["reasoning_details"] = details
        if self._requires_reasoning and has_calls:
            fields.setdefault("reasoning_content", "")
        return fields

    def _signed_content(self, part: ReplyPart) -> dict[str, JsonValue] | None:
        match part:
            case Thinking():
                return self._target.signature.content_if_same_model(part.signature)
            case RedactedThinking():
                return self._target.signature.content_if_same_model(part.data)
            case _:
                return None


def _tool_message(result: ToolResult) -> Block:
    call_id = sanitize_call_id(result.call_id)
    return {"role": "tool", "tool_call_id": call_id, "content": result_text(result)}
