"""The folders of a session as they lie at this moment, and which paths in them are protected.

Made anew for each decision, for links change. Looks at names and links, never at contents.
"""

import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.permissions.ignoring import IgnoreFiles, IgnoreRules
from acp_server.permissions.links import followed
from acp_server.permissions.protected import (
    is_protected,
    is_protected_file,
    is_protected_folder,
    is_run_by_others,
)

OPEN_FOLDERS = frozenset({"skills", "memories"})
"""What of this program's own folder the agent may use like any other file."""


@frozen
class Root:
    """A folder of the session, links resolved, and what its ignore file names."""

    path: Path
    ignored: IgnoreRules


@frozen
class Ground:
    """Where a session stands. `own` is this program's folder, links resolved."""

    roots: Sequence[Root]
    own: Path
    has_more_than_names: bool
    """Whether the roots hold something that is protected though its name does not say so."""

    def is_inside(self, path: Path) -> bool:
        """Whether a path, its links followed, leads into a folder of the session."""
        real = followed(path)
        return any(real.is_relative_to(root.path) for root in self.roots)

    def holds(self, path: Path) -> bool:
        """Whether a path lies in a folder of the session, not looking at links."""
        return any(path.is_relative_to(root.path) for root in self.roots)

    def is_protected(self, path: Path) -> bool:
        """Whether a path, by its own name or where it leads, is nobody's to touch unasked."""
        real = followed(path)
        return any(map(self.has_protected_name, {path, real}))

    def has_protected_name(self, path: Path) -> bool:
        """Whether a path is protected by its name, not looking at links."""
        if is_protected(self._below_root(path)):
            return True
        return self._is_own(path) or self._is_ignored(path)

    def is_run_by_others(self, path: Path) -> bool:
        """Whether other programs run a file, or obey it, by its name or where it leads."""
        real = followed(path)
        return any(is_run_by_others(self._below_root(each)) for each in {path, real})

    def is_protected_entry(self, entry: "os.DirEntry[str]") -> bool:
        """Whether an entry of a folder that is not protected itself is protected; quick."""
        if entry.is_symlink():
            return self.is_protected(Path(entry.path))
        is_folder = entry.is_dir(follow_symlinks=False)
        judge = is_protected_folder if is_folder else is_protected_file
        if judge(entry.name):
            return True
        if is_folder or not self.has_more_than_names:
            return False
        path = Path(entry.path)
        return self._is_own(path) or self._is_ignored(path, is_file=True)

    def _below_root(self, path: Path) -> Path:
        """Return a path from its root on: a workspace inside `.git` is not protected as such."""
        for root in self.roots:
            if path.is_relative_to(root.path):
                return path.relative_to(root.path)
        return path

    def _is_own(self, path: Path) -> bool:
        if path.is_relative_to(self.own):
            below = path.relative_to(self.own).parts
        else:
            folded, own = Path(_folded(path)), Path(_folded(self.own))
            if not folded.is_relative_to(own):
                return False
            below = folded.relative_to(own).parts
        return not below or below[0] not in OPEN_FOLDERS

    def _is_ignored(self, path: Path, *, is_file: bool = False) -> bool:
        return any(
            root.ignored.names(path.relative_to(root.path).as_posix(), is_file=is_file)
            for root in self.roots
            if root.ignored.lines and path != root.path and path.is_relative_to(root.path)
        )


def ground_of(roots: Sequence[Path], own_folder: Path, ignore_files: IgnoreFiles) -> Ground:
    """Look where the folders of a session lie now. It blocks."""
    real = [followed(root) for root in roots]
    found = [Root(path, ignore_files.rules(path)) for path in real]
    own = followed(own_folder)
    is_own_inside = any(own.is_relative_to(path) for path in real)
    return Ground(found, own, is_own_inside or any(root.ignored.lines for root in found))


def _folded(path: Path) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()
