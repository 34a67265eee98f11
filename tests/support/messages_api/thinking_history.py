"""Checks that thinking blocks in requests are genuine, unmodified and in their original position.

Blocks of a model that the current one cannot read are silently dropped from the request. Blocks
after a changed prefix are dropped if the request asks for it. All other deviations are refused.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from tests.support.messages_api.endpoint import BINDING_BETA
from tests.support.messages_api.model_specs import find_model_spec
from tests.support.messages_api.parsed_request import Object, ParsedRequest
from tests.support.messages_api.prefix import PrefixPart, all_parts, block_part, prefix_parts
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import (
    AdaptiveThinking,
    AnyThinking,
    Block,
    EnabledThinking,
    Message,
)
from tests.support.messages_api.signatures import (
    BlockPosition,
    SignedContext,
    ThinkingSigner,
    block_name,
    start_position,
)

GUIDE = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
INVALID = "Invalid `signature` in `thinking` block"
BOUND_ELSEWHERE = (
    f"{INVALID}. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
HEADER_NEEDED = f" That setting requires the `{BINDING_BETA}` value in the `anthropic-beta` header."
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


@dataclass(frozen=True, slots=True)
class DroppedThinking:
    """Thinking block that is hidden from the model."""

    path: str
    reason: Literal["model_binding_mismatch", "prefix_binding_mismatch"]

    def as_json(self) -> Object:
        """Return the entry for `input_transformations`."""
        return {"type": "thinking_dropped", "path": self.path, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class _KnownAnswer:
    """An answer sent earlier: its canonical blocks and the number of thinking blocks."""

    blocks: tuple[bytes, ...]
    thinking_count: int


class ThinkingHistory:
    """Record of sent answers, against which requests are checked."""

    def __init__(self, signer: ThinkingSigner) -> None:
        self._signer = signer
        self._answers: dict[str, _KnownAnswer] = {}
        self._paused: set[tuple[bytes, ...]] = set()

    def remember(self, content: Sequence[Block], *, is_paused: bool) -> None:
        """Record an answer, to recognise it in later requests."""
        names = [block_name(block) for block in content if isinstance(block, AnyThinking)]
        answer = _KnownAnswer(tuple(_canonical(block) for block in content), len(names))
        self._answers.update(dict.fromkeys(names, answer))
        if is_paused:
            self._paused.add(answer.blocks)

    def is_paused(self, content: Sequence[Block]) -> bool:
        """Return whether a message is a paused answer, with which a conversation may end."""
        return tuple(_canonical(block) for block in content) in self._paused

    def check(self, ask: ParsedRequest) -> tuple[DroppedThinking, ...]:
        """Return the thinking blocks that are dropped.

        Raises:
            MessagesApiRefusal: A thinking block was modified, moved or removed.
        """
        self._check_latest(ask)
        return tuple(self._check_blocks(ask))

    def position_after(
        self, ask: ParsedRequest, drops: tuple[DroppedThinking, ...]
    ) -> BlockPosition:
        """Return the position of the model's next answer."""
        dropped = {drop.path for drop in drops}
        position = start_position(prefix_parts(ask.request))
        for piece, block in _walk(ask):
            if not isinstance(block, AnyThinking):
                position = position.after(piece)
            elif piece.path not in dropped:
                position = position.after_thinking(block_name(block))
        return position

    def _check_latest(self, ask: ParsedRequest) -> None:
        messages = ask.request.messages
        index = next((i for i in _latest_first(messages) if messages[i].role == "assistant"), None)
        if index is None:
            return
        content = messages[index].content
        _check_first_block(ask, index, content)
        for block in content:
            known = self._answers.get(block_name(block)) if isinstance(block, AnyThinking) else None
            if known is not None:
                _check_unmodified(index, content, known)
                return

    def _check_blocks(self, ask: ParsedRequest) -> Iterator[DroppedThinking]:
        position = start_position(prefix_parts(ask.request))
        is_dropping = False
        for piece, block in _walk(ask):
            if not isinstance(block, AnyThinking):
                position = position.after(piece)
                continue
            signed = self._read_signature(piece.path, block)
            if not _can_read(ask, signed):
                yield DroppedThinking(piece.path, "model_binding_mismatch")
                continue
            is_dropping = is_dropping or self._should_drop(ask, piece, signed, position)
            if is_dropping:
                yield DroppedThinking(piece.path, "prefix_binding_mismatch")
            else:
                position = position.after_thinking(block_name(block))

    def _read_signature(self, path: str, block: AnyThinking) -> SignedContext:
        signed = self._signer.read(block)
        if signed is None:
            raise MessagesApiRefusal(f"{path}: {INVALID}")
        return signed

    def _should_drop(
        self, ask: ParsedRequest, piece: PrefixPart, signed: SignedContext, position: BlockPosition
    ) -> bool:
        if not ask.model_spec.binds_thinking or not ask.model_spec.has_name(signed.model):
            return False
        difference = self._signer.describe_mismatch(signed, position)
        behavior = _mismatch_behavior(ask)
        if difference is None or (behavior is None and not ask.endpoint.checks_prefixes):
            return False
        if behavior == "drop_block":
            return True
        has_header = BINDING_BETA in ask.headers.betas
        message = BOUND_ELSEWHERE if has_header else BOUND_ELSEWHERE + HEADER_NEEDED
        raise MessagesApiRefusal(f"{piece.path}: {message} {difference}")


def input_transformations(
    ask: ParsedRequest, drops: tuple[DroppedThinking, ...]
) -> dict[str, JsonValue]:
    """Return the response field for dropped blocks; empty without the beta header."""
    if BINDING_BETA not in ask.headers.betas or not ask.model_spec.binds_thinking:
        return {}
    return {"input_transformations": [drop.as_json() for drop in drops]}


def _walk(ask: ParsedRequest) -> Iterator[tuple[PrefixPart, Block]]:
    blocks = [block for message in ask.request.messages for block in message.content]
    parts = [part for part in all_parts(ask.request) if part.section == "messages"]
    return zip(parts, blocks, strict=True)


def _latest_first(messages: list[Message]) -> range:
    return range(len(messages) - 1, -1, -1)


def _mismatch_behavior(ask: ParsedRequest) -> Literal["error", "drop_block"] | None:
    binding = ask.thinking.block_binding if isinstance(ask.thinking, AdaptiveThinking) else None
    return binding.prefix_mismatch_behavior if binding else None


def _can_read(ask: ParsedRequest, signed: SignedContext) -> bool:
    """Return whether the model can read a block: its own, or one of a model without binding."""
    signer = find_model_spec(signed.model, ask.endpoint.model_specs)
    return ask.model_spec.has_name(signed.model) or (
        signer is not None and not signer.binds_thinking
    )


def _check_first_block(ask: ParsedRequest, index: int, content: list[Block]) -> None:
    if not isinstance(ask.thinking, EnabledThinking) or not content:
        return
    thinks = any(isinstance(block, AnyThinking) for block in content)
    if thinks and not isinstance(content[0], AnyThinking):
        raise MessagesApiRefusal(
            f"messages.{index}.content.0: If an assistant message contains any thinking blocks, "
            "the first block must be `thinking` or `redacted_thinking`. Found "
            f"`{content[0].type}`."
        )
    first = _find_turn_start(ask.request.messages, index)
    opening = ask.request.messages[first].content[0]
    if "tool_use" in {block.type for block in content} and not isinstance(opening, AnyThinking):
        raise MessagesApiRefusal(
            f"messages.{first}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
            f"found `{opening.type}`. When `thinking` is enabled, a final `assistant` message must "
            "start with a thinking block (preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks). We recommend you include thinking blocks from previous turns. "
            f"To avoid this requirement, disable `thinking`. Please consult our documentation at "
            f"{GUIDE}"
        )


def _find_turn_start(messages: list[Message], latest: int) -> int:
    """Return the index of the first assistant message of a turn; tool results do not end a turn.

    Without interleaved thinking a model thinks once per turn, at its start.
    """
    first = latest
    for index in range(latest - 1, -1, -1):
        message = messages[index]
        if message.role == "assistant":
            first = index
        elif any(block.type != "tool_result" for block in message.content):
            break
    return first


def _check_unmodified(index: int, content: list[Block], known: _KnownAnswer) -> None:
    indexes = [number for number, block in enumerate(content) if isinstance(block, AnyThinking)]
    for number in indexes:
        is_there = number < len(known.blocks)
        if not is_there or _canonical(content[number]) != known.blocks[number]:
            raise MessagesApiRefusal(f"messages.{index}.content.{number}: {MODIFIED}")
    if len(indexes) < known.thinking_count:
        raise MessagesApiRefusal(f"messages.{index}.content.{len(content) - 1}: {MODIFIED}")


def _canonical(block: Block) -> bytes:
    return block_part("", "assistant", block).content
