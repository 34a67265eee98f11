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
from tests.support.messages_api import VERSION, Endpoint, InputUsage
from tests.support.messages_api.cache import PromptCache
from tests.support.messages_api.parsed_request import Headers, read_ask
from tests.support.messages_api.prefix import pieces
from tests.support.messages_api.shapes import MessagesRequest

READ_PRICE, WRITTEN_PRICE, PLAIN_PRICE = 0.1, 1.25, 1.0

Body = Mapping[str, JsonValue]
Placement = Callable[[list[Block], list[Block]], tuple[list[Block], list[Block]]]


@dataclass(frozen=True, slots=True)
class Bill:
    """Input tokens of all requests of a session."""

    requests: int
    read: int
    written: int
    plain: int
    distinct: int
    """Tokens of the last request. Each of them was new exactly once."""

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.read + self.written + self.plain

    @property
    def share_read(self) -> float:
        """Share of the input that was read from the cache, from 0 to 1."""
        return self.read / self.total

    @property
    def billed(self) -> float:
        """All input, converted to uncached tokens by price."""
        return READ_PRICE * self.read + WRITTEN_PRICE * self.written + PLAIN_PRICE * self.plain

    @property
    def times_paid_in_full(self) -> float:
        """Average number of times that a token was written or paid at full price."""
        return (self.written + self.plain) / self.distinct


def bill_of(usages: Sequence[InputUsage]) -> Bill:
    """Return the bill for the usages of answered requests, in request order."""
    return Bill(
        requests=len(usages),
        read=sum(each.read for each in usages),
        written=sum(each.written for each in usages),
        plain=sum(each.plain for each in usages),
        distinct=usages[-1].total,
    )


def replay(bodies: Sequence[Body], place: Placement | None = None) -> Bill:
    """Return the bill for these requests in order, with cache markers set by `place`."""
    cache, headers, endpoint = PromptCache(), Headers(VERSION, frozenset()), Endpoint()
    usages: list[InputUsage] = []
    for body in bodies:
        sent = dict(body) if place is None else _placed(body, place)
        ask = read_ask(sent, MessagesRequest, headers, endpoint)
        usage, store = cache.account(ask, pieces(ask.request))
        store()
        usages.append(usage)
    return bill_of(usages)


def _placed(body: Body, place: Placement) -> dict[str, JsonValue]:
    bare = unmarked(body)
    system, messages = place(objects(bare, "system"), objects(bare, "messages"))
    return {**bare, "system": [*system], "messages": [*messages]}


def objects(value: Mapping[str, JsonValue], name: str) -> list[Block]:
    """Return the objects of a list-valued field."""
    return cast("list[Block]", value.get(name) or [])


def unmarked(body: Body) -> dict[str, JsonValue]:
    """Return a copy of the request without cache markers."""
    messages: list[JsonValue] = [
        {**message, "content": _bare(objects(message, "content"))}
        for message in objects(body, "messages")
    ]
    return {**body, "system": _bare(objects(body, "system")), "messages": messages}


def _bare(blocks: Sequence[Block]) -> list[JsonValue]:
    return [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]


# Marker placements to compare.


def nowhere(system: list[Block], messages: list[Block]) -> tuple[list[Block], list[Block]]:
    """Set no cache markers."""
    return system, messages


def system_alone(system: list[Block], messages: list[Block]) -> tuple[list[Block], list[Block]]:
    """Set one cache marker: after the system prompt."""
    return _marked_last(system), messages


def end_alone(system: list[Block], messages: list[Block]) -> tuple[list[Block], list[Block]]:
    """Set two cache markers: after the system prompt and after the last message."""
    return _on_the_last(1, system, messages)


def system_and_3(system: list[Block], messages: list[Block]) -> tuple[list[Block], list[Block]]:
    """Set four cache markers: after the system prompt and the last three messages."""
    return _on_the_last(3, system, messages)


def _on_the_last(
    count: int, system: list[Block], messages: list[Block]
) -> tuple[list[Block], list[Block]]:
    marked: list[Block] = [
        {**message, "content": [*_marked_last(objects(message, "content"))]}
        for message in messages[-count:]
    ]
    return _marked_last(system), [*messages[:-count], *marked]


def _marked_last(blocks: Sequence[Block]) -> list[Block]:
    last: list[Block] = [{**block, "cache_control": {"type": "ephemeral"}} for block in blocks[-1:]]
    return [*blocks[:-1], *last]


# The same session with other contents.


def with_prefix(bodies: Sequence[Body], characters: int) -> list[Body]:
    """Return the requests with a prefix of this many characters for system prompt and tools."""
    system: list[JsonValue] = [{"type": "text", "text": "x" * characters}]
    return [{**body, "system": system, "tools": []} for body in bodies]


def with_numbers(bodies: Sequence[Body]) -> list[Body]:
    """Return the requests with numbered file lines and with a path before every search hit."""
    return [{**body, "messages": [*_numbered_messages(body)]} for body in bodies]


def _numbered_messages(body: Body) -> Iterator[JsonValue]:
    calls: dict[str, Block] = {}
    for message in objects(body, "messages"):
        blocks = objects(message, "content")
        calls |= {str(block["id"]): block for block in blocks if block["type"] == "tool_use"}
        content: list[JsonValue] = [_numbered(block, calls) for block in blocks]
        yield {**message, "content": content}


def _numbered(block: Block, calls: Mapping[str, Block]) -> Block:
    if block["type"] != "tool_result":
        return block
    used = calls[str(block["tool_use_id"])]
    lines = str(block["content"]).split("\n")
    if used["name"] == "read_file":
        first = cast("int", cast("Block", used["input"])["offset"])
        lines = [f"{number:6}|{line}" for number, line in enumerate(lines, first)]
    elif used["name"] == "search_files":
        lines = list(_hits(lines))
    return {**block, "content": "\n".join(lines)}


def _hits(lines: Sequence[str]) -> Iterator[str]:
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
