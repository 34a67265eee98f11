"""Errors of changing the memory.

Exception
├── MemoryStoreError       the file cannot be read or written; it is unchanged
└── EntryOperationError   the change itself is refused, with the kind of refusal
"""

from typing import Literal

OperationErrorKind = Literal[
    "incomplete", "blocked", "no match", "several matches", "over the limit"
]


class MemoryStoreError(Exception):
    """A memory file cannot be used."""

    def __init__(self, reason: str) -> None:
        """Take the problem as a sentence."""
        super().__init__(reason)
        self.reason = reason


class EntryOperationError(Exception):
    """A change is refused; nothing of it was made."""

    def __init__(
        self, kind: OperationErrorKind, reason: str, matches: tuple[str, ...] = ()
    ) -> None:
        """Take the problem as a sentence; `matches` are all entries that could be meant."""
        super().__init__(reason)
        self.kind: OperationErrorKind = kind
        self.reason = reason
        self.matches = matches
