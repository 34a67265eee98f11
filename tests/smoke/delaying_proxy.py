"""A TCP proxy that delays both directions, and can drop its connections."""

import queue
import socket
import struct
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

READ_BYTES = 65536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class DelayingProxy:
    """Forwards connections to a port of this machine, in threads of its own."""

    def __init__(self, target_port: int, one_way_seconds: float) -> None:
        self._target_port = target_port
        self._one_way_seconds = one_way_seconds
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.drop()
        self._listener.close()

    def drop(self) -> None:
        """Reset every connection, as a network that goes away does in the end."""
        while self._open:
            end = self._open.pop()
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target_port))
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    delayed: queue.Queue[tuple[float, bytes]] = queue.Queue()
                    for work, end in ((self._receive, source), (self._deliver, target)):
                        threading.Thread(target=work, args=(end, delayed), daemon=True).start()

    def _receive(self, source: socket.socket, delayed: queue.Queue[tuple[float, bytes]]) -> None:
        data = b"first"
        while data:
            try:
                data = source.recv(READ_BYTES)
            except OSError:
                data = b""
            delayed.put((time.monotonic() + self._one_way_seconds, data))

    def _deliver(self, target: socket.socket, delayed: queue.Queue[tuple[float, bytes]]) -> None:
        with suppress(OSError):  # dropped
            while True:
                due, data = delayed.get()
                time.sleep(max(due - time.monotonic(), 0))
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
