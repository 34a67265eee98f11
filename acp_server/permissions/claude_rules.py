"""The permission rules of Claude Code's settings, in the form of this program."""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from acp_server.permissions.claude_allows import AllowedFile
    from acp_server.permissions.rules import PermissionRule
    from acp_server.permissions.run_rules import RunRule


@frozen_dataclass
class ClaudeRules:
    """The rules of some settings files."""

    rules: "tuple[RunRule, ...]" = ()
    """Those that deny, then those that ask."""
    hidden: tuple[str, ...] = ()
    """Patterns, as in .gitignore, of the workspace's files that must not be read."""
    denied_commands: Mapping[str, str] = field(default_factory=dict[str, str])
    """Patterns of command lines that must not run, with the file of each. They are compared with
    what launchers and shells are given, too."""
    hook_events: tuple[str, ...] = ()
    """Events that a file has hooks for; they are not run."""
    allowed: "tuple[AllowedFile, ...]" = ()
    """What the files allow, each counting once its use is approved."""

    def allowed_by(self, approved: Collection[str]) -> "tuple[PermissionRule, ...]":
        """Return the rules that allow, of the user's own file and of approved uses by digest."""
        return tuple(
            rule
            for file in self.allowed
            if file.use is None or file.use.digest in approved
            for rule in file.rules
        )


NO_RULES = ClaudeRules()
