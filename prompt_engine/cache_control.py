"""Where the cache breakpoints of a Messages request stand. Pure: takes blocks, returns copies.

`system_and_3`: one behind the system prompt (and so behind the tools, which come before it), three
behind the last three messages that can carry one. Source:
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

Block = dict[str, JsonValue]
TimeToLive = Literal["5m", "1h"]

MARKED_MESSAGES = 3
_UNMARKABLE = {"thinking", "redacted_thinking"}


def mark(
    system: Sequence[Block], messages: Sequence[Block], ttl: TimeToLive = "5m"
) -> tuple[list[Block], list[Block]]:
    """Return copies of system blocks and messages with at most four breakpoints.

    The caller's blocks are not changed; unmarked ones are shared with the copies.

    >>> system, messages = mark(
    ...     [{"type": "text", "text": "Be kind."}],
    ...     [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    ... )
    >>> system[-1]["cache_control"]
    {'type': 'ephemeral'}
    >>> messages[0]["content"][-1]["cache_control"]
    {'type': 'ephemeral'}
    """
    lifetime: Block = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    marked_system = [*system[:-1], *(_with_mark(block, lifetime) for block in system[-1:])]
    marked = list(messages)
    left = MARKED_MESSAGES
    for index in range(len(marked) - 1, -1, -1):
        if left and (copy := _marked(marked[index], lifetime)) is not None:
            marked[index] = copy
            left -= 1
    return marked_system, marked


def _marked(message: Block, lifetime: Block) -> Block | None:
    """Return the message with its last block marked; None when that block cannot carry a mark."""
    content = message["content"]
    last = content[-1] if isinstance(content, list) and content else None
    if not isinstance(content, list) or not isinstance(last, dict) or not _can_carry(last):
        return None
    copy = dict(message)
    copy["content"] = [*content[:-1], _with_mark(last, lifetime)]
    return copy


def _with_mark(block: Block, lifetime: Block) -> Block:
    copy = dict(block)
    copy["cache_control"] = lifetime
    return copy


def _can_carry(block: Block) -> bool:
    return block["type"] not in _UNMARKABLE and block.get("text") != ""
