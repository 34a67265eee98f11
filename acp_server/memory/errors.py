"""Errors of changing the memory.

Exception
├── StoreError       the file cannot be read or written; it is unchanged
└── OperationError   the change itself is refused, with the kind of refusal
"""

from typing import Literal

Kind = Literal["incomplete", "blocked", "no match", "several matches", "over the limit"]


class StoreError(Exception):
    """A memory file cannot be used."""

    def __init__(self, reason: str) -> None:
        """Take the problem as a sentence."""
        super().__init__(reason)
        self.reason = reason


class OperationError(Exception):
    """A change is refused; nothing of it was made."""

    def __init__(self, kind: Kind, reason: str, matches: tuple[str, ...] = ()) -> None:
        """Take the problem as a sentence; `matches` are all entries that could be meant."""
        super().__init__(reason)
        self.kind: Kind = kind
        self.reason = reason
        self.matches = matches
