"""What an "always" covers: a folder's files, commands that begin alike, a server's tool, a site."""

import shlex
from pathlib import Path
from typing import Literal

from acp_server.frozen import frozen

Act = Literal["read", "write"]


@frozen
class FolderScope:
    """Reading, or writing, what lies below a folder; `folder` has its links resolved."""

    act: Act
    folder: Path


@frozen
class CommandScope:
    """Commands that begin with these words; see `shell.prefixes` for which can be covered."""

    prefix: tuple[str, ...]


@frozen
class ServerScope:
    """One tool of one MCP server; `identity` tells the server from others of its name."""

    server: str
    identity: str
    tool: str


@frozen
class SiteScope:
    """Pages of one site: its host, not those below it; with the port where it is unusual."""

    site: str


Scope = FolderScope | CommandScope | ServerScope | SiteScope


def described(scope: Scope, root: Path) -> str:
    """Return a scope in words of one line, for the answers that the user is offered."""
    match scope:
        case CommandScope():
            return f"commands that begin with `{_plain(shlex.join(scope.prefix))}`"
        case ServerScope():
            return f"`{_plain(scope.tool)}` of the server `{_plain(scope.server)}`"
        case SiteScope():
            return f"pages of `{_plain(scope.site)}`"
        case FolderScope():
            deed = "edits" if scope.act == "write" else "reading"
            if scope.folder == root:
                return f"{deed} in this workspace"
            is_below = scope.folder.is_relative_to(root)
            name = scope.folder.relative_to(root).as_posix() if is_below else str(scope.folder)
            return f"{deed} in {_plain(name)}/"


def _plain(text: str) -> str:
    """Return text without characters that could make it look like another one."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
