"""Sandbox settings of the user. Imports no tools, because it is needed before they are loaded."""

from pathlib import Path
from typing import Literal

from acp_server.startup.fast_dataclass import frozen


@frozen
class SandboxRules:
    """How commands are confined, where the system supports it."""

    mode: Literal["off", "workspace", "strict"] = "off"
    has_network: bool = False
    writable: tuple[Path, ...] = ()
    """Directories that commands may write besides the session's and the temporary ones."""
    temporary: tuple[Path, ...] = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108
    """Temporary directories besides the user's own. They are shared: a command finds there files of
    the file tools, the user and other commands."""
