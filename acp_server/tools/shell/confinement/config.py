"""Sandbox settings of the user. Imports no tools, because it is needed before they are loaded."""

from pathlib import Path
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class SandboxConfig:
    """How commands are confined, where the system supports it."""

    mode: Literal["off", "workspace", "strict"] = "off"
    has_network: bool = False
    writable_directories: tuple[Path, ...] = ()
    """Directories that commands may write besides the session's and the temporary ones."""
    temporary_directories: tuple[Path, ...] = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108
    """Temporary directories besides the user's own. They are shared: a command finds there files of
    the file tools, the user and other commands."""
