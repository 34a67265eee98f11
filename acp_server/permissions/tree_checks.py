"""Finds reasons not to let a command read a whole directory tree. Looks at names and symlinks.

Too many files to check count as a reason.
"""

import os
import re
from collections.abc import Iterator, Mapping
from errno import ENAMETOOLONG
from fnmatch import fnmatch
from pathlib import Path

from acp_server.permissions import reasons
from acp_server.permissions.git_checks import has_git_secrets
from acp_server.permissions.glob_expansion import TooManyEntriesError
from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from acp_server.permissions.shell.findings import SearchedTree

MAX_ENTRIES = 40_000

Entry = os.DirEntry[str]
_SPLIT_NAME = re.compile(r"^-|[\s'\"\\]")


def find_tree_doubt(
    tree: SearchedTree, workspace: ResolvedWorkspace, variables: Mapping[str, str]
) -> str:
    """Return the reason to ask before a tree is read; empty if there is none. Blocks.

    `variables` is the environment of commands, which git is found by.
    """
    try:
        return next(_doubts(tree, workspace, variables), "")
    except TooManyEntriesError:
        return reasons.too_many_files(tree.root)


def _doubts(
    tree: SearchedTree, workspace: ResolvedWorkspace, variables: Mapping[str, str]
) -> Iterator[str]:
    for entry in _walk(tree):
        is_named = _is_folder(entry, tree) or _is_wanted(entry.name, tree)
        if tree.splits_names and is_named and _SPLIT_NAME.search(entry.name) is not None:
            yield reasons.split_name(entry.path)
        if entry.name == ".git" and not entry.is_symlink():
            if _is_wanted("config", tree) and has_git_secrets(
                Path(entry.path), workspace, variables, shows_text=True
            ):
                yield reasons.credentials(entry.path)
        elif is_named and workspace.is_protected_entry(entry):
            yield reasons.secrets(entry.path)
        elif _opens_link(entry, tree) and not workspace.is_inside(Path(entry.path)):
            yield reasons.outside_link(entry.path)


def _walk(tree: SearchedTree) -> Iterator[Entry]:
    """Yield the entries below a directory, except in `.git`; the limit also ends symlink loops."""
    folders = [tree.root]
    count = 0
    while folders:
        for entry in _entries(folders.pop()):
            count += 1
            if count > MAX_ENTRIES:
                raise TooManyEntriesError
            # After counting, so that many hidden entries cannot make this walk take long.
            if entry.name.startswith(".") and not tree.includes_hidden:
                continue
            yield entry
            if entry.name != ".git" and _is_folder(entry, tree):
                folders.append(entry.path)


def _entries(folder: str) -> list[Entry]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        # Fail closed: a recursive search can reach deeper than a full path can name.
        if error.errno == ENAMETOOLONG:  # too deep for us, but a search may read it
            raise TooManyEntriesError from None
        return []  # a file, or not readable for a search either


def _is_folder(entry: Entry, tree: SearchedTree) -> bool:
    try:
        return entry.is_dir(follow_symlinks=tree.follows_symlinks)
    except OSError:  # a symlink loop
        return False


def _opens_link(entry: Entry, tree: SearchedTree) -> bool:
    is_opened = tree.follows_symlinks or (tree.opens_links and _is_wanted(entry.name, tree))
    return is_opened and entry.is_symlink()


def _is_wanted(name: str, tree: SearchedTree) -> bool:
    return not tree.name_patterns or any(fnmatch(name, pattern) for pattern in tree.name_patterns)
