"""Effects that a tool is about to have, in terms that the policy can judge."""

from pathlib import Path
from typing import Literal

from acp_server.permissions.network_access import PortAccess
from acp_server.startup.fast_dataclass import frozen_dataclass

SandboxStatus = Literal["free", "confined", "networked", "unconfined", "unprotected"]
"""Relation of a command to the sandbox.

free: no sandbox is configured. confined: it runs inside. networked: it runs inside, but asks for
the whole network. unconfined: it asks to run outside. unprotected: it should run inside, but this
machine has no sandbox."""


@frozen_dataclass
class FileTarget:
    """File or directory: the path as named, and the path with symlinks resolved."""

    path: Path
    real: Path
    is_inside: bool
    """Whether `real` is in a directory of the session."""
    link: Path | None = None
    """The path that is changed if it is not `real`: the symlink itself."""


@frozen_dataclass
class ReadFiles:
    """Read files or search directories."""

    targets: tuple[FileTarget, ...]


@frozen_dataclass
class WriteFiles:
    """Create, change, move or delete files."""

    targets: tuple[FileTarget, ...]


@frozen_dataclass
class RestoreFiles:
    """Restore files to their state before a turn."""

    targets: tuple[FileTarget, ...]
    changed_since: tuple[str, ...] = ()
    """Names of files that were changed after the turn; restoring loses these changes."""


@frozen_dataclass
class WorkspaceProgram:
    """A program of a command that the workspace provides or chooses: its name says nothing."""

    name: str
    """As the command calls it."""
    path: Path
    """The program itself, or the file that chooses it."""
    is_chosen: bool = False
    """Whether it is the shim of a version manager, and `path` the file that chooses what runs."""


@frozen_dataclass
class RunCommandEffect:
    """Run a shell command in a directory."""

    command: str
    cwd: FileTarget
    is_input: bool = False
    """Whether it is input for a running command, whose reaction cannot be predicted."""
    sandbox_status: SandboxStatus = "free"
    is_isolated: bool = False
    """Whether the sandbox can keep files from it, and it reaches only hosts that were allowed."""
    workspace_programs: tuple[WorkspaceProgram, ...] = ()
    exposure: str = ""
    """Secrets of other processes that it could read outside the sandbox, as a phrase."""


@frozen_dataclass
class ChangeMemory:
    """Change the memory: the two files that outlast the session."""

    asks_first: bool = False
    """Whether the user wants to approve each change."""


@frozen_dataclass
class CallMcpTool:
    """Call a tool of an MCP server; only the server knows its effects."""

    server: str
    identity: str
    """Digest of the server's configuration: a different program with the same name is another
    server."""
    tool: str
    read_only_hint: bool = False
    """Whether the server says that the tool changes nothing. Unverified."""
    destructive_hint: bool = False
    """Whether the server says that the tool may be destructive."""


@frozen_dataclass
class FetchUrl:
    """Fetch a web page; the URL alone may leak data to its host."""

    site: str
    """The host, with the port if it is not the default one."""
    url: str


@frozen_dataclass
class ConnectHost:
    """Let a running command of the sandbox connect to a host."""

    site: str
    """The host, with the port if it is not the default one."""
    address: str = ""
    """The host's address if it is not on the public internet."""


@frozen_dataclass
class ConnectSocket:
    """Let a running command of the sandbox connect to a service outside by its Unix socket."""

    path: str
    danger: str
    """What the service can do for the command, as a phrase."""


@frozen_dataclass
class ForwardPort:
    """Let this machine connect to a port of the sandbox's private network."""

    port: int
    access: PortAccess = "ask"
    """What the user has chosen for all ports."""


@frozen_dataclass
class ChangeSkill:
    """Change a skill, which affects later sessions, too."""

    targets: tuple[FileTarget, ...]
    """The files and directories that are created, changed or moved."""
    doubts: tuple[str, ...] = ()
    """Parts of the change that the user must know about before, as phrases."""


@frozen_dataclass
class PassVariables:
    """Give environment variables to the commands of a session, because a skill declares them."""

    skill: str
    identity: str
    """Digest of the skill's files: a changed skill is another one."""
    names: tuple[str, ...]


@frozen_dataclass
class LeavePlanMode:
    """Leave plan mode, so that the plan may be carried out."""


Effect = (
    ChangeSkill
    | LeavePlanMode
    | ReadFiles
    | WriteFiles
    | RestoreFiles
    | RunCommandEffect
    | ChangeMemory
    | CallMcpTool
    | FetchUrl
    | ConnectHost
    | ConnectSocket
    | ForwardPort
    | PassVariables
)
