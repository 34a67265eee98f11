"""Resolved directories of a session, and which paths in them are protected.

Built again for each decision, because symlinks change. Looks at names and symlinks, never at
contents.
"""

import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from acp_server.permissions.ignore_files import AgentIgnoreRules, IgnoreFiles
from acp_server.permissions.linked_secrets import LinkedSecrets
from acp_server.permissions.protected_names import (
    is_protected,
    is_protected_directory,
    is_protected_file,
)
from acp_server.permissions.run_by_others import find_reason
from acp_server.permissions.symlinks import resolve_links
from acp_server.startup.fast_dataclass import frozen_dataclass

OPEN_DIRECTORIES = frozenset({"skills", "memories"})
"""Directories of this program's own directory that the agent may use like any other."""
SHARED_NAMES = ("acp", "auth.json", "config.yaml", ".env", "profiles", "state.db")
"""What a home directory with profiles has for all of them, or for the others."""


def shared_home_paths(config_home: Path) -> tuple[Path, ...]:
    """Return the settings and keys of the home that a profile belongs to; none for any other."""
    if config_home.parent.name != "profiles":
        return ()
    return tuple(config_home.parent.parent / name for name in SHARED_NAMES)


@frozen_dataclass
class ResolvedRoot:
    """A directory of the session, symlinks resolved, with the rules of its ignore file."""

    path: Path
    ignore_rules: AgentIgnoreRules


@frozen_dataclass
class ResolvedWorkspace:
    """Resolved roots of a session. `own` is this program's directory, symlinks resolved."""

    roots: Sequence[ResolvedRoot]
    config_home: Path
    has_path_rules: bool
    """Whether the roots contain something that is protected for another reason than its name."""
    links: LinkedSecrets
    """Finds hard links of protected files."""

    def is_inside(self, path: Path) -> bool:
        """Return whether a path, symlinks resolved, is in a directory of the session."""
        real = resolve_links(path)
        return any(real.is_relative_to(root.path) for root in self.roots)

    def is_lexically_inside(self, path: Path) -> bool:
        """Return whether a path is in a directory of the session, without resolving symlinks."""
        return any(path.is_relative_to(root.path) for root in self.roots)

    def is_protected(self, path: Path) -> bool:
        """Return whether a path, by its own name or its link target, always requires permission."""
        real = resolve_links(path)
        # Security: both names count, so neither a link to a secret nor a secret-named link gets
        # through.
        return any(map(self.has_protected_name, {path, real})) or self.links.contains(real)

    def has_protected_name(self, path: Path) -> bool:
        """Return whether a path is protected by its name, without resolving symlinks."""
        if is_protected(self._below_root(path)):
            return True
        return self._is_in_config_home(path) or self._is_ignored(path)

    def run_by_others_reason(self, path: Path) -> str:
        """Return why other programs may run or obey a file; empty if they do not.

        Judges both its own name and its link target.
        """
        real = resolve_links(path)
        # Both names, as above: a harmless name may be a link to `.vscode/tasks.json`.
        return find_reason(self._below_root(path)) or find_reason(self._below_root(real))

    def is_protected_entry(self, entry: "os.DirEntry[str]") -> bool:
        """Return whether an entry of an unprotected directory is protected; fast."""
        if entry.is_symlink():
            # Only links need the slow check: the name of a link says nothing about its target.
            return self.is_protected(Path(entry.path))
        is_folder = entry.is_dir(follow_symlinks=False)
        judge = is_protected_directory if is_folder else is_protected_file
        if judge(entry.name) or (not is_folder and self.links.contains_entry(entry)):
            return True
        # Skips two path checks for each file of a large tree in the common case.
        if is_folder or not self.has_path_rules:
            return False
        path = Path(entry.path)
        return self._is_in_config_home(path) or self._is_ignored(path, is_file=True)

    def _below_root(self, path: Path) -> Path:
        """Return a path relative to its root: a workspace below `.git` is not protected as such."""
        for root in self.roots:
            if path.is_relative_to(root.path):
                return path.relative_to(root.path)
        return path

    def _is_in_config_home(self, path: Path) -> bool:
        if path.is_relative_to(self.config_home):
            relative_parts = path.relative_to(self.config_home).parts
        else:
            # On a case-insensitive disk another spelling leads to the same directory.
            folded, folded_home = Path(_folded(path)), Path(_folded(self.config_home))
            if not folded.is_relative_to(folded_home):
                others = shared_home_paths(self.config_home)
                return any(folded.is_relative_to(Path(_folded(each))) for each in others)
            relative_parts = folded.relative_to(folded_home).parts
        # Fail closed: everything in this program's directory is protected but the listed
        # directories.
        return not relative_parts or relative_parts[0] not in OPEN_DIRECTORIES

    def _is_ignored(self, path: Path, *, is_file: bool = False) -> bool:
        return any(
            root.ignore_rules.matches(path.relative_to(root.path).as_posix(), is_file=is_file)
            for root in self.roots
            if root.ignore_rules.lines and path != root.path and path.is_relative_to(root.path)
        )


def resolve_workspace(
    roots: Sequence[Path],
    config_home: Path,
    ignore_files: IgnoreFiles,
    home: Path | None = None,
) -> ResolvedWorkspace:
    """Resolve the directories of a session now. Blocks.

    Hard links to the protected files of `home` are protected, too.
    """
    real = [resolve_links(root) for root in roots]
    resolved_roots = [ResolvedRoot(path, ignore_files.rules(path)) for path in real]
    real_config_home = resolve_links(config_home)
    is_config_home_inside = any(real_config_home.is_relative_to(path) for path in real)
    return ResolvedWorkspace(
        resolved_roots,
        real_config_home,
        is_config_home_inside or any(root.ignore_rules.lines for root in resolved_roots),
        LinkedSecrets([*real, *([home] if home else [])]),
    )


def _folded(path: Path) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()
