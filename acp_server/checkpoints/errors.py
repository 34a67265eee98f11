"""What goes wrong when states of files are kept or had back.

CheckpointError
├── KeepingError    something cannot be kept; the work goes on without it
└── LostError       something that was kept cannot be had back
"""


class CheckpointError(Exception):
    """`reason` is a phrase for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class KeepingError(CheckpointError):
    """Something cannot be kept."""


class LostError(CheckpointError):
    """Something that was kept is not there, or is not what it was."""
