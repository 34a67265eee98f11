"""Builds content blocks, with ids, signatures and stream deltas, from a scripted reply.

Without fine-grained streaming the API withholds each argument of a call until its value is
complete: one delta per key, after the time that its value took. With it, fragments are sent as
they are generated.

https://platform.claude.com/docs/en/build-with-claude/streaming
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from pydantic import JsonValue, TypeAdapter

from tests.support.messages_api.endpoint import EAGER_BETA
from tests.support.messages_api.parsed_request import Object, ParsedRequest
from tests.support.messages_api.prefix import block_part
from tests.support.messages_api.rules.web_search import encrypted_content
from tests.support.messages_api.script import (
    CallTool,
    Cite,
    ReplyBlock,
    Say,
    ScriptedReply,
    SearchCall,
    SearchResult,
    Think,
    ThinkRedacted,
)
from tests.support.messages_api.shapes import AnyThinking, Block, CustomTool
from tests.support.messages_api.signatures import BlockPosition, ThinkingSigner, block_name

BYTES_PER_TOKEN = 4
REDACTED_TOKENS = 64

_BLOCK: TypeAdapter[Block] = TypeAdapter(Block)


@dataclass(frozen=True, slots=True)
class StreamDelta:
    """Delta, and the number of chunk pauses before it."""

    data: Object
    chunks: int = 1


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """Content block: its start event, deltas and complete form."""

    start: Object
    deltas: tuple[StreamDelta, ...]
    complete: Object
    tokens: int

    @property
    def block(self) -> Block:
        """The complete block as a request may contain it: never a call without an id."""
        named = {"id": "toolu_unnamed"} if self.complete.get("id") == "" else {}
        return _BLOCK.validate_python({**self.complete, **named})


class IdSequence:
    """Sequence of ids that is the same in every run."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def next(self, prefix: str) -> str:
        """Return a new id with this prefix."""
        return f"{prefix}_01test{next(self._numbers):018}"


class ContentBlockBuilder:
    """Builder of content blocks, which assigns ids and signatures."""

    def __init__(self, signer: ThinkingSigner, identifiers: IdSequence) -> None:
        self._signer = signer
        self._identifiers = identifiers

    def compose(
        self, ask: ParsedRequest, reply: ScriptedReply, position: BlockPosition
    ) -> list[ContentBlock]:
        """Return the blocks of a reply; each thinking block is bound to the context before it."""
        composed: list[ContentBlock] = []
        for spoken in reply.blocks:
            if isinstance(spoken, Think | ThinkRedacted) and not _is_thinking_shown(ask):
                continue
            block = self._compose(ask, reply, spoken, position)
            position = _position_after(position, block.block, len(composed))
            composed.append(block)
        return composed

    def _compose(
        self, ask: ParsedRequest, reply: ScriptedReply, spoken: ReplyBlock, position: BlockPosition
    ) -> ContentBlock:
        match spoken:
            case Say():
                return _compose_text(spoken.text, reply.chunk_characters)
            case Think():
                return self._compose_thinking(ask, reply, spoken, position)
            case ThinkRedacted():
                data = self._signer.sign(ask.model_spec.id, position, "")
                redacted: Object = {"type": "redacted_thinking", "data": data}
                return ContentBlock(redacted, (), redacted, REDACTED_TOKENS)
            case CallTool():
                return self._compose_call(ask, reply, spoken)
            case SearchCall() | SearchResult() | Cite():
                return _compose_search(spoken, reply.chunk_characters)

    def _compose_thinking(
        self, ask: ParsedRequest, reply: ScriptedReply, spoken: Think, position: BlockPosition
    ) -> ContentBlock:
        shown = "" if ask.display == "omitted" else spoken.text
        signature = self._signer.sign(ask.model_spec.id, position, shown)
        carried = [
            StreamDelta({"type": "thinking_delta", "thinking": part})
            for part in _chunks(shown, reply.chunk_characters)
        ]
        unseen = 0 if shown else len(list(_chunks(spoken.text, reply.chunk_characters)))
        signed = StreamDelta({"type": "signature_delta", "signature": signature}, unseen)
        return ContentBlock(
            {"type": "thinking", "thinking": "", "signature": ""},
            (*carried, signed),
            {"type": "thinking", "thinking": shown, "signature": signature},
            _estimate_tokens(spoken.text),
        )

    def _compose_call(
        self, ask: ParsedRequest, reply: ScriptedReply, spoken: CallTool
    ) -> ContentBlock:
        head: Object = {
            "type": "tool_use",
            "id": self._identifiers.next("toolu") if spoken.id is None else spoken.id,
            "name": spoken.name,
            "caller": {"type": "direct"},
        }
        if _streams_eagerly(ask, spoken.name):
            text = (
                json.dumps(spoken.input) if spoken.raw_arguments is None else spoken.raw_arguments
            )
            parts = [(part, 1) for part in _chunks(text, reply.chunk_characters)]
        else:
            parts = list(_complete_values(dict(spoken.input), reply.chunk_characters))
        deltas = [_input_delta(part, chunks) for part, chunks in [("", 0), *parts]]
        complete: Object = {**head, "input": dict(spoken.input)}
        tokens = _estimate_tokens(spoken.name + json.dumps(spoken.input))
        return ContentBlock({**head, "input": {}}, tuple(deltas), complete, tokens)


def _compose_search(
    spoken: SearchCall | SearchResult | Cite, chunk_characters: int
) -> ContentBlock:
    match spoken:
        case SearchCall():
            head: Object = {"type": "server_tool_use", "id": spoken.id, "name": "web_search"}
            input_: Object = {"query": spoken.query}
            text = json.dumps(input_)
            parts = [_input_delta(each, 1) for each in _chunks(text, chunk_characters)]
            deltas = (_input_delta("", 0), *parts)
            return ContentBlock(
                {**head, "input": {}}, deltas, {**head, "input": input_}, _estimate_tokens(text)
            )
        case SearchResult():
            content = _search_content(spoken)
            result: Object = {
                "type": "web_search_tool_result",
                "tool_use_id": spoken.id,
                "content": content,
            }
            return ContentBlock(result, (), result, _estimate_tokens(json.dumps(content)))
        case Cite():
            plain = _compose_text(spoken.text, chunk_characters)
            citation = _citation(spoken)
            cited = StreamDelta({"type": "citations_delta", "citation": citation})
            opening = {**plain.start, "citations": []}
            result = {**plain.complete, "citations": [citation]}
            return ContentBlock(opening, (cited, *plain.deltas), result, plain.tokens)


def _search_content(result: SearchResult) -> JsonValue:
    if result.error is not None:
        return {"type": "web_search_tool_result_error", "error_code": result.error}
    return [
        {
            "type": "web_search_result",
            "title": title,
            "url": url,
            "encrypted_content": encrypted_content(url),
            "page_age": None,
        }
        for title, url in result.found
    ]


def _citation(cite: Cite) -> Object:
    return {
        "type": "web_search_result_location",
        "url": cite.url,
        "title": cite.title,
        "encrypted_index": encrypted_content(cite.url),
        "cited_text": cite.text,
    }


def _compose_text(text: str, chunk_characters: int) -> ContentBlock:
    deltas = [
        StreamDelta({"type": "text_delta", "text": part})
        for part in _chunks(text, chunk_characters)
    ]
    return ContentBlock(
        {"type": "text", "text": ""},
        tuple(deltas),
        {"type": "text", "text": text},
        _estimate_tokens(text),
    )


def _input_delta(part: str, chunks: int) -> StreamDelta:
    return StreamDelta({"type": "input_json_delta", "partial_json": part}, chunks)


def _complete_values(input_: dict[str, JsonValue], size: int) -> Iterator[tuple[str, int]]:
    """Yield the arguments key by key, each with the number of chunks that it would have taken."""
    if not input_:
        yield "{}", 1
    for number, (key, value) in enumerate(input_.items()):
        text = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        yield ("{" if number == 0 else ", ") + text, len(text) // size + 1
    if input_:
        yield "}", 0


def _streams_eagerly(ask: ParsedRequest, name: str) -> bool:
    tool = next((tool for tool in ask.request.tools if tool.name == name), None)
    if not isinstance(tool, CustomTool) or tool.eager_input_streaming is None:
        return EAGER_BETA in ask.headers.betas
    return tool.eager_input_streaming


def _is_thinking_shown(ask: ParsedRequest) -> bool:
    """Return whether answers have thinking blocks; with `between_tools` only after tool results."""
    if ask.thinking is None or ask.thinking.type != "between_tools":
        return ask.is_thinking_enabled
    return any(block.type == "tool_result" for block in ask.request.messages[-1].content)


def _position_after(position: BlockPosition, block: Block, number: int) -> BlockPosition:
    if isinstance(block, AnyThinking):
        return position.after_thinking(block_name(block))
    return position.after(block_part(f"the answer, block {number}", "assistant", block))


def _chunks(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _estimate_tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)
