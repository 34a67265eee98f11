"""What is kept, how much of it, and for how long: the settings, and the bounds that are fixed."""

from acp_server.frozen import frozen

MEGABYTE = 1024 * 1024
SNAPSHOT_SECONDS = 5.0
"""How long a turn's first command waits at most; what is not kept by then is named."""
MOST_FILES = 100_000
"""Of a folder with more files, nothing is kept for commands."""


@frozen
class CheckpointRules:
    """The user's settings."""

    is_enabled: bool = True
    include: tuple[str, ...] = ()
    """Patterns as in `.gitignore`: ignored files that are kept all the same."""
    max_file_mb: float = 10.0
    max_total_mb: float = 1024.0
    """The size of the kept states of one workspace."""
    keep_days: float = 30.0
    snapshot_seconds: float = SNAPSHOT_SECONDS
    most_files: int = MOST_FILES

    @property
    def max_file_bytes(self) -> int:
        """The largest file that is kept."""
        return int(self.max_file_mb * MEGABYTE)

    @property
    def max_total_bytes(self) -> int:
        """The most bytes of one workspace."""
        return int(self.max_total_mb * MEGABYTE)
