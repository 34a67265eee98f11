"""Where the cache breakpoints of a Messages request stand. Pure: takes blocks, returns copies.

A provider stores what stands before a breakpoint, and finds it again from a breakpoint of a later
request that stands there or less than 20 blocks behind. So one stands behind the system prompt
(and so behind the tools, which come before it), and up to three stand where a request ended:

- this one, at its end
- the one before, which the newest reply answered
- an older one, for when those in between failed and were never stored: the newest that the
  look-back of the second mark does not reach

Nothing is stored anywhere else, so a mark between two of these places finds nothing, however large
a batch of results is. It costs nothing either: what is new is written once, whatever marks it has.

This module knows no request but the one that it is given. Source:
https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import Literal

from pydantic import JsonValue

Block = dict[str, JsonValue]
TimeToLive = Literal["5m", "1h"]

LOOK_BACK_BLOCKS = 20
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
    for index in _places(messages):
        marked[index] = _marked(marked[index], lifetime)
    return marked_system, marked


def _places(messages: Sequence[Block]) -> list[int]:
    """Return which messages are marked, the newest first."""
    positions = list(accumulate(len(_blocks(message)) for message in messages))
    ends = _ends(messages)
    places, others = list(islice(ends, 2)), list(ends)
    reach = positions[places[-1]] - LOOK_BACK_BLOCKS if places else 0
    out_of_reach = [end for end in others if positions[end] <= reach]
    return [*places, *(out_of_reach or others)[:1]]


def _ends(messages: Sequence[Block]) -> Iterator[int]:
    """Yield the messages at whose end a request has its last mark, the newest first.

    A request ended before every reply. Its last mark is on its last message that can carry one, so
    that the same place is found again when the request has grown.
    """
    is_end = True
    for index in range(len(messages) - 1, -1, -1):
        if is_end and _can_carry(messages[index]):
            yield index
            is_end = False
        is_end = is_end or messages[index]["role"] == "assistant"


def _blocks(message: Block) -> list[JsonValue]:
    """Return a message's blocks; a text given as a string counts as one."""
    content = message["content"]
    return content if isinstance(content, list) else [content]


def _marked(message: Block, lifetime: Block) -> Block:
    """Return the message with its last block marked."""
    *others, last = _blocks(message)
    marked = _with_mark(last, lifetime) if isinstance(last, dict) else last
    return {**message, "content": [*others, marked]}


def _with_mark(block: Block, lifetime: Block) -> Block:
    return {**block, "cache_control": lifetime}


def _can_carry(message: Block) -> bool:
    """Whether the last block of a message can carry a mark."""
    last = _blocks(message)[-1:]
    return any(
        isinstance(block, dict) and block["type"] not in _UNMARKABLE and block.get("text") != ""
        for block in last
    )
