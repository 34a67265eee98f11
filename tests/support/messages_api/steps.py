"""What a connection is told to do for an answer, step by step."""

import threading
from collections.abc import Callable
from dataclasses import dataclass


class Gate:
    """Holds an answer back until the test opens it, from any thread."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        """Let the answer pass, now and ever after."""
        self._opened.set()

    @property
    def is_open(self) -> bool:
        """Whether it was opened."""
        return self._opened.is_set()


@dataclass(frozen=True, slots=True)
class Write:
    """Send bytes of the body."""

    data: bytes
    is_event: bool = False
    """Whether the bytes are one whole event of the stream."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Wait for a gate."""

    gate: Gate


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop the connection where it is."""


Step = Write | Wait | Hold | Abort


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that goes back for one request."""

    status: int | None
    """None when no head is ever sent."""
    headers: tuple[tuple[str, str], ...]
    body: tuple[Step, ...]
    before: tuple[Step, ...] = ()
    """What is done before the head is sent."""
    is_chunked: bool = False
    """Whether the body has no length beforehand."""
    when_begun: Callable[[], None] | None = None
    """Called when the head is about to be sent."""
