"""Permission rules: saved "always" answers, and the effects that they cover."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    DirectoryScope,
    FileAccess,
    ProjectChecksScope,
    RemoteReadScope,
    RemoteScope,
    Scope,
)
from acp_server.permissions.shell.findings import AskedCommand
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class PermissionRule:
    """An "always" answer for everything that a scope covers."""

    scope: Scope
    is_allowed: bool


@frozen_dataclass
class ListedRule:
    """A rule as the user is shown it."""

    rule: PermissionRule
    text: str
    """What it covers, in one line."""
    is_saved: bool
    """Whether it also holds in later sessions of the workspace."""

    @property
    def id(self) -> str:
        """An id that is the same in every process."""
        return hashlib.sha256(repr(self.rule).encode(errors="surrogatepass")).hexdigest()[:16]


@frozen_dataclass
class CommandPart:
    """A simple command of a line that asks, as rules see it."""

    command: AskedCommand
    directories: tuple[Path, ...]
    """The directories that it may run in, symlinks resolved."""
    is_check: bool = False
    """Whether it is one of the workspace's project checks, and the sandbox confines it."""
    hosts: tuple[str, ...] = ()
    """The hosts that it only reads from; empty if it does more, or they are not known."""

    def patterns(self, *, is_exact: bool) -> tuple[CommandPattern, ...]:
        """Return what an "always" for it covers; empty if it may not be covered in this way."""
        if is_exact:
            words = (self.command.words,) if self.command.is_exact else ()
        else:
            words = self.command.prefixes
        return tuple(
            CommandPattern(each, directory, is_exact=is_exact)
            for directory in self.directories
            for each in words
        )


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

    def verdict_on_command(self, parts: Sequence[CommandPart]) -> bool | None:
        """Return whether the rules allow the parts of a command line that ask.

        One rejected part rejects the line; to be allowed, every part must be covered.
        """
        rejected = [
            pattern
            for rule in self.rules
            if isinstance(rule.scope, CommandScope) and not rule.is_allowed
            for pattern in rule.scope.patterns
        ]
        if any(_is_rejected(part, pattern) for part in parts for pattern in rejected):
            return False
        hosts = {host for part in parts for host in part.hosts}
        if any(self._verdict_on_host(each) is False for each in hosts):
            return False
        allowed = [
            pattern
            for rule in self.rules
            if isinstance(rule.scope, CommandScope) and rule.is_allowed
            for pattern in rule.scope.patterns
        ]
        # No part means no approval, so that an unparsed line is never allowed by a rule.
        return True if parts and all(self._is_covered(part, allowed) for part in parts) else None

    def _is_covered(self, part: CommandPart, patterns: Sequence[CommandPattern]) -> bool:
        if part.hosts and all(map(self._verdict_on_host, part.hosts)):
            return True
        if part.is_check and self.verdict_on(ProjectChecksScope()):
            return True
        return all(
            _covers_in(part, [each for each in patterns if each.directory == directory])
            for directory in part.directories
        )

    def _verdict_on_host(self, host: str) -> bool | None:
        """Return whether the rules allow reading from a host; a rejection wins."""
        verdicts = [
            rule.is_allowed
            for rule in self.rules
            if rule.scope == RemoteReadScope(host)
            or (isinstance(rule.scope, CommandScope) and host in rule.scope.hosts)
        ]
        return all(verdicts) if verdicts else None

    def verdict_on(self, scope: RemoteScope) -> bool | None:
        """Return whether the rules allow what is not a file or a command; a rejection wins."""
        verdicts = [rule.is_allowed for rule in self.rules if rule.scope == scope]
        return all(verdicts) if verdicts else None

    def _verdict_on_file(self, access: FileAccess, file: Path) -> bool | None:
        verdicts = [rule.is_allowed for rule in self.rules if _covers(rule.scope, access, file)]
        return all(verdicts) if verdicts else None


def _is_rejected(part: CommandPart, pattern: CommandPattern) -> bool:
    words = part.command.words
    return words == pattern.words if pattern.is_exact else _begins_with(words, pattern.words)


def _covers_in(part: CommandPart, patterns: Sequence[CommandPattern]) -> bool:
    """Return whether the patterns of one directory cover a part."""
    command = part.command
    if command.is_exact and any(
        pattern.is_exact and pattern.words == command.words for pattern in patterns
    ):
        return True
    # An older rule may have more words than are needed.
    return bool(command.prefixes) and all(
        any(
            not pattern.is_exact
            and _begins_with(pattern.words, prefix)
            and (pattern.words == prefix or _begins_with(command.words, pattern.words))
            for pattern in patterns
        )
        for prefix in command.prefixes
    )


def _begins_with(words: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    return words[: len(prefix)] == prefix


def _covers(scope: Scope, access: FileAccess, file: Path) -> bool:
    if not isinstance(scope, DirectoryScope) or scope.access != access:
        return False
    # Both paths are resolved, so `..` and symlinks cannot leave the approved directory.
    return file.is_relative_to(scope.directory)
