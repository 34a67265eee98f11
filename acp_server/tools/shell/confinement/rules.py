"""What the user has said of the sandbox. Imports nothing, for it is known before the tools are."""

from pathlib import Path
from typing import Literal

from acp_server.frozen import frozen


@frozen
class SandboxRules:
    """How commands are confined, where the system offers it."""

    mode: Literal["off", "workspace", "strict"] = "off"
    has_network: bool = False
    writable: tuple[Path, ...] = ()
    """Folders that commands may write besides those of the session and the temporary ones."""
    temporary: tuple[Path, ...] = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108
    """The temporary ones, besides the user's own. They are shared: a command finds there what the
    file tools, the user or another command have put there."""
