"""Transcripts of attempts: the events of `run --transcript`, one JSON object per line, bounded.

Events are those of `--format stream-json`. Besides, `prompt` comes first, with the `text` of the
task, and `cut` with `bytes` is in place of what a long transcript has lost.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from pydantic import JsonValue

MAX_BYTES = 2_000_000
"""Longest transcript; a longer one loses its middle."""
Json = dict[str, JsonValue]


def read_transcript(file: Path, prompt: str) -> bytes:
    """Return the transcript that a run has written, with its prompt; empty if there is none."""
    try:
        size = file.stat().st_size
        with file.open("rb") as lines:
            if size <= MAX_BYTES:
                events = lines.read()
            else:
                start = lines.read(MAX_BYTES // 2)
                lines.seek(size - MAX_BYTES // 2)
                end = lines.read()
                start, end = start[: start.rfind(b"\n") + 1], end[end.find(b"\n") + 1 :]
                events = start + _line("cut", bytes=size - len(start) - len(end)) + end
    except OSError:
        return b""
    # A killed process may leave half a line.
    events = events[: events.rfind(b"\n") + 1]
    return _line("prompt", text=prompt) + events if events else b""


def parse_transcript(data: str) -> Iterator[Json]:
    """Yield the events of a transcript; what is no event is left out."""
    for line in data.splitlines():
        try:
            event = cast("JsonValue", json.loads(line))
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _line(kind: str, **values: JsonValue) -> bytes:
    return json.dumps({"type": kind, **values}).encode() + b"\n"
