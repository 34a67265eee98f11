"""Scopes of "always" answers: a directory, a command prefix, a server's tool or a site."""

import shlex
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
class CommandScope:
    """Commands that begin with these words; `shell.prefixes` says which prefixes can be covered."""

    prefix: tuple[str, ...]


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


Scope = DirectoryScope | CommandScope | McpToolScope | SiteScope


def describe_scope(scope: Scope, root: Path) -> str:
    """Return a one-line description of a scope for the answers that the user is offered."""
    match scope:
        case CommandScope():
            return f"commands that begin with `{_replace_unprintable(shlex.join(scope.prefix))}`"
        case McpToolScope():
            tool, server = _replace_unprintable(scope.tool), _replace_unprintable(scope.server)
            return f"`{tool}` of the server `{server}`"
        case SiteScope():
            return f"pages of `{_replace_unprintable(scope.site)}`"
        case DirectoryScope():
            activity = "edits" if scope.access == "write" else "reading"
            if scope.directory == root:
                return f"{activity} in this workspace"
            is_below = scope.directory.is_relative_to(root)
            name = (
                scope.directory.relative_to(root).as_posix() if is_below else str(scope.directory)
            )
            return f"{activity} in {_replace_unprintable(name)}/"


def _replace_unprintable(text: str) -> str:
    """Replace unprintable characters, which could make a text look like another one."""
    # Security: control and bidirectional characters could disguise the scope that the user
    # approves.
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
