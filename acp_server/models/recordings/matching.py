"""Finds the recorded answer to a request: the same request, else the nearest one.

Requests are compared by their parts (system prompt, tools, messages, settings), without
the ids of calls and the marks of the prompt cache, which differ between equal runs. The
nearest is the one with the longest common beginning of messages, as a prompt cache would see it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import takewhile

from pydantic import JsonValue

from acp_server.models.recordings.exchange import Exchange
from acp_server.models.recordings.masking import SYSTEM_FIELDS, SYSTEM_ROLES
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_list, as_object, as_objects, as_text

MESSAGE_FIELDS = ("messages", "input")
CALL_ID_FIELDS = frozenset({"id", "tool_use_id", "tool_call_id", "call_id"})
UNCOMPARED_FIELDS = frozenset({"cache_control"})
MAX_SHOWN_LINES = 12
MAX_LINE_CHARACTERS = 160
SHORT_TEXT_CHARACTERS = 60


@frozen_dataclass
class RequestParts:
    """A request as it is compared. Equal parts are equal requests."""

    kind: str
    """Method and the last part of the path, such as `POST messages`."""
    system: JsonValue
    tools: Mapping[str, JsonValue]
    """Tools by name."""
    messages: tuple[JsonValue, ...]
    settings: Mapping[str, JsonValue]
    """All other fields: model, token limit, thinking and so on."""


@dataclass(slots=True)
class _RecordedRequest:
    exchange: Exchange
    parts: RequestParts
    uses: int = 0


@frozen_dataclass
class Match:
    """A recorded exchange for a request, and how the requests differ: empty if they do not."""

    exchange: Exchange
    differences: tuple[str, ...] = ()


@dataclass(slots=True)
class ExchangeFinder:
    """The exchanges of a recording; each answers once, in order, before one answers again."""

    exchanges: Sequence[Exchange]
    _candidates: list[_RecordedRequest] = field(init=False)

    def __post_init__(self) -> None:
        """Split all recorded requests into their parts."""
        self._candidates = [
            _RecordedRequest(each, split_request(each.method, each.path, each.body))
            for each in self.exchanges
        ]

    def find(self, method: str, path: str, body: Object) -> Match | None:
        """Return the recorded exchange for a masked request; None if none is of its kind."""
        parts = split_request(method, path, body)
        same_kind = [each for each in self._candidates if each.parts.kind == parts.kind]
        if not same_kind:
            return None
        best = max(
            enumerate(same_kind),
            key=lambda numbered: (*_closeness(parts, numbered[1]), -numbered[0]),
        )[1]
        best.uses += 1
        return Match(best.exchange, tuple(describe_differences(best.parts, parts)))

    def unused(self) -> Sequence[Exchange]:
        """Return the exchanges that have answered no request."""
        return [each.exchange for each in self._candidates if not each.uses]


def split_request(method: str, path: str, body: Object) -> RequestParts:
    """Return the parts of a masked request."""
    comparable = _Comparable()
    rest = {name: comparable.value(each) for name, each in body.items()}
    rest.pop("stream", None)
    field_name = next((name for name in MESSAGE_FIELDS if name in rest), MESSAGE_FIELDS[0])
    messages = as_list(rest.pop(field_name, None))
    leading = [
        *takewhile(lambda each: as_text(as_object(each).get("role")) in SYSTEM_ROLES, messages)
    ]
    system: list[JsonValue] = [rest.pop(name) for name in SYSTEM_FIELDS if name in rest]
    tools = as_objects(rest.pop("tools", None))
    return RequestParts(
        kind=f"{method} {path.rstrip('/').rpartition('/')[2]}",
        system=[*system, *leading],
        tools={_tool_name(each): each for each in tools},
        messages=tuple(messages[len(leading) :]),
        settings=rest,
    )


def describe_differences(recorded: RequestParts, now: RequestParts) -> Iterator[str]:
    """Yield a text per part that differs between a recorded request and this one."""
    if recorded.system != now.system:
        yield _describe_texts("the system prompt", recorded.system, now.system)
    yield from _describe_tools(recorded.tools, now.tools)
    pairs = zip(recorded.messages, now.messages, strict=False)
    for number, (old, new) in enumerate(pairs, 1):
        if old != new:
            role = as_text(as_object(new).get("role")) or as_text(as_object(new).get("type"))
            yield _describe_texts(f"message {number} ({role})", old, new)
    if len(recorded.messages) != len(now.messages):
        yield f"{len(now.messages)} messages in place of {len(recorded.messages)}"
    for name in sorted({*recorded.settings, *now.settings}):
        if recorded.settings.get(name) != now.settings.get(name):
            yield _describe_texts(name, recorded.settings.get(name), now.settings.get(name))


def _describe_tools(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            yield f"the tool {name} is missing"
        elif name not in old:
            yield f"the tool {name} is new"
        elif old[name] != new[name]:
            yield _describe_texts(f"the tool {name}", old[name], new[name])
    if old.keys() == new.keys() and list(old) != list(new):
        yield "the order of the tools"


class _Comparable:
    """Numbers the ids of calls, and removes the marks of the prompt cache."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def value(self, value: JsonValue) -> JsonValue:
        """Return a value with numbered ids and without marks of the prompt cache."""
        match value:
            case list():
                return [self.value(each) for each in value]
            case dict():
                return {
                    name: self._ids.setdefault(each, f"id {len(self._ids) + 1}")
                    if name in CALL_ID_FIELDS and isinstance(each, str)
                    else self.value(each)
                    for name, each in value.items()
                    if name not in UNCOMPARED_FIELDS
                }
            case _:
                return value


def _closeness(now: RequestParts, candidate: _RecordedRequest) -> tuple[int, ...]:
    """Return how close a recorded request is; the larger, the closer."""
    recorded = candidate.parts
    if recorded == now:
        # The same request again, such as a retry, gets the next answer.
        return (1, -candidate.uses)
    pairs = [*zip(recorded.messages, now.messages, strict=False)]
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return (
        0,
        common,
        # Without a common beginning, e.g. after a change of the first message, the place in the
        # conversation decides.
        -abs(len(recorded.messages) - len(now.messages)),
        sum(old == new for old, new in pairs),
        recorded.tools.keys() == now.tools.keys(),
        recorded.system == now.system,
        recorded.settings == now.settings,
        -candidate.uses,
    )


def _tool_name(tool: Object) -> str:
    name = as_text(tool.get("name")) or as_text(as_object(tool.get("function")).get("name"))
    return name or as_text(tool.get("type"))


def _describe_texts(label: str, old: JsonValue, new: JsonValue) -> str:
    """Return a short difference: both values if they are short, else the lines that differ."""
    before, after = list(_lines_of(old)), list(_lines_of(new))
    if len(before) == len(after) == 1 and len(before[0]) + len(after[0]) < SHORT_TEXT_CHARACTERS:
        return f"{label}: {after[0]} in place of {before[0]}"
    changed = [
        line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]} …"
        for line in unified_diff(before, after, n=0, lineterm="")
        if line[:1] in "+-" and not line.startswith(("---", "+++"))
    ]
    shown = changed[:MAX_SHOWN_LINES]
    if len(changed) > len(shown):
        shown.append(f"… and {len(changed) - len(shown)} more lines")
    return "\n".join((f"{label}:", *(f"  {line}" for line in shown)))


def _lines_of(value: JsonValue) -> Iterator[str]:
    """Yield the lines of all texts in a value, and its other parts as JSON."""
    match value:
        case str():
            yield from value.splitlines() or [""]
        case list():
            for each in value:
                yield from _lines_of(each)
        case dict():
            for name, each in value.items():
                if isinstance(each, dict | list) or (isinstance(each, str) and "\n" in each):
                    yield f"{name}:"
                    yield from _lines_of(each)
                else:
                    yield f"{name}: {each if isinstance(each, str) else json.dumps(each)}"
        case _:
            yield json.dumps(value)
