"""Errors of shell commands.

ShellError    a command cannot be started, or a request about it cannot be fulfilled
"""

from acp_server.tools.errors import ToolError


class ShellError(ToolError):
    """A command cannot be run or controlled. `reason` says why and what to do instead."""
