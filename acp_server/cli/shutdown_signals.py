"""Records SIGINT, SIGTERM and SIGHUP so that a run ends in order and still prints its result.

For a single task only the first signal counts: `timeout` and some CI runners send two, and the
result must be the same. Imports almost nothing, because a signal that arrives before the handlers
are set is lost.
"""

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType

SHUTDOWN_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class ShutdownRequestedError(BaseException):
    """A blocking operation was interrupted because a signal asks the process to end."""


class ShutdownSignals(AbstractContextManager["ShutdownSignals"]):
    """Context manager that records termination signals instead of letting them end the process."""

    def __init__(self) -> None:
        self.signal_number: int | None = None
        """Number of the first signal, or None."""
        self.received: list[int] = []
        """Numbers of all signals, for commands to which a second one means more."""
        self._should_interrupt = False
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.settimeout(0)
        self._previous_handlers: dict[
            int, Callable[[int, FrameType | None], object] | int | None
        ] = {}

    def __enter__(self) -> "ShutdownSignals":
        """Install the signal handlers."""
        for number in SHUTDOWN_SIGNALS:
            self._previous_handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the previous handlers, unless a signal came: then the process ends anyway."""
        # After a first signal, restoring would let a second one kill the process before it exits
        # with the code of its outcome.
        if self.signal_number is None:
            for number, handler in self._previous_handlers.items():
                signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    @contextmanager
    def interrupt_blocking(self) -> Generator[None]:
        """Interrupt the blocking code inside if a signal comes, or has come already.

        Raises:
            ShutdownRequestedError: A signal came.
        """
        self._should_interrupt = True
        try:
            if self.signal_number is not None:
                raise ShutdownRequestedError
            yield
        finally:
            self._should_interrupt = False

    def clear(self) -> None:
        """Read the signals that have come: `fileno` becomes readable with the next one."""
        with suppress(BlockingIOError):
            self._reader.recv(4096)

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when a signal comes."""
        return self._reader.fileno()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Record the signal; the byte written wakes an event loop that waits on `fileno`."""
        del frame
        self.received.append(number)
        if self.signal_number is None:
            self.signal_number = number
        with suppress(OSError):  # closed, or full of signals that were not read
            self._writer.send(b"\0")
        if self._should_interrupt:
            raise ShutdownRequestedError
