"""Cache breakpoints for Anthropic Messages requests. Pure: takes blocks, returns copies.

A provider caches the prefix before a breakpoint. A later request finds that cache entry from a
breakpoint at the same position or less than 20 blocks after it. One breakpoint therefore follows
the system prompt (which also covers the tools before it); up to three more mark the ends of
requests:

- the end of this request
- the end of the previous request, which the newest reply answered
- the end of an older request, in case those in between failed and were never cached: the newest
  one that the look-back of the second breakpoint does not reach

A caller that now and then removes old results from the messages may name `settled` ends: how many
messages at the beginning stay as they are. Their breakpoints come before the other ends, so that
everything before them is still read from the cache after the removal.

Prefixes are cached only at request ends, so a breakpoint between them would never hit, however
large a batch of tool results is. That has no cost: new content is written to the cache once,
regardless of the number of breakpoints.

Stateless: only the given request is considered. Source:
https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from pydantic import JsonValue

Block = dict[str, JsonValue]
TimeToLive = Literal["5m", "1h"]

LOOK_BACK_BLOCKS = 20
MAX_MESSAGE_BREAKPOINTS = 3
_UNMARKABLE_BLOCK_TYPES = {"thinking", "redacted_thinking"}


def add_cache_breakpoints(
    system: Sequence[Block],
    messages: Sequence[Block],
    ttl: TimeToLive = "5m",
    settled: Sequence[int] = (),
) -> tuple[list[Block], list[Block]]:
    """Return copies of system blocks and messages with at most four cache breakpoints.

    The caller's blocks are not modified; unmarked blocks are shared with the copies.

    >>> system, messages = add_cache_breakpoints(
    ...     [{"type": "text", "text": "Be kind."}],
    ...     [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    ... )
    >>> system[-1]["cache_control"]
    {'type': 'ephemeral'}
    >>> messages[0]["content"][-1]["cache_control"]
    {'type': 'ephemeral'}
    """
    lifetime: Block = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    marked_system = [*system[:-1], *(_with_cache_control(block, lifetime) for block in system[-1:])]
    marked = list(messages)
    for index in _breakpoint_indexes(messages, settled):
        *others, last = _content_blocks(messages[index])
        block = _with_cache_control(last, lifetime) if isinstance(last, dict) else last
        marked[index] = {**messages[index], "content": [*others, block]}
    return marked_system, marked


def _breakpoint_indexes(messages: Sequence[Block], settled: Sequence[int]) -> list[int]:
    """Return the indexes of the messages to mark: at most three."""
    # All ends are found lazily: a long conversation is not read to its beginning.
    ends = _request_end_indexes(messages)
    indexes = list(islice(ends, 2))
    settled_indexes = [next(_request_end_indexes(messages[:end]), None) for end in settled]
    known = [index for index in settled_indexes if index is not None]
    if known:
        return list(dict.fromkeys([*indexes[:1], *known, *indexes[1:]]))[:MAX_MESSAGE_BREAKPOINTS]
    older = _older_end_index(messages, indexes[-1], ends) if indexes else None
    return indexes if older is None else [*indexes, older]


def _older_end_index(
    messages: Sequence[Block], newer: int, older_ends: Iterator[int]
) -> int | None:
    """Return the newest end that the look-back from `newer` does not reach, else the newest one."""
    newest, blocks_between = None, 0
    for end in older_ends:
        between = messages[end + 1 : newer + 1]
        blocks_between += sum(len(_content_blocks(message)) for message in between)
        if blocks_between >= LOOK_BACK_BLOCKS:
            return end
        newest, newer = end if newest is None else newest, end
    return newest


def _request_end_indexes(messages: Sequence[Block]) -> Iterator[int]:
    """Yield the indexes of the messages at which a request ended, newest first.

    A request ended before every assistant reply. Its breakpoint is on its last message that can
    carry one, so that a later, longer request computes the same position.
    """
    is_end = True
    for index in range(len(messages) - 1, -1, -1):
        if is_end and _can_be_marked(messages[index]):
            yield index
            is_end = False
        is_end = is_end or messages[index]["role"] == "assistant"


def _content_blocks(message: Block) -> list[JsonValue]:
    """Return a message's content blocks; string content counts as one block."""
    content = message["content"]
    return content if isinstance(content, list) else [content]


def _with_cache_control(block: Block, lifetime: Block) -> Block:
    return {**block, "cache_control": lifetime}


def _can_be_marked(message: Block) -> bool:
    """Return whether the last block of a message accepts `cache_control`.

    The API rejects it on thinking blocks and on empty text.
    """
    last = _content_blocks(message)[-1:]
    return any(
        isinstance(block, dict)
        and block["type"] not in _UNMARKABLE_BLOCK_TYPES
        and block.get("text") != ""
        for block in last
    )
