"""Line output of a run on stdout: complete lines, in order, none after the reader has left.

Owns stdout during the run: all other prints are redirected to stderr.
"""

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import anyio
from anyio import to_thread
from pydantic import JsonValue

STDERR = 2


def json_line(value: JsonValue) -> str:
    r"""Return JSON on one line, with `##` escaped, which starts a command in CI logs.

    >>> json_line({"text": "##[error]"})
    '{"text": "\\u0023\\u0023[error]"}'
    """
    return json.dumps(value).replace("##", "\\u0023\\u0023")


class OutputLines:
    """Writes lines to a descriptor; stops silently once the reader has closed it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = anyio.Lock()
        self._has_reader = True
        self.error = ""
        """Why writing failed; empty if it did not, or if the reader closed the pipe."""

    async def write(self, text: str) -> None:
        """Write a line in a thread; a slow reader slows the run down."""
        async with self._lock:
            await to_thread.run_sync(self.write_now, text)

    def write_now(self, text: str) -> None:
        """Write a line. Blocking."""
        remaining = memoryview(f"{text}\n".encode(errors="replace"))
        while remaining and self._has_reader:
            try:
                remaining = remaining[os.write(self._descriptor, remaining) :]
            except BrokenPipeError:
                self._has_reader = False
            except OSError as error:
                self._has_reader, self.error = False, str(error)


@contextmanager
def claim_stdout() -> Generator[OutputLines]:
    """Claim stdout for the run's output; redirect all other prints to stderr until exit."""
    sys.stdout.flush()
    descriptor = os.dup(1)
    os.dup2(STDERR, 1)
    try:
        yield OutputLines(descriptor)
    finally:
        sys.stdout.flush()
        os.dup2(descriptor, 1)
        os.close(descriptor)
