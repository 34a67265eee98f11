"""Errors of shell commands.

ShellError    a command cannot be started, or a request about it cannot be fulfilled
"""


class ShellError(Exception):
    """A command cannot be run or controlled. `reason` says why and what to do instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
