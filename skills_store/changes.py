"""Planned changes of skills as values: the new state on disk, and the state they are based on.

Between planning and committing the user sees a diff and answers a permission question. Nothing is
written here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from skills_store.archive import ArchiveEntry
from skills_store.own_files import capture_own, own_names
from skills_store.ownership import Origin
from skills_store.reading import NO_LINK, read_regular
from skills_store.skill import SKILL_FILE, Skill
from skills_store.trees import Tree
from skills_store.write_errors import OutdatedError

Action = Literal["create", "patch", "edit", "delete", "write_file", "remove_file"]

MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Written:
    """A file to create or replace. `old` is None for a new file; `mode` None keeps the old mode."""

    path: Path
    old: bytes | None
    new: bytes
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Removed:
    """A file to remove."""

    path: Path
    old: bytes


@dataclass(frozen=True, slots=True)
class Copied:
    """A skill to copy to the user's directory and change there; the copy shadows the original.

    `file_effect` is the file operation within the copy; its path is below `target`.
    """

    source: Path
    target: Path
    tree: Tree
    inside: Written | Removed


@dataclass(frozen=True, slots=True)
class Moved:
    """A skill's own files, to be moved to the archive."""

    source: Path
    target: Path
    names: tuple[str, ...]
    tree: Tree
    entry: ArchiveEntry


Effect = Written | Removed | Copied | Moved


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A text before and after; None if there is no file. Undecodable bytes are replaced."""

    path: Path
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of one call. `folder` is where the skill is afterwards, or was."""

    action: Action
    name: str
    origin: Origin
    folder: Path
    effect: Effect
    message: str
    """Result text after the change was made."""
    skill: Skill | None = None
    """The skill to change; None for a new one."""
    places: tuple[Path, ...] = ()
    """`paths` with symlinks resolved at planning time. The change is made there or not at all."""

    @property
    def diffs(self) -> tuple[FileDiff, ...]:
        """Diffs to show before the change; for archiving, that of SKILL.md."""
        return _diffs(self.effect)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Files and directories that the change touches, for the permission policy."""
        match self.effect:
            case Written() | Removed():
                return (self.effect.path,)
            case Copied():
                return (self.effect.target, self.effect.inside.path)
            case Moved():
                return (self.effect.source, self.effect.target)
            case _:
                assert_never(self.effect)


def check_current(effect: Effect) -> None:
    """Reject a change if the files differ from those it was planned on.

    Raises:
        StaleChangeError: They differ.
        OSError: A file cannot be read.
    """
    match effect:
        case Written() | Removed():
            if read_bytes(effect.path) != effect.old:
                raise OutdatedError(effect.path)
        case Copied():
            if capture_own(effect.source) != effect.tree:
                raise OutdatedError(effect.source)
            if effect.target.exists():
                raise OutdatedError(effect.target)
        case Moved():
            if (
                own_names(effect.source) != effect.names
                or capture_own(effect.source) != effect.tree
            ):
                raise OutdatedError(effect.source)
        case _:
            assert_never(effect)


def read_bytes(path: Path) -> bytes | None:
    """Return a file's content; None if it does not exist. Symlinks are not followed.

    Raises:
        OSError: It cannot be read, is not a regular file, or is longer than `MAX_BYTES`.
    """
    try:
        content = read_regular(path, MOST_BYTES, NO_LINK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not content.is_whole:
        message = f"{path} is longer than {MOST_BYTES} bytes"
        raise OSError(message)
    return content.data


def _diffs(effect: Effect) -> tuple[FileDiff, ...]:
    match effect:
        case Written():
            return (FileDiff(effect.path, _shown(effect.old), _shown(effect.new)),)
        case Removed():
            return (FileDiff(effect.path, _shown(effect.old), None),)
        case Copied():
            return _diffs(effect.inside)
        case Moved():
            path = effect.source / SKILL_FILE
            return (FileDiff(path, _shown(read_bytes(path)), None),)
        case _:
            assert_never(effect)


def _shown(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
