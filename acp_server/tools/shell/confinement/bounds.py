"""What a confined command may write, read and reach, as it stands when the command starts.

Looks at names and links, never at what files hold, but for git's word on where a work tree's
repository lies. Knows no system's means; those are the launchers'.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.permissions.ground import OPEN_FOLDERS
from acp_server.tools.shell.confinement.private import private_paths
from acp_server.tools.shell.confinement.rules import SandboxRules
from skills_store.reading import read_regular

SYSTEM_FOLDERS = tuple(
    Path(name)
    for name in (
        *("/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys"),
        *("/nix", "/gnu", "/snap", "/run/current-system"),
        *("/System", "/Library", "/Applications", "/private/etc", "/private/var/db", "/dev"),
    )
)
"""What a strictly confined command may read besides its own: programs and their settings."""
MOST_POINTER_BYTES = 4_096


@frozen
class Bounds:
    """What a command may do. All paths are absolute, their links resolved."""

    writable: tuple[Path, ...]
    """May be written and read, with all below."""
    hidden: tuple[Path, ...]
    """May be neither, but for what `writable` or `opened` name at or below."""
    opened: tuple[Path, ...] = ()
    """May be read although it lies in what is hidden."""
    readable: tuple[Path, ...] | None = None
    """If given, nothing else may be read."""
    has_network: bool = False


@frozen
class Territory:
    """Where the commands of one session may work."""

    roots: tuple[Path, ...]
    """Resolved when the session began: a command must not move its bounds by moving a folder."""
    rules: SandboxRules
    home: Path
    own_folder: Path
    environment: Mapping[str, str]

    def bounds(self) -> Bounds:
        """Return the bounds of a command that starts now. It blocks, for about a millisecond.

        What is private is looked for each time, for it may be there since a moment ago.
        """
        own = Path(os.path.realpath(self.own_folder))
        is_strict = self.rules.mode == "strict"
        return Bounds(
            writable=_existing(self._writable()),
            hidden=self.hidden(),
            opened=_existing(own / name for name in sorted(OPEN_FOLDERS)),
            readable=_existing((*SYSTEM_FOLDERS, *self._programs())) if is_strict else None,
            has_network=self.rules.has_network,
        )

    def hidden(self) -> tuple[Path, ...]:
        """Return what is this program's own, and what is private. It blocks."""
        own = Path(os.path.realpath(self.own_folder))
        return _existing((own, *private_paths(self.home)))

    def _writable(self) -> Iterator[Path]:
        yield from self.roots
        yield from filter(None, map(git_store, self.roots))
        yield from self.rules.writable
        yield from self.rules.temporary
        if own := self.environment.get("TMPDIR"):
            yield Path(own)

    def _programs(self) -> Iterator[Path]:
        """Yield the folders in which programs are looked for."""
        for name in self.environment.get("PATH", os.defpath).split(os.pathsep):
            if name.startswith("/"):
                yield Path(name)


def git_store(root: Path) -> Path | None:
    """Return the folder outside a root in which git keeps what its work tree holds.

    That is the `.git` of a folder above, or the repository of a linked work tree. The pointer to
    the latter lies where commands may write: it counts only if the repository points back, which
    nobody can have it do who may not write there anyway.
    """
    for folder in (root, *root.parents):
        entry = folder / ".git"
        if entry.is_symlink():
            return None
        if entry.is_dir():
            return None if folder == root else entry
        if entry.is_file():
            return _linked_store(entry)
    return None


def _linked_store(pointer: Path) -> Path | None:
    told = _line(pointer)
    if not told.startswith("gitdir: "):
        return None
    tree = Path(os.path.realpath(pointer.parent / told.removeprefix("gitdir: ")))
    back = _line(tree / "gitdir")
    if tree.parent.name != "worktrees" or not back:
        return None
    return tree.parent.parent if os.path.realpath(tree / back) == str(pointer) else None


def _line(path: Path) -> str:
    """Return what a small file says; nothing if it is none."""
    try:
        return os.fsdecode(read_regular(path, MOST_POINTER_BYTES).data).rstrip("\r\n")
    except OSError:
        return ""


def _existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return what there is of some paths, their links resolved, each once."""
    real = (os.path.realpath(path) for path in paths if os.path.exists(path))  # noqa: PTH110  faster
    return tuple(map(Path, dict.fromkeys(real)))
