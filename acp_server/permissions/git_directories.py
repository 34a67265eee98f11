"""Git directories of a work tree, and whether git would read files of others there.

What git cannot read as a file of its own it prints as an error, line by line, and the objects of
another repository it prints like its own. So a link in a git directory shows a secret, or a
repository, that the user was not asked about. All calls block.
"""

import os
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from acp_server.permissions.file_kinds import is_directory
from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from acp_server.permissions.symlinks import resolve_links
from skills_store.reading import read_regular

MAX_TEXT_BYTES = 100_000
MAX_OBJECT_DIRECTORIES = 20
MAX_ENTRIES = 5_000
_READ_DIRECTORIES = (
    *("info", "rebase-merge", "rebase-apply", "sequencer", "branches", "remotes", "logs"),
    *("objects", "objects/info"),
)
"""Directories whose files git reads as text, besides the git directory itself."""
_WORK_TREES = "worktrees"
# No hook runs for a command that reads, and links to the hooks of a project are common.
_IGNORED = frozenset({"hooks"})


def find_work_tree(folder: Path) -> Path | None:
    """Return the nearest directory that contains `.git`."""
    return next(
        (each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None
    )


def git_directories_of(work_tree: Path) -> tuple[Path, ...]:
    """Return the git directory of a work tree, and the one that it shares with others, if any.

    A `.git` may be a file that points to another directory, and that may point to a common one.
    """
    path = work_tree / ".git"
    # `gitdir:` and `commondir` may be relative; joining keeps an absolute path as it is.
    own = path if is_directory(path) else work_tree / _text(path).removeprefix("gitdir:").strip()
    common = _text(own / "commondir").strip()
    return (own, own / common) if common else (own,)


def reads_other_files(
    work_tree: Path, workspace: ResolvedWorkspace, *, has_work_tree_setting: bool
) -> bool:
    """Return whether git would read files as its own that belong to something else.

    `has_work_tree_setting`: the repository itself names this work tree, as a submodule does.
    """
    own, *common = map(resolve_links, git_directories_of(work_tree))
    is_own = own == resolve_links(work_tree) / ".git" or workspace.is_inside(own)
    # A repository elsewhere that knows this work tree was connected with it by the user's git.
    if not (is_own or has_work_tree_setting or _is_linked_back(own, work_tree)):
        return True
    if is_own and not all(workspace.is_inside(each) or own.is_relative_to(each) for each in common):
        return True
    directories = (own, *common)
    try:
        links = list(chain.from_iterable(map(_links_in, directories)))
        return not all(_may_be_read(each, directories, workspace) for each in links) or any(
            _has_foreign_objects(each, directories, workspace) for each in directories
        )
    except _UncheckableError:
        return True


class _UncheckableError(Exception):
    """There is more in a git directory than can be looked at."""


def _is_linked_back(own: Path, work_tree: Path) -> bool:
    """Return whether a git directory is that of a linked work tree, and names it."""
    named = _text(own / "gitdir").strip()
    return bool(named) and resolve_links(own / named) == resolve_links(work_tree) / ".git"


def _links_in(directory: Path) -> Iterator[Path]:
    """Yield the symbolic links among the entries that git reads.

    Raises:
        _UncheckableError: There are too many entries.
    """
    folders = [directory, *(directory / name for name in _READ_DIRECTORIES)]
    folders += (Path(entry.path) for entry in _entries(directory / _WORK_TREES))
    for folder in folders:
        for entry in _entries(folder):
            if entry.is_symlink() and entry.name not in _IGNORED:
                yield Path(entry.path)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            entries = list(islice(found, MAX_ENTRIES))
    except OSError:
        return []
    if len(entries) == MAX_ENTRIES:
        raise _UncheckableError
    return entries


def _may_be_read(link: Path, directories: tuple[Path, ...], workspace: ResolvedWorkspace) -> bool:
    """Return whether the target of a link is a file of git, or one that may be read anyway."""
    target = resolve_links(link)
    if any(target.is_relative_to(each) for each in directories):
        return True
    return workspace.is_inside(target) and not workspace.is_protected(target)


def _has_foreign_objects(
    directory: Path, directories: tuple[Path, ...], workspace: ResolvedWorkspace
) -> bool:
    """Return whether objects are borrowed from a repository outside of the workspace.

    Raises:
        _UncheckableError: It borrows from too many.
    """
    pending, seen = [directory / "objects"], set[Path]()
    while pending:
        objects = pending.pop()
        if objects in seen:
            continue
        seen.add(objects)
        if len(seen) > MAX_OBJECT_DIRECTORIES:
            raise _UncheckableError
        for name in _alternates_of(objects):
            other = resolve_links(objects / name)
            is_own = any(other.is_relative_to(each) for each in directories)
            if not (is_own or workspace.is_inside(other)):
                return True
            pending.append(other)
    return False


def _alternates_of(objects: Path) -> list[str]:
    """Return the directories that objects are borrowed from, as git reads them.

    Raises:
        _UncheckableError: The list is too long, or no regular file.
    """
    file = objects / "info/alternates"
    if not os.path.lexists(file):
        return []
    try:
        content = read_regular(file, MAX_TEXT_BYTES)
    except OSError as error:
        raise _UncheckableError from error
    # A quoted name is not decoded.
    lines = content.data.decode(errors="surrogateescape").split("\n")
    if not content.is_complete or any(line.startswith('"') or "\0" in line for line in lines):
        raise _UncheckableError
    return [line for line in lines if line and not line.startswith("#")]


def _text(file: Path) -> str:
    """Return the content of a file; empty if it cannot be read."""
    try:
        data = read_regular(file, MAX_TEXT_BYTES).data
        return data.decode(errors="surrogateescape")
    except OSError:
        return ""
