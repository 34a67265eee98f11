"""Signals that ask the process to end: noted from the first moment on, and then ended in order.

Further ones change nothing: who asks twice, as `timeout` and some runners do, gets the same result.
Imports next to nothing: what comes before it is not noted.
"""

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, TracebackType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class EndedError(BaseException):
    """What blocked was broken off, for the process is asked to end."""


class Endings(AbstractContextManager["Endings"]):
    """While it lasts no signal ends the process by itself."""

    def __init__(self) -> None:
        self.number: int | None = None
        """The signal that came first, if one has come."""
        self._is_breaking = False
        self._reader, self._writer = socket.socketpair()
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> "Endings":
        """Note signals from now on."""
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave signals to who had them; one that was asked to end is at its end already."""
        if self.number is None:
            for number, handler in self._before.items():
                signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    @contextmanager
    def breaking(self) -> Generator[None]:
        """Have a signal break off what blocks inside.

        Raises:
            EndedError: one has come.
        """
        self._is_breaking = True
        try:
            if self.number is not None:
                raise EndedError
            yield
        finally:
            self._is_breaking = False

    def fileno(self) -> int:
        """Return what becomes readable when a signal comes."""
        return self._reader.fileno()

    def _take(self, number: int, frame: FrameType | None) -> None:
        """Note a signal; the loop, if there is one, wakes up by what is written."""
        del frame
        if self.number is None:
            self.number = number
            self._writer.send(b"\0")
        if self._is_breaking:
            raise EndedError
