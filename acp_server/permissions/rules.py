"""Permission rules: saved "always" answers, and the effects that they cover."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.permissions.scopes import (
    CommandScope,
    DirectoryScope,
    FileAccess,
    McpToolScope,
    Scope,
    SiteScope,
)
from acp_server.permissions.shell.assessment import matches_prefix
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class PermissionRule:
    """An "always" answer for everything that a scope covers."""

    scope: Scope
    is_allowed: bool


@dataclass(slots=True)
class RuleBook:
    """Rules that apply in a session: its own and those of its workspace."""

    rules: list[PermissionRule] = field(default_factory=list[PermissionRule])

    def verdict_on_files(self, access: FileAccess, files: Sequence[Path]) -> bool | None:
        """Return whether the rules allow files, symlinks resolved; None if they do not say.

        One rejected file rejects all of them; to be allowed, every file must be covered.
        """
        verdicts = [self._verdict_on_file(access, file) for file in files]
        # A rejected file first: one rejection outweighs approvals for all other files.
        if False in verdicts:
            return False
        # No files means no approval, so that an empty list is never allowed by a rule.
        return True if verdicts and None not in verdicts else None

    def verdict_on_command(self, command: str) -> bool | None:
        """Return whether the rules allow a command line; a rejection wins."""
        verdicts = [
            rule.is_allowed
            for rule in self.rules
            if isinstance(rule.scope, CommandScope) and matches_prefix(command, rule.scope.prefix)
        ]
        return all(verdicts) if verdicts else None

    def verdict_on(self, scope: McpToolScope | SiteScope) -> bool | None:
        """Return whether the rules allow a server's tool or a site; a rejection wins."""
        verdicts = [rule.is_allowed for rule in self.rules if rule.scope == scope]
        return all(verdicts) if verdicts else None

    def _verdict_on_file(self, access: FileAccess, file: Path) -> bool | None:
        verdicts = [rule.is_allowed for rule in self.rules if _covers(rule.scope, access, file)]
        return all(verdicts) if verdicts else None


def _covers(scope: Scope, access: FileAccess, file: Path) -> bool:
    if not isinstance(scope, DirectoryScope) or scope.access != access:
        return False
    # Both paths are resolved, so `..` and symlinks cannot leave the approved directory.
    return file.is_relative_to(scope.directory)
