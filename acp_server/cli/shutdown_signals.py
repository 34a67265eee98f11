"""Records SIGINT, SIGTERM and SIGHUP so that a run ends in order and still prints its result.

Only the first signal counts: `timeout` and some CI runners send two, and the result must be the
same. Imports almost nothing, because a signal that arrives before the handlers are set is lost.
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
    """A blocking operation was interrupted because a signal asks the process to end."""


class Endings(AbstractContextManager["Endings"]):
    """Context manager that records termination signals instead of letting them end the process."""

    def __init__(self) -> None:
        self.number: int | None = None
        """Number of the first signal, or None."""
        self._is_breaking = False
        self._reader, self._writer = socket.socketpair()
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> "Endings":
        """Install the signal handlers."""
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the previous handlers, unless a signal came: then the process ends anyway."""
        # After a first signal, restoring would let a second one kill the process before it exits
        # with the code of its outcome.
        if self.number is None:
            for number, handler in self._before.items():
                signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    @contextmanager
    def breaking(self) -> Generator[None]:
        """Interrupt the blocking code inside if a signal comes, or has come already.

        Raises:
            EndedError: A signal came.
        """
        self._is_breaking = True
        try:
            if self.number is not None:
                raise EndedError
            yield
        finally:
            self._is_breaking = False

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when a signal comes."""
        return self._reader.fileno()

    def _take(self, number: int, frame: FrameType | None) -> None:
        """Record the signal; the byte written wakes an event loop that waits on `fileno`."""
        del frame
        if self.number is None:
            self.number = number
            self._writer.send(b"\0")
        if self._is_breaking:
            raise EndedError
