"""What can go wrong with a command.

ShellError    it cannot be started, or not be dealt with as asked
"""


class ShellError(Exception):
    """A command that cannot be run or dealt with. `reason` says why and what to do instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
