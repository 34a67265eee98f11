"""Begins our index of a repository with the entries of the user's own. Blocks.

The user's index knows the content of each tracked file, and the stat data it had when it was read:
unchanged files need not be read and stored. Their contents are in the user's repository, from where
they are copied once a turn has changed them. An entry is taken only if its content is, byte for
byte, that of the file: git may convert line ends and encodings, and run filters.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from acp_server.checkpoints.git import GitError, SnapshotGit, join_nul, split_nul
from acp_server.startup.fast_dataclass import frozen_dataclass

_PLAIN_TAG = "H"
"""What `ls-files -v` says of entries that git compares with the file: neither assumed to be
unchanged, nor left out of the working tree, nor in conflict."""
_FOREIGN_PARTS = frozenset({"", ".", "..", ".git"})
INVALID_INDEX = "the index of the repository names files outside of it"
_LFS = "filter.lfs."
"""Its filter always changes the size of a file."""


@frozen_dataclass
class UserRepository:
    """The user's own repository: its git directory, and the one shared by its worktrees."""

    folder: Path
    shared: Path

    @property
    def index(self) -> Path:
        """The index file."""
        return self.folder / "index"

    @property
    def objects(self) -> Path:
        """The directory of the objects."""
        return self.shared / "objects"


@frozen_dataclass
class _Entry:
    tag: str
    mode: str
    blob: str
    name: str


def seed_index(git: SnapshotGit, user: UserRepository, max_file_bytes: int) -> None:
    """Create our index from the user's, which is only read; do nothing without one.

    Raises:
        SnapshotTimeoutError, GitError: nothing was created.
        OSError: nothing was created.
    """
    if git.index.exists() or not user.index.is_file() or _has_filters(git, user):
        return
    copy = git.index.with_name(f"{git.index.name}.seed")
    try:
        # With its times: git reads files again that changed at the moment the index was written.
        shutil.copy2(user.index, copy)
        entries = list(_entries(git, copy))
        # Security: git checks names when it adds them, not when it reads an index made by others.
        if any(not _FOREIGN_PARTS.isdisjoint(each.name.split("/")) for each in entries):
            raise GitError(INVALID_INDEX)
        sizes = _object_sizes(git, user, [each.blob for each in entries])
        unsuitable = [
            each.name
            for each in entries
            if not _is_suitable(git, each, sizes.get(each.blob), max_file_bytes)
        ]
        in_tree = ("-C", str(git.tree), "update-index")
        # Also without any: the copy may hold flags for extensions that our configuration turns off.
        names = join_nul(unsuitable)
        git.run(*in_tree, "--force-remove", "-z", "--stdin", stdin=names, index=copy)
        copy.replace(git.index)
    finally:
        copy.unlink(missing_ok=True)
        copy.with_name(f"{copy.name}.lock").unlink(missing_ok=True)


def read_objects(git: SnapshotGit, user: UserRepository, names: Sequence[str]) -> dict[str, bytes]:
    """Return contents from the user's repository by name; those it does not have are left out.

    Raises:
        SnapshotTimeoutError, GitError: they cannot be read.
    """
    output = git.run_with_objects(user.objects, "cat-file", "--batch", stdin=_lines(names))
    found: dict[str, bytes] = {}
    start = 0
    while start < len(output):
        end = output.index(b"\n", start)
        head = output[start:end].decode().split(" ")
        start = end + 1
        if head[-1] == "missing":
            continue
        size = int(head[2])
        found[head[0]] = output[start : start + size]
        start += size + 1
    return found


def _entries(git: SnapshotGit, index: Path) -> Iterator[_Entry]:
    output = git.run("ls-files", "-z", "-v", "--stage", "--full-name", index=index)
    for line in split_nul(output):
        facts, _, name = line.partition("\t")
        tag, mode, blob, _ = facts.split(" ")
        yield _Entry(tag, mode, blob, name)


def _object_sizes(git: SnapshotGit, user: UserRepository, names: Sequence[str]) -> dict[str, int]:
    """Return the sizes of objects; those that the repository does not have are left out."""
    output = git.run_with_objects(
        user.objects, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(names)
    )
    lines = (line.split(" ") for line in output.decode().splitlines())
    return {words[0]: int(words[1]) for words in lines if words[1] != "missing"}


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _is_suitable(git: SnapshotGit, entry: _Entry, size: int | None, max_file_bytes: int) -> bool:
    try:
        status = os.lstat(git.tree / entry.name)
    except OSError:
        return False
    is_file = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
    # Without filters, git's conversions change the size whenever they change the content.
    is_same = entry.tag == _PLAIN_TAG and is_file and size == status.st_size
    return is_same and status.st_size <= max_file_bytes


def _has_filters(git: SnapshotGit, user: UserRepository) -> bool:
    """Return whether git may run programs that convert the files of a repository."""
    names = split_nul(git.run_as_user(user.folder, "config", "--list", "--name-only", "-z"))
    return any(
        name.startswith("filter.")
        and name.endswith((".clean", ".process"))
        and not name.startswith(_LFS)
        for name in names
    )
