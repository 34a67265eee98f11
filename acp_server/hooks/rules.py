"""Hook rules: which commands run when. Only the user's settings define them.

Pure. A hook before a call can refuse it but not allow it: the permission gate decides afterwards.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from acp_server.startup.fast_dataclass import frozen_dataclass

ANY_TOOL = "*"
DEFAULT_SECONDS = 10.0


@frozen_dataclass
class Hook:
    """A command for the tools whose names match."""

    command: str
    """Shell command line."""
    match: str = ANY_TOOL
    """Patterns of tool names, such as `write_file|patch` or `github__*`."""
    timeout_seconds: float = DEFAULT_SECONDS


@frozen_dataclass
class HookRules:
    """All hooks, each list in the order of execution."""

    before_tool: Sequence[Hook] = ()
    after_tool: Sequence[Hook] = ()
    after_turn: Sequence[Hook] = ()
    is_invalid: bool = False
    """Whether some configured hooks before calls cannot be parsed: every call is refused then."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to run."""
        return not (self.before_tool or self.after_tool or self.after_turn or self.is_invalid)


def matching_hooks(hooks: Sequence[Hook], tool: str) -> Sequence[Hook]:
    """Return the hooks for a tool.

    >>> hooks = [Hook("a", "write_*|patch"), Hook("b")]
    >>> [hook.command for hook in matching_hooks(hooks, "patch")]
    ['a', 'b']
    """
    return [hook for hook in hooks if _matches(hook.match, tool)]


def _matches(patterns: str, tool: str) -> bool:
    return any(fnmatchcase(tool, pattern.strip()) for pattern in patterns.split("|"))
