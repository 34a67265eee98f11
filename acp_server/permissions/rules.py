"""Rules: what the user said once for all, and what that covers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.permissions.scopes import (
    Act,
    CommandScope,
    FolderScope,
    Scope,
    ServerScope,
    SiteScope,
)
from acp_server.permissions.shell.assessment import matches_prefix


@frozen
class Rule:
    """What the user said once for all that a scope covers."""

    scope: Scope
    is_allowed: bool


@dataclass(slots=True)
class RuleBook:
    """The rules that hold in a session: its own, and those of its workspace."""

    rules: list[Rule] = field(default_factory=list[Rule])

    def verdict_on_files(self, act: Act, files: Sequence[Path]) -> bool | None:
        """Return what the rules say of files, links resolved; None is neither yes nor no.

        One file that is refused refuses all of them; a yes must cover every file.
        """
        found = [self._verdict_on_file(act, file) for file in files]
        if False in found:
            return False
        return True if found and None not in found else None

    def verdict_on_command(self, command: str) -> bool | None:
        """Return what the rules say of a command line; a no counts more than a yes."""
        found = [
            rule.is_allowed
            for rule in self.rules
            if isinstance(rule.scope, CommandScope) and matches_prefix(command, rule.scope.prefix)
        ]
        return all(found) if found else None

    def verdict_on(self, scope: ServerScope | SiteScope) -> bool | None:
        """Return what the rules say of a server's tool or a site; a no counts more than a yes."""
        found = [rule.is_allowed for rule in self.rules if rule.scope == scope]
        return all(found) if found else None

    def _verdict_on_file(self, act: Act, file: Path) -> bool | None:
        found = [rule.is_allowed for rule in self.rules if _covers(rule.scope, act, file)]
        return all(found) if found else None


def _covers(scope: Scope, act: Act, file: Path) -> bool:
    if not isinstance(scope, FolderScope) or scope.act != act:
        return False
    return file.is_relative_to(scope.folder)
