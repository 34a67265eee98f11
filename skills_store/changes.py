"""A change of a skill as a value: what will be on disk, and what must be there for it to be made.

Between making one and committing it stand a diff and a question. It writes nothing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from skills_store.archive import ArchiveEntry
from skills_store.folders import capture_own, own_names
from skills_store.ownership import Origin
from skills_store.reading import NO_LINK, read_regular
from skills_store.refusals import OutdatedError
from skills_store.skill import SKILL_FILE, Skill
from skills_store.trees import Tree

Action = Literal["create", "patch", "edit", "delete", "write_file", "remove_file"]

MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Written:
    """A file that is made or replaced. `old` is None for a new one, `mode` for that of the old."""

    path: Path
    old: bytes | None
    new: bytes
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Removed:
    """A file that is removed."""

    path: Path
    old: bytes


@dataclass(frozen=True, slots=True)
class Copied:
    """A skill that is copied to the user's folder, and changed there: the copy shadows it.

    `inside` is what becomes of a file of the copy; its path is that in the target.
    """

    source: Path
    target: Path
    tree: Tree
    inside: Written | Removed


@dataclass(frozen=True, slots=True)
class Moved:
    """What a skill has of its own, which goes to the archive."""

    source: Path
    target: Path
    names: tuple[str, ...]
    tree: Tree
    entry: ArchiveEntry


Effect = Written | Removed | Copied | Moved


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A text before and after; None where there is no file. Bytes that are no text are replaced."""

    path: Path
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """What one call would do. `folder` is where the skill is afterwards, or was."""

    action: Action
    name: str
    origin: Origin
    folder: Path
    effect: Effect
    message: str
    """What is said when it is done."""
    skill: Skill | None = None
    """The skill that is changed; None for a new one."""
    places: tuple[Path, ...] = ()
    """Where `paths` lay when it was planned, links followed; there it is made, or not at all."""

    @property
    def diffs(self) -> tuple[FileDiff, ...]:
        """What to show before it is made. Of a skill that is archived, its SKILL.md."""
        return _diffs(self.effect)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files and folders that it touches, for whoever decides on paths."""
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
    """Refuse a change that was made from other files than those that are there.

    Raises:
        OutdatedError: it was.
        OSError: something cannot be read.
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
    """Return what a file holds; None when it is not there. Links are not followed.

    Raises:
        OSError: it cannot be read, is no regular file, or is far too long for a skill's.
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
