"""What speaks against letting a command read all of a folder. Looks at names and links.

What is too much to look through counts as a doubt.
"""

import os
from collections.abc import Iterator
from errno import ENAMETOOLONG
from fnmatch import fnmatch
from pathlib import Path

from acp_server.permissions.ground import Ground
from acp_server.permissions.picking import TooManyError
from acp_server.permissions.repositories import holds_git_secrets
from acp_server.permissions.shell.findings import Tree

MOST_ENTRIES = 40_000

Entry = os.DirEntry[str]


def doubt_on_tree(tree: Tree, ground: Ground) -> str:
    """Return what speaks against reading all of a tree; nothing for most. It blocks."""
    try:
        return next(_doubts(tree, ground), "")
    except TooManyError:
        return f"{tree.root} holds too many files to look through for secrets"


def _doubts(tree: Tree, ground: Ground) -> Iterator[str]:
    for entry in _walk(tree):
        if entry.name == ".git" and not entry.is_symlink():
            if _is_wanted("config", tree) and holds_git_secrets(Path(entry.path)):
                yield f"{entry.path} holds credentials"
        elif _is_read(entry, tree) and ground.is_protected_entry(entry):
            yield f"{entry.path} may hold secrets or settings"
        elif tree.follows and entry.is_symlink() and not ground.is_inside(Path(entry.path)):
            yield f"{entry.path} leads outside the workspace"


def _walk(tree: Tree) -> Iterator[Entry]:
    """Yield what lies below a folder, without what lies in `.git`; a loop of links ends it."""
    folders = [tree.root]
    count = 0
    while folders:
        for entry in _entries(folders.pop()):
            count += 1
            if count > MOST_ENTRIES:
                raise TooManyError
            if entry.name.startswith(".") and not tree.hidden:
                continue
            yield entry
            if entry.name != ".git" and _is_folder(entry, tree):
                folders.append(entry.path)


def _entries(folder: str) -> list[Entry]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if error.errno == ENAMETOOLONG:  # deeper than we can look, not than a search can
            raise TooManyError from None
        return []  # a file, or nothing that a search could look into


def _is_read(entry: Entry, tree: Tree) -> bool:
    return _is_folder(entry, tree) or _is_wanted(entry.name, tree)


def _is_folder(entry: Entry, tree: Tree) -> bool:
    try:
        return entry.is_dir(follow_symlinks=tree.follows)
    except OSError:  # a link that leads in circles
        return False


def _is_wanted(name: str, tree: Tree) -> bool:
    return not tree.names or any(fnmatch(name, pattern) for pattern in tree.names)
