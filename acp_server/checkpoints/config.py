"""Checkpoint settings and fixed limits: which files are stored, how much, and for how long."""

from pydantic import PositiveFloat

from acp_server.config.setting import setting
from acp_server.config.values import Names
from acp_server.startup.fast_dataclass import frozen_dataclass

MEGABYTE = 1024 * 1024
SNAPSHOT_SECONDS = 5.0
"""How long a turn's first command waits at most; files not stored by then are listed."""
MAX_FILES = 100_000
"""In a directory with more files, changes made by commands are not tracked."""


@frozen_dataclass
class CheckpointConfig:
    """The user's settings."""

    is_enabled: bool = setting(
        True, "Whether files are saved before a turn changes them", "checkpoints.enabled"
    )
    include: Names = setting(
        (), "Ignored files to save anyway, as .gitignore patterns", "checkpoints.include"
    )
    max_file_mb: PositiveFloat = setting(
        10.0, "The largest file to save, in MB", "checkpoints.max_file_mb"
    )
    max_total_mb: PositiveFloat = setting(
        1024.0, "The maximum size per workspace, in MB", "checkpoints.max_total_mb"
    )
    keep_days: PositiveFloat = setting(
        30.0, "For how many days checkpoints are kept", "checkpoints.keep_days"
    )
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
