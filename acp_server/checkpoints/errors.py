"""Errors of storing and loading checkpoints.

CheckpointError
├── KeepingError    something cannot be stored; the turn goes on without it
└── LostError       something that was stored cannot be loaded
"""


class CheckpointError(Exception):
    """Base class; `reason` is a phrase for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class KeepingError(CheckpointError):
    """Something cannot be stored."""


class LostError(CheckpointError):
    """Something that was stored is missing or damaged."""
