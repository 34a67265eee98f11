"""Which commands run when, as the user has said in the settings; nobody else can.

Pure. A command before a call can refuse it, and can allow nothing: the gate decides behind it.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from acp_server.frozen import frozen

ANY_TOOL = "*"
DEFAULT_SECONDS = 10.0


@frozen
class Hook:
    """A command, for the tools whose names match."""

    command: str
    """A line for the shell."""
    match: str = ANY_TOOL
    """Patterns of names, such as `write_file|patch` or `github__*`."""
    timeout_seconds: float = DEFAULT_SECONDS


@frozen
class HookRules:
    """All hooks, each list in the order in which it runs."""

    before_tool: Sequence[Hook] = ()
    after_tool: Sequence[Hook] = ()
    after_turn: Sequence[Hook] = ()
    is_broken: bool = False
    """Whether the settings hold hooks before calls that cannot be understood: nothing is let by."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to run."""
        return not (self.before_tool or self.after_tool or self.after_turn or self.is_broken)


def matching(hooks: Sequence[Hook], tool: str) -> Sequence[Hook]:
    """Return the hooks for a tool.

    >>> [hook.command for hook in matching([Hook("a", "write_*|patch"), Hook("b")], "patch")]
    ['a', 'b']
    """
    return [hook for hook in hooks if _matches(hook.match, tool)]


def _matches(patterns: str, tool: str) -> bool:
    return any(fnmatchcase(tool, pattern.strip()) for pattern in patterns.split("|"))
