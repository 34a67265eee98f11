"""Input cost of a session's requests, as sent or in a hypothetical variant.

Recorded requests are replayed against an empty prompt cache, with other cache markers, with a
prefix of another size, or with results in another format. Price factors per input token: 0.1 for a
cache read, 1.25 for a cache write, 1.0 uncached. Knows no server and no script.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from prompt_engine.cache_control import Block
from tests.support.messages_api import VERSION, InputUsage, MessagesServerConfig
from tests.support.messages_api.cache import PromptCache
from tests.support.messages_api.parsed_request import ParsedHeaders, parse_request
from tests.support.messages_api.prefix import prefix_parts
from tests.support.messages_api.shapes import MessagesRequest

READ_PRICE, WRITTEN_PRICE, PLAIN_PRICE = 0.1, 1.25, 1.0

Body = Mapping[str, JsonValue]
MarkerPlacement = Callable[[list[Block], list[Block]], tuple[list[Block], list[Block]]]


@dataclass(frozen=True, slots=True)
class Bill:
    """Input tokens of all requests of a session."""

    requests: int
    read: int
    written: int
    plain: int
    final_prompt_tokens: int
    """Tokens of the last request. Each of them was new exactly once."""

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.read + self.written + self.plain

    @property
    def read_share(self) -> float:
        """Share of the input that was read from the cache, from 0 to 1."""
        return self.read / self.total

    @property
    def billed_tokens(self) -> float:
        """All input, converted to uncached tokens by price."""
        return READ_PRICE * self.read + WRITTEN_PRICE * self.written + PLAIN_PRICE * self.plain

    @property
    def times_paid_in_full(self) -> float:
        """Average number of times that a token was written or paid at full price."""
        return (self.written + self.plain) / self.final_prompt_tokens


def compute_bill(usages: Sequence[InputUsage]) -> Bill:
    """Return the bill for the usages of answered requests, in request order."""
    return Bill(
        requests=len(usages),
        read=sum(each.read for each in usages),
        written=sum(each.written for each in usages),
        plain=sum(each.uncached for each in usages),
        final_prompt_tokens=usages[-1].total,
    )


class RunningBill:
    """The bill of requests that are added one by one; their bodies are not kept."""

    def __init__(self) -> None:
        self._cache = PromptCache()
        self._usages: list[InputUsage] = []

    def add(self, body: Body) -> None:
        """Account for the next request."""
        headers, endpoint = ParsedHeaders(VERSION, frozenset()), MessagesServerConfig()
        ask = parse_request(dict(body), MessagesRequest, headers, endpoint)
        usage, store = self._cache.account(ask, prefix_parts(ask.request))
        store()
        self._usages.append(usage)

    @property
    def bill(self) -> Bill:
        """The bill so far."""
        return compute_bill(self._usages)


def replay(bodies: Sequence[Body], placement: MarkerPlacement | None = None) -> Bill:
    """Return the bill for these requests in order, with cache markers set by `place`."""
    running = RunningBill()
    for body in bodies:
        running.add(body if placement is None else _apply_placement(body, placement))
    return running.bill


def _apply_placement(body: Body, set_markers: MarkerPlacement) -> dict[str, JsonValue]:
    bare = strip_markers(body)
    system, messages = set_markers(object_list(bare, "system"), object_list(bare, "messages"))
    return {**bare, "system": [*system], "messages": [*messages]}


def object_list(value: Mapping[str, JsonValue], name: str) -> list[Block]:
    """Return the objects of a list-valued field."""
    return cast("list[Block]", value.get(name) or [])


def strip_markers(body: Body) -> dict[str, JsonValue]:
    """Return a copy of the request without cache markers."""
    messages: list[JsonValue] = [
        {**message, "content": _strip_block_markers(object_list(message, "content"))}
        for message in object_list(body, "messages")
    ]
    return {
        **body,
        "system": _strip_block_markers(object_list(body, "system")),
        "messages": messages,
    }


def _strip_block_markers(blocks: Sequence[Block]) -> list[JsonValue]:
    return [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]


# Marker placements to compare.


def mark_nothing(system: list[Block], messages: list[Block]) -> tuple[list[Block], list[Block]]:
    """Set no cache markers."""
    return system, messages


def mark_system_only(system: list[Block], messages: list[Block]) -> tuple[list[Block], list[Block]]:
    """Set one cache marker: after the system prompt."""
    return _mark_last_block(system), messages


def mark_system_and_last(
    system: list[Block], messages: list[Block]
) -> tuple[list[Block], list[Block]]:
    """Set two cache markers: after the system prompt and after the last message."""
    return _mark_last_messages(1, system, messages)


def mark_system_and_last_three(
    system: list[Block], messages: list[Block]
) -> tuple[list[Block], list[Block]]:
    """Set four cache markers: after the system prompt and the last three messages."""
    return _mark_last_messages(3, system, messages)


def _mark_last_messages(
    count: int, system: list[Block], messages: list[Block]
) -> tuple[list[Block], list[Block]]:
    marked: list[Block] = [
        {**message, "content": [*_mark_last_block(object_list(message, "content"))]}
        for message in messages[-count:]
    ]
    return _mark_last_block(system), [*messages[:-count], *marked]


def _mark_last_block(blocks: Sequence[Block]) -> list[Block]:
    last: list[Block] = [{**block, "cache_control": {"type": "ephemeral"}} for block in blocks[-1:]]
    return [*blocks[:-1], *last]


# The same session with other contents.


def resize_prefix(bodies: Sequence[Body], characters: int) -> list[Body]:
    """Return the requests with a prefix of this many characters for system prompt and tools."""
    system: list[JsonValue] = [{"type": "text", "text": "x" * characters}]
    return [{**body, "system": system, "tools": []} for body in bodies]


def add_line_numbers(bodies: Sequence[Body]) -> list[Body]:
    """Return the requests with numbered file lines and with a path before every search hit."""
    return [{**body, "messages": [*_number_messages(body)]} for body in bodies]


def _number_messages(body: Body) -> Iterator[JsonValue]:
    calls: dict[str, Block] = {}
    for message in object_list(body, "messages"):
        blocks = object_list(message, "content")
        calls |= {str(block["id"]): block for block in blocks if block["type"] == "tool_use"}
        content: list[JsonValue] = [_number_block(block, calls) for block in blocks]
        yield {**message, "content": content}


def _number_block(block: Block, calls: Mapping[str, Block]) -> Block:
    if block["type"] != "tool_result":
        return block
    used = calls[str(block["tool_use_id"])]
    lines = str(block["content"]).split("\n")
    if used["name"] == "read_file":
        first = cast("int", cast("Block", used["input"])["offset"])
        lines = [f"{number:6}|{line}" for number, line in enumerate(lines, first)]
    elif used["name"] == "search_files":
        lines = list(_hits_with_paths(lines))
    return {**block, "content": "\n".join(lines)}


def _hits_with_paths(lines: Sequence[str]) -> Iterator[str]:
    """Yield `path:line: text` for hits that are grouped below a heading per file."""
    path = ""
    for line in lines:
        found = re.match(r"([\d,]+):(.*)", line)
        if found:
            yield from (f"{path}:{number}: {found[2]}" for number in found[1].split(","))
        elif line.startswith("["):
            yield line
        else:
            path = line
