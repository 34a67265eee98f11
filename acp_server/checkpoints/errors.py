"""Errors of storing and loading checkpoints.

CheckpointError
├── CheckpointStoreError    something cannot be stored; the turn goes on without it
└── CheckpointReadError       something that was stored cannot be loaded
"""


class CheckpointError(Exception):
    """Base class; `reason` is a phrase for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CheckpointStoreError(CheckpointError):
    """Something cannot be stored."""


class CheckpointReadError(CheckpointError):
    """Something that was stored is missing or damaged."""
