"""Token estimates of texts, messages and requests, before an endpoint has counted them. Err high.

A text is estimated from the kinds of its characters: tokenizers merge the letters of a word, but
few digits, symbols or characters of other scripts. The weights are fitted to exact counts of 308
texts of 3,000 characters, per tokenizer, and scaled so that most estimates are above the count.
Estimate / count, median per kind of text (in brackets: a flat 2.5 bytes a token):

| text | Claude from 4.7 (dense) | Claude to 4.6 (regular) | GPT cl100k (regular) |
|---|---|---|---|
| Python | 1.19 (1.08) | 1.17 (1.39) | 1.43 (1.71) |
| TypeScript | 1.22 (1.00) | 1.26 (1.33) | 1.58 (1.68) |
| English | 1.19 (0.88) | 1.19 (1.53) | 1.39 (1.75) |
| Markdown | 1.25 (1.15) | 1.19 (1.49) | 1.34 (1.70) |
| JSON | 1.06 (0.83) | 1.03 (1.02) | 1.23 (1.26) |
| shell output | 0.99 (0.86) | 0.94 (1.05) | 1.09 (1.37) |
| Chinese | 1.15 (1.08) | 1.15 (1.08) | 1.17 (1.10) |
| digits | 1.20 (1.20) | 1.26 (1.20) | 1.26 (1.20) |
| base64 | 1.06 (0.42) | 0.93 (0.47) | 1.12 (0.56) |
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import assert_never

from acp_server.models.families import ModelFamily, Tokenizer
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import (
    Attachment,
    Link,
    Media,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserPart,
    part_to_text,
)
from acp_server.turn.ports import ModelRequest, ToolSpec

IMAGE_TOKENS = 1_600
"""The least tokens of an image or document."""
BYTES_PER_DOCUMENT_TOKEN = 100
"""A rough ratio; it errs high for images of ordinary size and for text-heavy PDFs."""
BYTES_PER_OPAQUE_TOKEN = 2.5
"""For encrypted data, which the provider counts as the text that it stands for."""
MESSAGE_TOKENS = 6
"""The frame of a message."""
CALL_TOKENS = 24
"""The frame of a call or a result: its id and field names."""
TOOLS_TOKENS = 350
"""The provider's own instructions for using tools."""
MAX_TOOL_ESTIMATES = 1_000
"""How many tools are kept with their estimates; more than any sessions have together."""


@frozen_dataclass
class _Weights:
    """Tokens per character of each kind; edges are changes of kind within a word."""

    lower: float
    upper: float
    digit: float
    symbol: float
    newline: float
    space_run: float
    digit_edge: float
    case_edge: float
    two_bytes: float
    """Cyrillic, Greek, Arabic, accents."""
    punctuation: float
    """Characters with three bytes from U+2000: dashes, arrows, boxes."""
    three_bytes: float
    """Chinese, Japanese, Korean, Indic scripts."""
    four_bytes: float
    """Emoji."""


_WEIGHTS: Mapping[Tokenizer, _Weights] = {
    "dense": _Weights(0.39, 1.05, 0.40, 1.0, 0.1, 0.21, 0.79, 0.84, 0.58, 1.68, 1.26, 3.7),
    "regular": _Weights(0.27, 0.47, 0.42, 0.95, 0.1, 0.16, 0.79, 1.26, 0.58, 1.79, 1.26, 3.7),
}


def _kind_of_byte(byte: int) -> str:
    """Return a letter for the kind of a UTF-8 byte; `-` for one inside a character."""
    kind = "."
    if byte >= _FIRST_BYTES[0][0]:
        kind = next(letter for first, letter in reversed(_FIRST_BYTES) if byte >= first)
    elif chr(byte).isalnum():
        kind = "0" if chr(byte).isdigit() else "A" if chr(byte).isupper() else "a"
    elif chr(byte).isspace():
        kind = "n" if chr(byte) in "\r\n" else " "
    return kind


_FIRST_BYTES = ((0x80, "-"), (0xC0, "2"), (0xE0, "3"), (0xE2, "p"), (0xE3, "3"), (0xF0, "4"))
"""The kinds of bytes that are not ASCII, each from its first byte on."""
_KINDS = "".join(map(_kind_of_byte, range(256))).encode()


def estimate_tokens(text: str, tokenizer: Tokenizer = "dense") -> int:
    """Estimate the tokens of a text. Takes about 40 ms for a megabyte."""
    weights = _WEIGHTS[tokenizer]
    data = text.encode("utf-8", "surrogatepass")
    count = data.translate(_KINDS).count
    tokens = (
        count(b"a") * weights.lower
        + count(b"A") * weights.upper
        + count(b"0") * weights.digit
        + count(b".") * weights.symbol
        + count(b"n") * weights.newline
        # A run of spaces is few tokens; `count` does not count overlapping pairs.
        + (count(b" ") - count(b"  ")) * weights.space_run
        + (count(b"a0") + count(b"0a") + count(b"A0") + count(b"0A")) * weights.digit_edge
        + count(b"aA") * weights.case_edge
        + count(b"2") * weights.two_bytes
        + count(b"p") * weights.punctuation
        + count(b"3") * weights.three_bytes
        + count(b"4") * weights.four_bytes
    )
    return min(-int(-tokens // 1), len(data))


def estimate_request(request: ModelRequest, family: ModelFamily) -> int:
    """Estimate the prompt tokens of a request; messages add up as in `estimate_message`."""
    tokens = _estimate_system(request.system, family.tokenizer)
    tokens += sum(_estimate_tool(tool, family.tokenizer) for tool in request.tools)
    tokens += sum(estimate_message(message, family) for message in request.messages)
    return tokens + (TOOLS_TOKENS if request.tools else 0)


@lru_cache(maxsize=256)
def _estimate_system(text: str, tokenizer: Tokenizer) -> int:
    """Estimate a system prompt, which is counted several times a request."""
    return estimate_tokens(text, tokenizer)


_tool_estimates: dict[tuple[int, Tokenizer], tuple[ToolSpec, int]] = {}
"""The tokens of tools, by identity: to write a schema as text takes longer than all else."""


def _estimate_tool(tool: ToolSpec, tokenizer: Tokenizer) -> int:
    """Estimate a tool, which is counted several times a request."""
    key = (id(tool), tokenizer)
    known = _tool_estimates.get(key)
    if known is not None and known[0] is tool:
        return known[1]
    tokens = estimate_tokens(f"{tool.name} {tool.description} {tool.schema}", tokenizer)
    if len(_tool_estimates) >= MAX_TOOL_ESTIMATES:
        _tool_estimates.clear()
    _tool_estimates[key] = (tool, tokens)
    return tokens


def prompt_tokens(request: ModelRequest, family: ModelFamily) -> int:
    """Return the turn's count of a request's prompt if it has one, else an estimate."""
    counted = request.prompt_tokens
    return estimate_request(request, family) if counted is None else counted


def estimate_message(message: Message, family: ModelFamily) -> int:
    """Estimate the prompt tokens of one message."""
    return MESSAGE_TOKENS + sum(_estimate_part(part, family.tokenizer) for part in message.parts)


def _estimate_part(part: UserPart | ReplyPart, tokenizer: Tokenizer) -> int:
    frame = 0
    match part:
        case Media():
            return _estimate_media(part)
        case Text() | Link() | Attachment():
            text = part_to_text(part)
        case ToolResult():
            text = part.text
            frame = CALL_TOKENS + sum(map(_estimate_media, part.media))
        case ToolCall():
            text, frame = part.name + part.arguments, CALL_TOKENS
        case Thinking():
            text = part.text
        case RedactedThinking():
            return int(len(part.data) / BYTES_PER_OPAQUE_TOKEN)
        case ProviderBlock():
            return int(len(json.dumps(part.block)) / BYTES_PER_OPAQUE_TOKEN)
        case _:
            assert_never(part)
    return frame + estimate_tokens(text, tokenizer)


def _estimate_media(media: Media) -> int:
    return max(IMAGE_TOKENS, len(media.data) // BYTES_PER_DOCUMENT_TOKEN)
