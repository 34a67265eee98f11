"""Client terminals: commands that the client runs for the agent, visible to the user.

Every created terminal must be released, even if it was killed.
"""

from typing import Annotated

from acp_server.protocol.identifiers import SessionId, TerminalId
from acp_server.protocol.model import (
    UNLESS_EMPTY,
    ExtensibleModel,
    Lenient,
    NullableArray,
    Omissible,
    Uint32,
    Uint64,
)
from acp_server.protocol.sessions import EnvVariable


class TerminalExitStatus(ExtensibleModel):
    """Exit code of a command, or the signal that ended it."""

    exit_code: Lenient[Uint32] = None
    signal: Lenient[str] = None


class CreateTerminalRequest(ExtensibleModel):
    """`terminal/create`: start a command; `cwd` must be absolute.

    The client keeps the last `output_byte_limit` bytes of the output.
    """

    session_id: SessionId
    command: str
    args: Annotated[NullableArray[str], UNLESS_EMPTY] = ()
    env: Annotated[NullableArray[EnvVariable], UNLESS_EMPTY] = ()
    cwd: Omissible[str] = None
    output_byte_limit: Omissible[Uint64] = None


class CreateTerminalResponse(ExtensibleModel):
    """The terminal of the running command."""

    terminal_id: TerminalId


class TerminalRequest(ExtensibleModel):
    """Common fields of requests about an existing terminal."""

    session_id: SessionId
    terminal_id: TerminalId


class TerminalOutputRequest(TerminalRequest):
    """`terminal/output`: get the output so far."""


class TerminalOutputResponse(ExtensibleModel):
    """The kept output, whether its beginning was cut off, and the exit status if any."""

    output: str
    truncated: bool
    exit_status: Lenient[TerminalExitStatus] = None


class WaitForTerminalExitRequest(TerminalRequest):
    """`terminal/wait_for_exit`: wait until the command has exited."""


class WaitForTerminalExitResponse(TerminalExitStatus):
    """Exit status of the command."""


class KillTerminalRequest(TerminalRequest):
    """`terminal/kill`: kill the command, keep the terminal."""


class KillTerminalResponse(ExtensibleModel):
    """Confirms that the command was killed."""


class ReleaseTerminalRequest(TerminalRequest):
    """`terminal/release`: kill the command if it runs, and free the terminal."""


class ReleaseTerminalResponse(ExtensibleModel):
    """Confirms that the terminal was released."""
