"""Tool call ids: unique in a conversation, and valid at every endpoint.

Some endpoints restart the numbering of their ids with each answer, or send empty ids. An id is
therefore made unique when it arrives. Otherwise it is stored as its endpoint sent it, because some
models read it, and is sanitized only when it is sent to an endpoint, since endpoints have different
rules and one conversation can contain ids from several of them. Both mappings are deterministic, so
that prompt caches stay valid.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.ports import ModelRequest

MAX_CHARACTERS = 40
"""The strictest length limit of all endpoints: that of chat completions."""
EMPTY_ID = "call"
"""What an empty id is made unique from."""
_INVALID_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARACTERS = 8


def sanitize_call_id(call_id: str) -> str:
    """Return a form of the id that every endpoint accepts; a valid id is returned unchanged.

    >>> sanitize_call_id("toolu_01A")
    'toolu_01A'
    >>> sanitize_call_id("functions.look:0")
    'functions_look_0-73c5b1a2'
    """
    if call_id and len(call_id) <= MAX_CHARACTERS and not _INVALID_CHARACTER.search(call_id):
        return call_id
    # The digest keeps ids apart that become equal by replacing and cutting.
    digest = sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
    prefix = _INVALID_CHARACTER.sub("_", call_id)[: MAX_CHARACTERS - _DIGEST_CHARACTERS - 1]
    return f"{prefix}-{digest}"


class CallIdAllocator:
    """Makes the ids of new calls unique.

    >>> allocator = CallIdAllocator(["a"])
    >>> [allocator.allocate(wire_id) for wire_id in ("b", "a", "", "a", "")]
    ['b', 'a-2', 'call', 'a-3', 'call-2']
    """

    def __init__(self, used_ids: Iterable[str] = ()) -> None:
        self._used_ids = set(used_ids)

    def allocate(self, wire_id: str) -> str:
        """Return the endpoint's id, with a number behind it if it is empty or already used."""
        stem = wire_id or EMPTY_ID
        call_id, number = stem, 1
        while call_id in self._used_ids:
            number += 1
            call_id = f"{stem}-{number}"
        self._used_ids.add(call_id)
        return call_id


def call_id_allocator(request: ModelRequest) -> CallIdAllocator:
    """Return an allocator of ids for the calls of the answer to a request."""
    in_messages = (call.id for message in request.messages for call in _calls(message))
    return CallIdAllocator((*request.used_call_ids, *in_messages))


def with_unique_call_ids(messages: Sequence[Message]) -> Sequence[Message]:
    """Return messages in which every call has its own id, and each result that of its call.

    Messages stored by earlier versions can repeat ids, or have empty ones.
    """
    ids = [call.id for message in messages for call in _calls(message)]
    if len(set(ids)) == len(ids) and "" not in ids:
        return messages
    return list(_rename_calls(messages))


def _rename_calls(messages: Sequence[Message]) -> Iterator[Message]:
    allocator = CallIdAllocator()
    pending: dict[str, deque[str]] = {}
    """The new ids of the newest message's calls, by old id, in the order of the calls."""
    for message in messages:
        if isinstance(message, AssistantMessage):
            pending = {}
            parts = list(message.parts)
            for index, part in enumerate(parts):
                if isinstance(part, ToolCall):
                    new_id = allocator.allocate(part.id)
                    pending.setdefault(part.id, deque()).append(new_id)
                    parts[index] = replace(part, id=new_id)
            yield AssistantMessage(tuple(parts))
        else:
            results = list(message.parts)
            for index, part in enumerate(results):
                if isinstance(part, ToolResult) and pending.get(part.call_id):
                    results[index] = replace(part, call_id=pending[part.call_id].popleft())
            yield UserMessage(tuple(results))


def _calls(message: Message) -> Iterator[ToolCall]:
    return (part for part in message.parts if isinstance(part, ToolCall))
