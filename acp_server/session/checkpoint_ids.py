"""Ids of one session's checkpoints, in the order of its prompts."""

import secrets
import time
from collections.abc import Iterable

_NUMBER_DIGITS = 11


class CheckpointIds:
    """Numbers the prompts of one session; later ids sort behind earlier ones.

    The number is the time in milliseconds, but always larger than the one before: a clock that is
    set back changes no order.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        """Continue after `known`, the ids of the session's stored prompts."""
        self._known = set(known)
        self._last = max((int(each[:_NUMBER_DIGITS], 16) for each in self._known), default=0)
        self._current = ""

    def __contains__(self, checkpoint: str) -> bool:
        return checkpoint in self._known

    @property
    def current(self) -> str:
        """The id that was given last."""
        return self._current or self.create()

    def create(self) -> str:
        """Return the id of a new prompt or restore."""
        self._last = max(self._last + 1, int(time.time() * 1000))
        self._current = f"{self._last:0{_NUMBER_DIGITS}x}{secrets.token_hex(2)}"
        self._known.add(self._current)
        return self._current
