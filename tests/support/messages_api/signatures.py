"""Signatures that bind thinking blocks to the context in which they were created.

A signature covers the model, digests of the tools, the system text and the conversation before the
block, the name of the previous thinking block, and a digest of its own text. The signer also
remembers the parts of the conversation, to name the first one that changed.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tests.support.messages_api.prefix import PrefixPart, digest
from tests.support.messages_api.shapes import AnyThinking, ThinkingBlock

SECRET = b"the tests' own"
HMAC_BYTES = 8


@dataclass(frozen=True, slots=True)
class BlockPosition:
    """Context before a thinking block."""

    tools: str
    system: str
    conversation: tuple[tuple[str, str], ...]
    """Path and digest of each part of the messages that is not thinking."""
    previous_thinking: str | None
    """Name of the previous thinking block."""

    def after(self, piece: PrefixPart) -> "BlockPosition":
        """Return the position after another part."""
        entry = (piece.path, piece.digest)
        return BlockPosition(
            self.tools, self.system, (*self.conversation, entry), self.previous_thinking
        )

    def after_thinking(self, name: str) -> "BlockPosition":
        """Return the position after the thinking block with this name."""
        return BlockPosition(self.tools, self.system, self.conversation, name)


@dataclass(frozen=True, slots=True)
class SignedContext:
    """Payload of a signature."""

    model: str
    tools: str
    system: str
    conversation: str
    previous_thinking: str | None
    text: str


def start_position(pieces: Sequence[PrefixPart]) -> BlockPosition:
    """Return the position after tools and system, before the messages."""
    tools = digest([piece.content for piece in pieces if piece.section == "tools"])
    system = digest([piece.content for piece in pieces if piece.section == "system"])
    return BlockPosition(tools, system, (), None)


def block_name(block: AnyThinking) -> str:
    """Return a short unique name of a thinking block."""
    return digest([_signature(block).encode()])


def _signature(block: AnyThinking) -> str:
    return block.signature if isinstance(block, ThinkingBlock) else block.data


def _text(block: AnyThinking) -> str:
    return block.thinking if isinstance(block, ThinkingBlock) else ""


class ThinkingSigner:
    """Signer of thinking blocks, which verifies its own signatures."""

    def __init__(self) -> None:
        self._signed_conversations: dict[str, tuple[tuple[str, str], ...]] = {}

    def sign(self, model: str, position: BlockPosition, text: str) -> str:
        """Return the signature of a thinking block; `text` is the text as shown to the client."""
        conversation = _conversation(position)
        signed = SignedContext(
            model,
            position.tools,
            position.system,
            conversation,
            position.previous_thinking,
            digest([text.encode()]),
        )
        self._signed_conversations[conversation] = position.conversation
        payload = json.dumps(asdict(signed), separators=(",", ":")).encode()
        return base64.b64encode(_sign_payload(payload) + payload).decode()

    def read(self, block: AnyThinking) -> SignedContext | None:
        """Return the payload of a block's signature, or None if either was modified."""
        try:
            raw = base64.b64decode(_signature(block), validate=True)
        except ValueError:
            return None
        tag, payload = raw[:HMAC_BYTES], raw[HMAC_BYTES:]
        if not hmac.compare_digest(tag, _sign_payload(payload)):
            return None
        signed = SignedContext(**json.loads(payload))
        return signed if signed.text == digest([_text(block).encode()]) else None

    def describe_mismatch(self, signed: SignedContext, position: BlockPosition) -> str | None:
        """Return an error that names the first change since the block was created, or None."""
        if signed.system != position.system:
            return "The `system` prompt differs from the one this block was created with."
        if signed.tools != position.tools:
            return "The `tools` list differs from the one this block was created with."
        if signed.conversation != _conversation(position):
            return (
                "Content before this block differs from when it was created, first at "
                f"`{self._first_difference(signed, position)}`."
            )
        if (
            position.previous_thinking is not None
            and signed.previous_thinking != position.previous_thinking
        ):
            return (
                "The `thinking` block that preceded this one when it was created is missing from "
                "this request."
            )
        return None

    def _first_difference(self, signed: SignedContext, position: BlockPosition) -> str:
        made_behind = self._signed_conversations.get(signed.conversation, ())
        for (_, was), (path, now) in zip(made_behind, position.conversation, strict=False):
            if was != now:
                return path
        longer = max(made_behind, position.conversation, key=len)
        return longer[min(len(made_behind), len(position.conversation))][0]


def _conversation(position: BlockPosition) -> str:
    return digest([content.encode() for _, content in position.conversation])


def _sign_payload(payload: bytes) -> bytes:
    return hmac.digest(SECRET, payload, hashlib.sha256)[:HMAC_BYTES]
