"""Detects a model that makes the same calls with the same results again and again.

A call with a result that this turn has not seen yet is progress and starts the count anew, so a
test that fails after each of several different edits is no repetition, while two calls that take
turns are one each.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Protocol

from acp_server.turn.conversation import ToolCall, ToolResult, parse_arguments

NOTED_COUNT = 3
"""From this many repetitions on, the result says so."""
ASKED_COUNT = 5
"""After this many repetitions, and again after as many more, the user decides how to go on."""
MAX_SHOWN_CHARACTERS = 200
REPEATED = (
    "[This call was made {count} times with the same result; making it again changes nothing. Read "
    "the result again, then check what you assume (does the path exist, is the name spelled so?), "
    "use other arguments or another tool. If nothing is left to try, tell the user what stopped "
    "you.]"
)
ASKED_TITLE = "The model repeats itself. Let it continue?"
ASKED_REASON = "the same call was made {count} times with the same result: {call}"
STOPPED = "the user stopped the turn because this call was repeated; wait for their next message"

_VARYING = re.compile(r"\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\b|\b0x[0-9a-f]+\b")
"""Parts of a result that differ between equal runs: durations and addresses."""


class ContinueAsker(Protocol):
    """Asks the user whether a turn may continue."""

    async def ask_to_continue(self, title: str, reason: str) -> bool | None:
        """Return the user's decision; None if nobody can be asked."""
        ...


class RepetitionDetector:
    """Counts repeated calls of one turn."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        """Digests of all calls with their results."""
        self._counts: dict[bytes, int] = {}
        """How often each was made since the last progress."""

    def count(self, batch: Sequence[tuple[ToolCall, ToolResult]]) -> dict[str, int]:
        """Add the calls of one reply; return how often each was made, by call id."""
        digests = {call.id: _digest(call, result) for call, result in batch}
        if not self._seen.issuperset(digests.values()):
            # Not to 0: of two calls that take turns, the second is new after the first.
            self._counts = dict.fromkeys(self._counts, 1)
        # A call that is there several times in one reply counts once: the model has not seen its
        # result in between.
        for digest in dict.fromkeys(digests.values()):
            self._seen.add(digest)
            self._counts[digest] = self._counts.get(digest, 0) + 1
        return {call_id: self._counts[digest] for call_id, digest in digests.items()}

    def reset(self) -> None:
        """Start anew: the user wants the turn to continue, or has said something."""
        self._counts.clear()


def describe_call(call: ToolCall) -> str:
    """Return a call as one short line."""
    text = " ".join(f"{call.name} {call.arguments}".split())
    cut = len(text) > MAX_SHOWN_CHARACTERS
    return f"{text[:MAX_SHOWN_CHARACTERS]}…" if cut else text


def _digest(call: ToolCall, result: ToolResult) -> bytes:
    try:
        arguments = json.dumps(parse_arguments(call), sort_keys=True)
    except ValueError:
        arguments = call.arguments
    parts = [call.name, arguments, str(result.is_error), _VARYING.sub("", result.text)]
    parts += [media.data for media in result.media]
    # A digest: results may be large, and all of a turn are remembered.
    return hashlib.blake2b("\0".join(parts).encode(errors="replace"), digest_size=16).digest()
