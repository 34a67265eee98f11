"""Sandbox limits: what a confined command may write, read and reach, computed at its start.

Examines names and symlinks, never file contents, except git's pointers to the repository of a
worktree. Independent of the operating system's mechanism; the launchers apply the limits.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from acp_server.permissions.resolved_workspace import OPEN_DIRECTORIES, shared_home_paths
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.caches import cache_directory, prepare_caches
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.shell.confinement.installation import Installation, running_installation
from acp_server.tools.shell.confinement.private_paths import iter_private_paths
from skills_store.reading import read_regular

SYSTEM_DIRECTORIES = tuple(
    Path(name)
    for name in (
        *("/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys"),
        *("/nix", "/gnu", "/snap", "/run/current-system"),
        *("/System", "/Library", "/Applications", "/private/etc", "/private/var/db", "/dev"),
    )
)
"""Directories that a strictly confined command may also read: programs and their configuration."""
MAX_POINTER_BYTES = 4_096


@frozen_dataclass
class SandboxLimits:
    """Limits for one command. All paths are absolute, symlinks resolved."""

    writable: tuple[Path, ...]
    """Readable and writable, including everything below."""
    hidden: tuple[Path, ...]
    """Neither readable nor writable, except paths of `writable` or `opened` at or below."""
    opened: tuple[Path, ...] = ()
    """Readable although inside a hidden directory."""
    read_only: tuple[Path, ...] = ()
    """Not writable although inside a writable directory."""
    masked: tuple[Path, ...] = ()
    """Files that look empty and cannot be changed; where that cannot be had, nothing is run."""
    readable: tuple[Path, ...] | None = None
    """If not None, nothing else may be read."""
    has_network: bool = False
    supervisor: str = ""
    """Where the command's connections are made, as `connects` of the launcher; empty: nowhere."""
    namespaces: tuple[str, ...] = ()
    """Files by which the command joins the namespaces of its session; none: it gets its own."""


@frozen_dataclass
class SandboxScope:
    """Inputs for the limits of one session's commands."""

    roots: tuple[Path, ...]
    """Resolved when the session began: a command must not move its limits by moving a directory."""
    config: SandboxConfig
    home: Path
    data_directory: Path
    environment: Mapping[str, str]
    installation: Callable[[], Installation] = running_installation

    def resolve_limits(self) -> SandboxLimits:
        """Return the limits for a command that starts now. Blocks for about a millisecond.

        Private paths are looked up each time, because they may have been created a moment ago.
        """
        data_directory = Path(os.path.realpath(self.data_directory))
        writable_paths = (
            *self.roots,
            *filter(None, map(find_git_directory, self.roots)),
            *self.config.writable_directories,
            *self.config.temporary_directories,
            *self._make_caches(),
        )
        # Security: relative entries of PATH would make directories of the workspace count as
        # programs.
        path_entries = self.environment.get("PATH", os.defpath).split(os.pathsep)
        program_directories = (Path(name) for name in path_entries if name.startswith("/"))
        is_strict = self.config.mode == "strict"
        installation = self.installation()
        writable = tuple(
            path for path in _resolve_existing(writable_paths) if not installation.is_inside(path)
        )
        hidden = self.hidden_paths()
        return SandboxLimits(
            writable=writable,
            hidden=hidden,
            read_only=installation.protected_paths(writable, hidden),
            opened=_resolve_existing(data_directory / name for name in sorted(OPEN_DIRECTORIES)),
            readable=_resolve_existing((*SYSTEM_DIRECTORIES, *program_directories))
            if is_strict
            else None,
        )

    @property
    def caches(self) -> Path:
        """The directory with the private caches of this workspace's commands."""
        return cache_directory(Path(os.path.realpath(self.data_directory)), self.roots[0])

    def _make_caches(self) -> tuple[Path, ...]:
        """Return the directory of the caches, created if necessary; none if it cannot be."""
        try:
            cargo_home = self.environment.get("CARGO_HOME") or self.home / ".cargo"
            prepare_caches(self.caches, Path(cargo_home))
        except OSError:  # the disk may be full or read-only; package managers say what is missing
            return ()
        return (self.caches,)

    def hidden_paths(self) -> tuple[Path, ...]:
        """Return this program's own data directory and the private paths. Blocks."""
        data_directory = Path(os.path.realpath(self.data_directory))
        others = shared_home_paths(data_directory)
        return _resolve_existing((data_directory, *others, *iter_private_paths(self.home)))


def find_git_directory(root: Path) -> Path | None:
    """Return the git directory outside a root that its worktree uses; None if there is none.

    That is the `.git` of a parent directory or the repository of a linked worktree. The pointer to
    the latter is in a place where commands may write, so it counts only if the repository points
    back: forging that requires write access to the repository.
    """
    for folder in (root, *root.parents):
        entry = folder / ".git"
        # Security: a command can create this link and point it to any directory, which would become
        # writable for the next command.
        if entry.is_symlink():
            return None
        if entry.is_dir():
            return None if folder == root else entry
        if entry.is_file():
            return _linked_git_directory(entry)
    return None


def _linked_git_directory(pointer: Path) -> Path | None:
    pointer_line = _read_line(pointer)
    if not pointer_line.startswith("gitdir: "):
        return None
    worktree_directory = Path(
        os.path.realpath(pointer.parent / pointer_line.removeprefix("gitdir: "))
    )
    # Security: without the reference back, a command could write a `.git` file that makes a foreign
    # directory writable for the next command.
    back_reference = _read_line(worktree_directory / "gitdir")
    if worktree_directory.parent.name != "worktrees" or not back_reference:
        return None
    return (
        worktree_directory.parent.parent
        if os.path.realpath(worktree_directory / back_reference) == str(pointer)
        else None
    )


def _read_line(path: Path) -> str:
    """Return the content of a small file without its newline; empty if there is none."""
    try:
        return os.fsdecode(read_regular(path, MAX_POINTER_BYTES).data).rstrip("\r\n")
    except OSError:
        return ""


def _resolve_existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the existing paths, symlinks resolved, each once."""
    real = (os.path.realpath(path) for path in paths if os.path.exists(path))  # noqa: PTH110  faster
    return tuple(map(Path, dict.fromkeys(real)))
