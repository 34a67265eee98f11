"""What speaks against letting a command read all of a folder. Looks at names and links.

Of files it reads git's settings only. What is too much to look through counts as a doubt.
"""

import os
from collections.abc import Iterator
from errno import ENAMETOOLONG
from fnmatch import fnmatch
from pathlib import Path

from acp_server.permissions.ground import Ground
from acp_server.permissions.picking import TooManyError
from acp_server.permissions.shell.findings import Tree

MOST_ENTRIES = 40_000
MOST_SETTINGS_BYTES = 100_000
_SECRETS = ("extraheader", "password", "token", "helper = store")
_GIT_SETTINGS = ("config", "config.worktree", "modules/*/config", "worktrees/*/config.worktree")
_GIT_SECRETS = ("credentials", ".git-credentials")

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
        elif _is_read(entry, tree) and ground.is_protected_entry(entry, follows=tree.follows):
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
            if entry.name != ".git" and entry.is_dir(follow_symlinks=tree.follows):
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
    if entry.is_dir(follow_symlinks=tree.follows):
        return not tree.names
    return _is_wanted(entry.name, tree)


def _is_wanted(name: str, tree: Tree) -> bool:
    return not tree.names or any(fnmatch(name, pattern) for pattern in tree.names)


def holds_git_secrets(folder: Path) -> bool:
    """Whether git's settings hold a password or a token, as those of some tools do. It blocks."""
    if any((folder / name).exists() for name in _GIT_SECRETS):
        return True
    return any(_holds_secret(file) for name in _GIT_SETTINGS for file in folder.glob(name))


def _holds_secret(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_SETTINGS_BYTES + 1)
    except OSError:
        return False  # a search cannot read it either
    lines = data.decode(errors="replace").casefold().splitlines()
    return len(data) > MOST_SETTINGS_BYTES or any(map(_is_secret, lines))


def _is_secret(line: str) -> bool:
    return any(word in line for word in _SECRETS) or ("://" in line and "@" in line)
