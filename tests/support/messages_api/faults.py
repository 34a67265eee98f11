"""Faults of a response stream that has started.

A fault changes the steps of a `ScriptedReply`; several are applied in the given order. Events are
counted from 0, which is `message_start`, and include pings.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import JsonValue

from tests.support.messages_api.refusals import ErrorType
from tests.support.messages_api.response_steps import (
    Abort,
    ResponseGate,
    ResponseStep,
    Wait,
    WaitForGate,
    Write,
)


class StreamFault(Protocol):
    """Transformation of a stream's steps."""

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        """Return the steps with the fault applied."""
        ...


def sse_event(name: str, data: JsonValue) -> Write:
    """Return a named server-sent event."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Write(f"event: {name}\ndata: {text}\n\n".encode(), is_event=True)


def _index_of_event(steps: Sequence[ResponseStep], number: int) -> int:
    """Return the step index of an event; the end if there are fewer events."""
    indexes = [i for i, step in enumerate(steps) if isinstance(step, Write) and step.is_event]
    return indexes[number] if number < len(indexes) else len(steps)


def _insert(
    steps: Sequence[ResponseStep], at_event: int, *inserted: ResponseStep
) -> list[ResponseStep]:
    index = _index_of_event(steps, at_event)
    return [*steps[:index], *inserted, *steps[index:]]


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """Fault that replaces an event and all later ones with an `error` event."""

    at_event: int
    type: ErrorType = "overloaded_error"
    message: str = "Overloaded"

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        error: JsonValue = {"details": None, "type": self.type, "message": self.message}
        index = _index_of_event(steps, self.at_event)
        return [*steps[:index], sse_event("error", {"type": "error", "error": error})]


@dataclass(frozen=True, slots=True)
class CutAfterEvents:
    """Fault that drops the connection after a number of events."""

    count: int

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return [*steps[: _index_of_event(steps, self.count)], Abort()]


@dataclass(frozen=True, slots=True)
class CutAfterBytes:
    """Fault that drops the connection after a number of body bytes."""

    count: int

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return [*_first_bytes(steps, self.count), Abort()]


@dataclass(frozen=True, slots=True)
class CutInsideCharacter:
    """Fault that drops the connection between the first and second byte of a character."""

    character: str

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        body = b"".join(step.data for step in steps if isinstance(step, Write))
        count = body.index(self.character.encode()) + 1
        return [*_first_bytes(steps, count), Abort()]


def _first_bytes(steps: Sequence[ResponseStep], count: int) -> Iterator[ResponseStep]:
    left = count
    for step in steps:
        if not isinstance(step, Write):
            yield step
        elif len(step.data) <= left:
            yield step
            left -= len(step.data)
        else:
            yield Write(step.data[:left])
            return


@dataclass(frozen=True, slots=True)
class EndAfterEvents:
    """Fault that ends the body cleanly after a number of events, without `message_stop`."""

    count: int

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return list(steps[: _index_of_event(steps, self.count)])


@dataclass(frozen=True, slots=True)
class PauseBeforeEvent:
    """Fault that pauses before an event."""

    at_event: int
    seconds: float

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return _insert(steps, self.at_event, Wait(self.seconds))


@dataclass(frozen=True, slots=True)
class HoldUntilGate:
    """Fault that waits before an event until the test opens a gate."""

    at_event: int
    gate: ResponseGate

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return _insert(steps, self.at_event, WaitForGate(self.gate))


@dataclass(frozen=True, slots=True)
class TrickledBytes:
    """Fault that sends the body in small pieces, regardless of event boundaries."""

    byte_count: int = 1
    pause_seconds: float = 0.001

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return [bit for step in steps for bit in self._split(step)]

    def _split(self, step: ResponseStep) -> Iterator[ResponseStep]:
        if not isinstance(step, Write):
            yield step
            return
        for start in range(0, len(step.data), self.byte_count):
            yield Write(step.data[start : start + self.byte_count])
            yield Wait(self.pause_seconds)


@dataclass(frozen=True, slots=True)
class GarbageBytes:
    """Fault that inserts bytes that are no event."""

    at_event: int
    data: bytes = b"\xff\xfe<garbage>\n\n"

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return _insert(steps, self.at_event, Write(self.data))


@dataclass(frozen=True, slots=True)
class ReplacedBytes:
    """Fault that replaces a text with other bytes, which may be invalid UTF-8."""

    text: str
    data: bytes

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        return [
            replace(step, data=step.data.replace(self.text.encode(), self.data))
            if isinstance(step, Write)
            else step
            for step in steps
        ]


@dataclass(frozen=True, slots=True)
class ExtraEvent:
    """Fault that inserts an unknown event, or additional known ones."""

    at_event: int
    name: str = "future_event"
    data: JsonValue = None
    count: int = 1

    def apply(self, steps: Sequence[ResponseStep]) -> list[ResponseStep]:
        bare: JsonValue = {"type": self.name}
        data = bare if self.data is None else self.data
        return _insert(steps, self.at_event, *[sse_event(self.name, data)] * self.count)


def pings(at_event: int, count: int = 10) -> ExtraEvent:
    """Return a fault that inserts more pings than the API sends."""
    return ExtraEvent(at_event, "ping", count=count)


def huge_event(at_event: int, byte_count: int = 8_000_000) -> ExtraEvent:
    """Return a fault that inserts a very large unknown event."""
    return ExtraEvent(at_event, data={"type": "future_event", "padding": "x" * byte_count})
