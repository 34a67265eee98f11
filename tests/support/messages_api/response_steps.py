"""Steps in which a connection sends a response."""

import threading
from collections.abc import Callable
from dataclasses import dataclass


class ResponseGate:
    """Gate that holds a response back until the test opens it, from any thread."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        """Open the gate for good."""
        self._opened.set()

    @property
    def is_open(self) -> bool:
        """Whether the gate has been opened."""
        return self._opened.is_set()


@dataclass(frozen=True, slots=True)
class Write:
    """Step that sends body bytes."""

    data: bytes
    is_event: bool = False
    """Whether the bytes are exactly one server-sent event."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Step that pauses."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WaitForGate:
    """Step that waits until a gate is open."""

    gate: ResponseGate


@dataclass(frozen=True, slots=True)
class Abort:
    """Step that drops the connection."""


ResponseStep = Write | Wait | WaitForGate | Abort


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """Response to one request: head, body steps and callback."""

    status: int | None
    """None if the connection is dropped before the head."""
    headers: tuple[tuple[str, str], ...]
    body: tuple[ResponseStep, ...]
    before_head: tuple[ResponseStep, ...] = ()
    """Steps before the head is sent."""
    is_chunked: bool = False
    """Whether to use chunked encoding instead of a content length."""
    on_start: Callable[[], None] | None = None
    """Called right before the head is sent."""
