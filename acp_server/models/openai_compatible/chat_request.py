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
    MediaSupport,
    arguments_json,
    media_intro,
    result_text,
)
from acp_server.models.reasoning_signature import ReasoningSignature
from acp_server.turn.conversation import (
    AssistantMessage,
    Media,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
    part_to_text,
)
from acp_server.turn.ports import ModelRequest, ToolSpec

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
        body["tools"] = [_tool(tool) for tool in request.tools]
        if not writer.allows_parallel_calls and q.NO_PARALLEL_FIELD not in target.rejected:
            body["parallel_tool_calls"] = False
    return body | _effort(request, target) | _limit(target)


def _tool(tool: ToolSpec) -> Block:
    function: Block = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
    }
    return {"type": "function", "function": function}


def _effort(request: ModelRequest, target: RequestTarget) -> Block:
    if q.EFFORT_NONE in target.rejected:
        return {"reasoning_effort": "none"}
    level = closest_thought_level(target.family, request.thought_level)
    if level is None or target.profile.effort == "none" or q.NO_EFFORT in target.rejected:
        return {}
    is_object = target.profile.effort == "object"
    return {"reasoning": {"effort": level}} if is_object else {"reasoning_effort": level}


def _limit(target: RequestTarget) -> Block:
    limit = target.profile.max_output_tokens
    return {} if limit is None or q.NO_LIMIT in target.rejected else {"max_tokens": limit}


class _MessageWriter:
    """Converts messages for one target."""

    def __init__(self, target: RequestTarget) -> None:
        self._target = target
        omitted = target.rejected
        self._media_support = MediaSupport(q.NO_IMAGES not in omitted, q.NO_FILES not in omitted)
        self._requires_reasoning = target.profile.requires_reasoning or q.WITH_REASONING in omitted
        self.allows_parallel_calls = (
            target.profile.allows_parallel_calls and q.ONE_CALL not in omitted
        )

    def messages(self, request: ModelRequest) -> Iterator[Block]:
        """Yield the system message and the conversation."""
        if request.system:
            yield {"role": self._system_role(), "content": request.system}
        messages = list(request.messages)
        for index, message in enumerate(messages):
            match message:
                case AssistantMessage():
                    following = messages[index + 1] if index + 1 < len(messages) else None
                    yield from self._assistant_messages(message, following)
                case UserMessage():
                    yield from self._user_messages(message)

    def _system_role(self) -> str:
        role = self._target.profile.system_role(self._target.model_id)
        return "system" if q.NO_DEVELOPER in self._target.rejected else role

    # User messages and tool results.

    def _user_messages(self, message: UserMessage) -> Iterator[Block]:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if self.allows_parallel_calls:
            yield from map(_tool_message, results)
        media_parts = [part for result in results for part in _media_parts(result)]
        other_parts = [part for part in message.parts if not isinstance(part, ToolResult)]
        content = self._content([*media_parts, *other_parts])
        if content or not results:
            yield {"role": "user", "content": content or EMPTY_TEXT}

    def _content(self, parts: Sequence[UserPart]) -> JsonValue:
        """Return parts as one text, or as a list if they contain media."""
        blocks = [block for part in parts if (block := self._block(part)) is not None]
        if all(block["type"] == "text" for block in blocks):
            return "\n\n".join(str(block["text"]) for block in blocks)
        return [*blocks]

    def _block(self, part: UserPart) -> Block | None:
        if (
            isinstance(part, Media)
            and (picture := self._media_support.to_chat_part(part)) is not None
        ):
            return picture
        text = "" if isinstance(part, ToolResult) else part_to_text(part)
        return {"type": "text", "text": text} if text.strip() else None

    # Assistant messages.

    def _assistant_messages(
        self, message: AssistantMessage, following: Message | None
    ) -> Iterator[Block]:
        if self.allows_parallel_calls:
            yield self._assistant_message(message.parts)
            return
        yield from self._sequential_calls(message, following)

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
        texts = [text for text in part_texts if text.strip()]
        calls = self._tool_calls(parts)
        text = "\n\n".join(texts)
        block: Block = {"role": "assistant", "content": text or (None if calls else EMPTY_TEXT)}
        block |= self._reasoning(parts, has_calls=bool(calls))
        if calls:
            block["tool_calls"] = [*calls]
        return block

    def _tool_calls(self, parts: Sequence[ReplyPart]) -> list[Block]:
        signatures = self._call_signatures(parts)
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

    def _call_signatures(self, parts: Sequence[ReplyPart]) -> dict[str, JsonValue]:
        """Return the signatures that this endpoint attached to its calls, by call id."""
        signatures: dict[str, JsonValue] = {}
        for part in parts:
            content = self._signed_content(part)
            if content and "call_id" in content:
                signatures[str(content["call_id"])] = content.get("extra_content")
        return signatures

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


def _media_parts(result: ToolResult) -> Iterator[UserPart]:
    """Yield the media of a result for a user message: tool messages cannot contain media."""
    if result.media:
        yield Text(media_intro(result))
        yield from result.media
