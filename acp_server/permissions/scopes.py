"""Scopes of "always" answers: a directory, commands, project checks, a tool, a site and more."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

FileAccess = Literal["read", "write"]


@frozen_dataclass
class DirectoryScope:
    """Reading, or writing, below a directory; `directory` has its symlinks resolved."""

    access: FileAccess
    directory: Path


@frozen_dataclass
class CommandPattern:
    """Simple commands in one directory that begin with these words, or are exactly these words.

    `shell.covered_programs` says which commands can be covered.
    """

    words: tuple[str, ...]
    directory: Path
    """Symlinks resolved. A rejection holds in all directories."""
    is_exact: bool = False


@frozen_dataclass
class CommandScope:
    """Command lines of which each part either only reads or is covered by one of the patterns."""

    patterns: tuple[CommandPattern, ...]
    hosts: tuple[str, ...] = ()
    """Hosts that parts of the line read from, as with `RemoteReadScope`."""


@frozen_dataclass
class ProjectChecksScope:
    """Tests, linters and builds that the workspace declares, confined by the sandbox."""


@frozen_dataclass
class ConfinedCommandsScope:
    """Command lines that the sandbox confines, with the files of a `Shield` kept from them."""


@frozen_dataclass
class RemoteReadScope:
    """Commands that only read from a host, with the user's account there."""

    host: str


@frozen_dataclass
class McpToolScope:
    """One tool of one MCP server; `identity` distinguishes servers of the same name."""

    server: str
    identity: str
    tool: str


@frozen_dataclass
class SiteScope:
    """Pages of one site: its host without subdomains, with any non-default port."""

    site: str


@frozen_dataclass
class HostScope:
    """Connections of sandboxed commands to one host; `address` if it is not a public one."""

    site: str
    address: str = ""


@frozen_dataclass
class NetworkScope:
    """The whole network, for sandboxed commands that ask for it."""


@frozen_dataclass
class PortScope:
    """Connections of this machine to one port of the sandbox's private network."""

    port: int


@frozen_dataclass
class SkillVariablesScope:
    """Environment variables that a skill declares, for commands; `identity` is its digest."""

    skill: str
    identity: str
    names: tuple[str, ...]


RemoteScope = (
    ProjectChecksScope
    | ConfinedCommandsScope
    | RemoteReadScope
    | McpToolScope
    | SiteScope
    | HostScope
    | NetworkScope
    | PortScope
    | SkillVariablesScope
)
Scope = DirectoryScope | CommandScope | RemoteScope


def scope_parts(scope: Scope) -> tuple[Scope, ...]:
    """Return the parts of a scope that are stored, and can be forgotten, by themselves."""
    if not isinstance(scope, CommandScope):
        return (scope,)
    patterns = (CommandScope((pattern,)) for pattern in scope.patterns)
    return (*patterns, *map(RemoteReadScope, scope.hosts))


def describe_scope(scope: Scope, root: Path) -> str:  # noqa: C901, PLR0911, PLR0912  one per kind
    """Return a one-line description of a scope for the answers that the user is offered."""
    match scope:
        case CommandScope():
            patterns = _describe_patterns(scope.patterns, root) if scope.patterns else ""
            reading = _describe_reading(scope.hosts) if scope.hosts else ""
            return " and ".join(filter(None, (patterns, reading)))
        case ProjectChecksScope():
            return "this project's tests, builds and servers in the sandbox"
        case ConfinedCommandsScope():
            return "everything that the sandbox confines (but no removing or sending)"
        case RemoteReadScope(host):
            return _describe_reading((host,))
        case McpToolScope():
            tool, server = _replace_unprintable(scope.tool), _replace_unprintable(scope.server)
            return f"`{tool}` of the server `{server}`"
        case SiteScope():
            return f"pages of `{_replace_unprintable(scope.site)}`"
        case HostScope():
            address = f" at {scope.address}" if scope.address else ""
            return f"connections of commands to `{_replace_unprintable(scope.site)}`{address}"
        case PortScope(port):
            return f"connections of this machine to port {port} of commands"
        case SkillVariablesScope(skill, _, names):
            return f"{', '.join(names)} for the skill {_replace_unprintable(skill)}"
        case NetworkScope():
            return "the network for commands that ask for it"
        case DirectoryScope():
            return _describe_directory(scope, root)


def _describe_reading(hosts: Sequence[str]) -> str:
    return f"reading from {_replace_unprintable(', '.join(hosts))} with git and gh"


def _describe_directory(scope: DirectoryScope, root: Path) -> str:
    activity = "edits" if scope.access == "write" else "reading"
    if scope.directory == root:
        return f"{activity} in this workspace"
    is_below = scope.directory.is_relative_to(root)
    name = scope.directory.relative_to(root).as_posix() if is_below else str(scope.directory)
    return f"{activity} in {_replace_unprintable(name)}/"


def _describe_patterns(patterns: Sequence[CommandPattern], root: Path) -> str:
    """Return the commands, grouped by directory: "`git add …` and `npm test …` in web/"."""
    directories = dict.fromkeys(pattern.directory for pattern in patterns)
    groups: list[str] = []
    for directory in directories:
        commands = dict.fromkeys(
            f"`{_replace_unprintable(shlex.join(each.words))}{'' if each.is_exact else ' …'}`"
            for each in patterns
            if each.directory == directory
        )
        place = ""
        if directory != root:
            is_below = directory.is_relative_to(root)
            name = directory.relative_to(root).as_posix() if is_below else str(directory)
            place = f" in {_replace_unprintable(name)}/"
        groups.append(" and ".join(commands) + place)
    is_exact = all(pattern.is_exact for pattern in patterns)
    return f"{'exactly ' if is_exact else ''}{', '.join(groups)}"


def _replace_unprintable(text: str) -> str:
    """Replace unprintable characters, which could make a text look like another one."""
    # Security: control and bidirectional characters could disguise the scope that the user
    # approves.
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
