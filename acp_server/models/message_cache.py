"""Values derived from messages, kept for as long as the messages exist.

A conversation is sent whole with every request, and its messages never change, so what is derived
from each message is derived once. Looked up by identity: comparing messages would read their texts.
"""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import KeyedRef

from acp_server.turn.conversation import Message

Derived = TypeVar("Derived")
_Reference = KeyedRef[int, Message]


class MessageCache(Generic[Derived]):
    """Cache of what a function returns for messages; callers must not change the results."""

    def __init__(self, derive: Callable[[Message], Derived]) -> None:
        self._derive = derive
        self._entries: dict[int, tuple[_Reference, Derived]] = {}
        self._on_end = self._forget  # one bound method for all entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, message: Message) -> Derived:
        """Return what the function returns for the message."""
        key = id(message)
        entry = self._entries.get(key)
        # An id is used again after its object is gone; then the reference is dead.
        if entry is None or entry[0]() is not message:
            entry = KeyedRef(message, self._on_end, key), self._derive(message)
            self._entries[key] = entry
        return entry[1]

    def _forget(self, reference: _Reference) -> None:
        # Only its own entry: another message may have the same id by now.
        entry = self._entries.get(reference.key)
        if entry is not None and entry[0] is reference:
            del self._entries[reference.key]
