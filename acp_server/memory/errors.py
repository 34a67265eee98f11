"""Why a change of the memory is not made.

Exception
├── StoreError       the file cannot be read or written; it is as it was
└── OperationError   the change itself is refused, by its kind
"""

from typing import Literal

Kind = Literal["incomplete", "blocked", "no match", "several matches", "over the limit"]


class StoreError(Exception):
    """A file that cannot be used."""

    def __init__(self, reason: str) -> None:
        """Say in a sentence what is wrong."""
        super().__init__(reason)
        self.reason = reason


class OperationError(Exception):
    """A change that is not made. Nothing of it was."""

    def __init__(self, kind: Kind, reason: str, matches: tuple[str, ...] = ()) -> None:
        """Say in a sentence what is wrong; `matches` are all entries that could be meant."""
        super().__init__(reason)
        self.kind: Kind = kind
        self.reason = reason
        self.matches = matches
