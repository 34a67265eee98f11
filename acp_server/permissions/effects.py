"""What a tool is about to do to the world, in words that a policy can judge."""

from pathlib import Path
from typing import Literal

from acp_server.frozen import frozen

Standing = Literal["free", "confined", "unconfined", "unprotected"]
"""How a command stands to the sandbox: there is to be none, it is in it, it asks to be let out, or
it should be in it and there is none on this machine."""


@frozen
class Target:
    """A file or folder: as it was named, and where that leads once links are followed."""

    path: Path
    real: Path
    is_inside: bool
    """Whether `real` lies in a folder of the session."""
    stands: Path | None = None
    """What is changed, where that is not what lies at `real`: the link itself."""


@frozen
class ReadFiles:
    """Files are read, or folders searched."""

    targets: tuple[Target, ...]


@frozen
class WriteFiles:
    """Files are made, changed, moved or deleted."""

    targets: tuple[Target, ...]


@frozen
class RestoreFiles:
    """Files are made again what they were before a turn."""

    targets: tuple[Target, ...]
    changed_since: tuple[str, ...] = ()
    """The names of those that somebody has changed since the turn: their changes would go."""


@frozen
class RunCommand:
    """A shell command is run, in a folder."""

    command: str
    cwd: Target
    is_input: bool = False
    """Whether a command that runs already reads this: what it makes of it, nobody can know."""
    standing: Standing = "free"


@frozen
class ChangeMemory:
    """What is remembered beyond the session is changed, in the two files there are for it."""

    asks_first: bool = False
    """Whether the user wants to be asked about each change."""


@frozen
class CallServer:
    """A tool of an MCP server is called: what it does there, only the server knows."""

    server: str
    identity: str
    """What the server is besides its name, as a digest: another program is another server."""
    tool: str
    claims_to_read: bool = False
    """Whether the server says that the tool changes nothing. Nobody has checked that."""
    claims_to_destroy: bool = False
    """Whether the server says that the tool may destroy something."""


@frozen
class FetchUrl:
    """A page is fetched from the web: the address alone may tell its host something."""

    site: str
    """The host, with the port where it is not the usual one."""
    url: str


@frozen
class ChangeSkill:
    """A skill is changed: what it says holds for later sessions too."""

    targets: tuple[Target, ...]
    """The files and folders that are made, changed or moved."""
    doubts: tuple[str, ...] = ()
    """What the change brings that a user must know of before, in phrases."""


@frozen
class LeavePlanMode:
    """Plan mode ends: what was only planned may be done from then on."""


Effect = (
    ChangeSkill
    | LeavePlanMode
    | ReadFiles
    | WriteFiles
    | RestoreFiles
    | RunCommand
    | ChangeMemory
    | CallServer
    | FetchUrl
)
