"""Terminals: commands that the client runs for the agent, where the user can watch them.

Every terminal that was created has to be released, even one that was killed.
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
    """How a command ended: with an exit code or by a signal."""

    exit_code: Lenient[Uint32] = None
    signal: Lenient[str] = None


class CreateTerminalRequest(ExtensibleModel):
    """`terminal/create`: start a command, in an absolute `cwd`.

    Of the output, the last `output_byte_limit` bytes are kept.
    """

    session_id: SessionId
    command: str
    args: Annotated[NullableArray[str], UNLESS_EMPTY] = ()
    env: Annotated[NullableArray[EnvVariable], UNLESS_EMPTY] = ()
    cwd: Omissible[str] = None
    output_byte_limit: Omissible[Uint64] = None


class CreateTerminalResponse(ExtensibleModel):
    """The command runs."""

    terminal_id: TerminalId


class TerminalRequest(ExtensibleModel):
    """What every request about an existing terminal says."""

    session_id: SessionId
    terminal_id: TerminalId


class TerminalOutputRequest(TerminalRequest):
    """`terminal/output`: what has the command printed so far?"""


class TerminalOutputResponse(ExtensibleModel):
    """The output as it is kept, whether its beginning is lost, and how the command ended."""

    output: str
    truncated: bool
    exit_status: Lenient[TerminalExitStatus] = None


class WaitForTerminalExitRequest(TerminalRequest):
    """`terminal/wait_for_exit`: answer when the command has ended."""


class WaitForTerminalExitResponse(TerminalExitStatus):
    """The command has ended."""


class KillTerminalRequest(TerminalRequest):
    """`terminal/kill`: end the command, keep the terminal."""


class KillTerminalResponse(ExtensibleModel):
    """The command is ended."""


class ReleaseTerminalRequest(TerminalRequest):
    """`terminal/release`: end the command if it runs, and free the terminal."""


class ReleaseTerminalResponse(ExtensibleModel):
    """The terminal is gone."""
