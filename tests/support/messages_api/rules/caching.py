"""Rules for `cache_control`: their number and the order of their lifetimes.

The shape of thinking blocks excludes the field, and the rules for texts refuse it on empty ones.
"""

from collections.abc import Iterator

from tests.support.messages_api.parsed_request import Ask
from tests.support.messages_api.refusals import Refusal
from tests.support.messages_api.shapes import AnyThinking, Block, CacheControl

MOST_MARKS = 4


def check_marks(ask: Ask) -> None:
    """Refuse too many `cache_control` fields, or lifetimes in the wrong order.

    Raises:
        MessagesApiRefusal: There are too many, or a longer lifetime follows a shorter one.
    """
    marks = list(_marks(ask))
    if marks and not ask.endpoint.takes_cache_control:
        raise Refusal(f"{marks[0][0]}.cache_control: Extra inputs are not permitted")
    count = len(marks) + (ask.request.cache_control is not None)
    if count > MOST_MARKS:
        raise Refusal(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    seen_short = False
    for path, mark in marks:
        if seen_short and mark.ttl == "1h":
            raise Refusal(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following "
                "order: `tools`, `system`, `messages`."
            )
        seen_short = seen_short or mark.ttl == "5m"


def _marks(ask: Ask) -> Iterator[tuple[str, CacheControl]]:
    for index, tool in enumerate(ask.request.tools):
        if tool.cache_control:
            yield f"tools.{index}.custom", tool.cache_control
    for index, text in enumerate(ask.request.system):
        if text.cache_control:
            yield f"system.{index}", text.cache_control
    for index, message in enumerate(ask.request.messages):
        for place, block in enumerate(message.content):
            yield from _marks_of(f"messages.{index}.content.{place}", block)


def _marks_of(path: str, block: Block) -> Iterator[tuple[str, CacheControl]]:
    if isinstance(block, AnyThinking):
        return
    if block.type == "tool_result":
        for place, inner in enumerate(block.content):
            if inner.cache_control:
                yield f"{path}.content.{place}", inner.cache_control
    if block.cache_control:
        yield path, block.cache_control
