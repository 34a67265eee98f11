"""Rules for `cache_control`: their number and the order of their lifetimes.

The shape of thinking blocks excludes the field, and the rules for texts refuse it on empty ones.
"""

from collections.abc import Iterator

from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import AnyThinking, Block, CacheControl

MAX_CACHE_CONTROLS = 4


def check_cache_control(ask: ParsedRequest) -> None:
    """Refuse too many `cache_control` fields, or lifetimes in the wrong order.

    Raises:
        MessagesApiRefusal: There are too many, or a longer lifetime follows a shorter one.
    """
    marks = list(_cache_controls(ask))
    if marks and not ask.endpoint.takes_cache_control:
        raise MessagesApiRefusal(f"{marks[0][0]}.cache_control: Extra inputs are not permitted")
    count = len(marks) + (ask.request.cache_control is not None)
    if count > MAX_CACHE_CONTROLS:
        raise MessagesApiRefusal(
            f"A maximum of 4 blocks with cache_control may be provided. Found {count}."
        )
    seen_short = False
    for path, mark in marks:
        if seen_short and mark.ttl == "1h":
            raise MessagesApiRefusal(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following "
                "order: `tools`, `system`, `messages`."
            )
        seen_short = seen_short or mark.ttl == "5m"


def _cache_controls(ask: ParsedRequest) -> Iterator[tuple[str, CacheControl]]:
    for index, tool in enumerate(ask.request.tools):
        if tool.cache_control:
            yield f"tools.{index}.custom", tool.cache_control
    for index, text in enumerate(ask.request.system):
        if text.cache_control:
            yield f"system.{index}", text.cache_control
    for index, message in enumerate(ask.request.messages):
        for position, block in enumerate(message.content):
            yield from _block_cache_controls(f"messages.{index}.content.{position}", block)


def _block_cache_controls(path: str, block: Block) -> Iterator[tuple[str, CacheControl]]:
    if isinstance(block, AnyThinking):
        return
    if block.type == "tool_result":
        for index, inner in enumerate(block.content):
            if inner.cache_control:
                yield f"{path}.content.{index}", inner.cache_control
    if block.cache_control:
        yield path, block.cache_control
