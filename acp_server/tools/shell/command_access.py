"""How a command is run: as the permission gate has judged and the user has allowed it."""

from acp_server.permissions.shielded_files import Shield
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.command_origin import CommandOrigin


@frozen_dataclass
class CommandAccess:
    """What a command may do, and for which call it runs."""

    origin: CommandOrigin | None = None
    """The call that is asked what a confined command may reach; without one, it reaches nothing."""
    is_unconfined: bool = False
    """Whether it runs outside the sandbox."""
    has_network: bool = False
    """Whether it uses the whole network although it is confined."""
    shield: Shield | None = None
    """Files that are kept from it, because the user has not approved this command itself."""
    only_reads: bool = False
    """Whether it may run without a question: it finds no programs of the workspace, and git runs
    none that a repository names."""


CONFINED = CommandAccess()
UNCONFINED = CommandAccess(is_unconfined=True)
