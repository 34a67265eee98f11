"""What goes to a run's stdout: whole lines, in order, from one thread, nothing after a reader left.

Owns the descriptor while the run lasts: whatever else prints goes to stderr.
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
    r"""Return JSON on one line that no log takes for a command: the old sign of one is escaped.

    >>> json_line({"text": "##[error]"})
    '{"text": "\\u0023\\u0023[error]"}'
    """
    return harmless_json(json.dumps(value))


def harmless_json(line: str) -> str:
    """Return the same JSON without the sign of a command of GitHub's or Azure's."""
    return line.replace("##", "\\u0023\\u0023")


class Lines:
    """Writes lines; a reader that has left is written to no more."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = anyio.Lock()
        self._has_reader = True
        self.fault = ""
        """Why not all could be written, if that is no reader's doing."""

    async def write(self, text: str) -> None:
        """Write a line without blocking the loop; whoever is slow holds the run back."""
        async with self._lock:
            await to_thread.run_sync(self.write_now, text)

    def write_now(self, text: str) -> None:
        """Write a line; blocks."""
        left = memoryview(f"{text}\n".encode(errors="replace"))
        while left and self._has_reader:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BrokenPipeError:
                self._has_reader = False
            except OSError as error:
                self._has_reader, self.fault = False, str(error)


@contextmanager
def claimed_stdout() -> Generator[Lines]:
    """Take stdout for the run's output; until the end all other prints go to stderr."""
    sys.stdout.flush()
    descriptor = os.dup(1)
    os.dup2(STDERR, 1)
    try:
        yield Lines(descriptor)
    finally:
        sys.stdout.flush()
        os.dup2(descriptor, 1)
        os.close(descriptor)
