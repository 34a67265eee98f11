"""The directories of a session."""

from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class SessionWorkspace:
    """The directories of a session: absolute paths, `cwd` first."""

    cwd: Path
    additional_directories: tuple[Path, ...] = ()

    @property
    def roots(self) -> tuple[Path, ...]:
        """All directories."""
        return (self.cwd, *self.additional_directories)
