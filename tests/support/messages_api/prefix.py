"""A request as the sequence of parts that the model reads: tools, system, messages.

The order and the bytes of the parts determine the cache prefixes and the binding of thinking
blocks. The bytes are canonical: fields in the API's order, without null fields and without
`cache_control`; a tool's schema and input stay exactly as sent. String content is one text block.

Tokens are estimated: a quarter of the bytes, rounded up, and 1,600 for an image or document of any
size. The estimate is stable but matches no real tokenizer.
"""

import hashlib
import json
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from tests.support.messages_api.parsed_request import Object
from tests.support.messages_api.shapes import (
    AnyThinking,
    Block,
    CacheControl,
    CountRequest,
    MessagesShape,
    Tool,
    ToolResultBlock,
)

PrefixSection = Literal["tools", "system", "messages"]

BYTES_PER_TOKEN = 4
MEDIA_TOKENS = 1_600
MEDIA = {"image", "document"}

CanonicalForm: TypeAlias = tuple[Object, bytes, str, int]
"""The canonical value of a block or a tool, its bytes, their digest, and its tokens."""
CANONICAL_FORMS: dict[tuple[str, str], CanonicalForm] = {}
"""By role and JSON: each request of a conversation repeats all earlier blocks."""
MOST_CANONICAL_FORMS = 2_000


@dataclass(frozen=True, slots=True)
class PrefixPart:
    """Part of the prompt: a tool, a system block or a message block."""

    path: str
    section: PrefixSection
    kind: str
    content: bytes
    digest: str
    """Digest of the content."""
    value: Object
    tokens: int
    cache_control: CacheControl | None = None

    @property
    def is_thinking(self) -> bool:
        """Whether the part is a thinking block, plain or redacted."""
        return self.kind in {"thinking", "redacted_thinking"}


LATEST_PARTS: deque[tuple[CountRequest, Sequence[PrefixPart]]] = deque(maxlen=4)
"""The requests that came last, of all servers, with their parts."""


def prefix_parts(request: CountRequest, dropped: Collection[str] = ()) -> list[PrefixPart]:
    """Return the parts of a request in order, without those whose paths were dropped."""
    found = [piece for piece in all_parts(request) if piece.path not in dropped]
    if request.cache_control is None:
        return found
    return _mark_last_part(found, request.cache_control)


def all_parts(request: CountRequest) -> Sequence[PrefixPart]:
    """Return all parts of a request in order, each with its own mark of the cache.

    Several checks look at the parts of one request, which must not change meanwhile.
    """
    for known, parts in tuple(LATEST_PARTS):
        if known is request:
            return parts
    parts = tuple(_iterate_parts(request))
    LATEST_PARTS.append((request, parts))
    return parts


def _iterate_parts(request: CountRequest) -> Iterator[PrefixPart]:
    for index, tool in enumerate(request.tools):
        yield _make_part(f"tools.{index}", "tools", "tool", tool)
    for index, text in enumerate(request.system):
        yield _make_part(f"system.{index}", "system", "text", text)
    for index, message in enumerate(request.messages):
        for position, block in enumerate(message.content):
            yield block_part(f"messages.{index}.content.{position}", message.role, block)


def block_part(path: str, role: str, block: Block) -> PrefixPart:
    """Return a message block as a part."""
    return _make_part(path, "messages", block.type, block, role)


def _make_part(
    path: str, tier: PrefixSection, kind: str, shape: Block | Tool, role: str = ""
) -> PrefixPart:
    key = role, shape.model_dump_json(exclude_none=True, exclude={"cache_control"})
    canonical = CANONICAL_FORMS.get(key)
    if canonical is None:
        if len(CANONICAL_FORMS) == MOST_CANONICAL_FORMS:
            CANONICAL_FORMS.clear()
        canonical = CANONICAL_FORMS[key] = _canonical_form(role, shape)
    value, content, digest_, tokens = canonical
    return PrefixPart(path, tier, kind, content, digest_, value, tokens, _cache_control_of(shape))


def _canonical_form(role: str, shape: Block | Tool) -> CanonicalForm:
    value = _canonical_json(shape)
    content = json.dumps([role, value], ensure_ascii=False).encode()
    return value, content, digest([content]), estimate_tokens(value)


def _cache_control_of(shape: Block | Tool) -> CacheControl | None:
    if isinstance(shape, AnyThinking):
        return None
    inner = shape.content if isinstance(shape, ToolResultBlock) else []
    marks = [each.cache_control for each in inner if each.cache_control]
    return shape.cache_control or (marks[-1] if marks else None)


def _mark_last_part(found: list[PrefixPart], mark: CacheControl) -> list[PrefixPart]:
    last = next((i for i in reversed(range(len(found))) if not found[i].is_thinking), None)
    if last is not None:
        found[last] = replace(found[last], cache_control=found[last].cache_control or mark)
    return found


def _canonical_json(shape: MessagesShape) -> Object:
    """Return a shape as JSON, without `cache_control` and without default values."""
    value: Object = shape.model_dump(mode="json", exclude_none=True, exclude={"cache_control"})
    if value.get("caller") == {"type": "direct"}:
        del value["caller"]
    if isinstance(shape, ToolResultBlock):
        value["content"] = [_canonical_json(inner) for inner in shape.content]
    return value


def estimate_tokens(value: Object) -> int:
    """Estimate the tokens of a block or a tool."""
    bare, media = _remove_media(value)
    size = len(json.dumps(bare, ensure_ascii=False).encode())
    return -(-size // BYTES_PER_TOKEN) + media * MEDIA_TOKENS


def _remove_media(value: Object) -> tuple[Object, int]:
    if value.get("type") in MEDIA:
        return {**value, "source": None}, 1
    inner = value.get("content")
    if value.get("type") != "tool_result" or not isinstance(inner, list):
        return value, 0
    parts = [_remove_media(cast("Object", each)) for each in inner]
    return {**value, "content": [bare for bare, _ in parts]}, sum(count for _, count in parts)


def digest(parts: Sequence[bytes]) -> str:
    """Return a short hash of a sequence of byte strings; their boundaries are significant."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.hexdigest()[:24]
