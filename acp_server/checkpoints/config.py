"""Checkpoint settings and fixed limits: which files are stored, how much, and for how long."""

from acp_server.startup.fast_dataclass import frozen_dataclass

MEGABYTE = 1024 * 1024
SNAPSHOT_SECONDS = 5.0
"""How long a turn's first command waits at most; files not stored by then are listed."""
MAX_FILES = 100_000
"""In a directory with more files, changes made by commands are not tracked."""


@frozen_dataclass
class CheckpointConfig:
    """The user's settings."""

    is_enabled: bool = True
    include: tuple[str, ...] = ()
    """Patterns as in `.gitignore`: ignored files to include nevertheless."""
    max_file_mb: float = 10.0
    max_total_mb: float = 1024.0
    """Size limit of the stored states of one workspace."""
    keep_days: float = 30.0
    snapshot_seconds: float = SNAPSHOT_SECONDS
    max_files: int = MAX_FILES

    @property
    def max_file_bytes(self) -> int:
        """Size limit of one stored file, in bytes."""
        return int(self.max_file_mb * MEGABYTE)

    @property
    def max_total_bytes(self) -> int:
        """Size limit of the stored states of one workspace, in bytes."""
        return int(self.max_total_mb * MEGABYTE)
