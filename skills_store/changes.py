"""Planned changes of skills as values: the new state on disk, and the state they are based on.

Between planning and committing the user sees a diff and answers a permission question. Nothing is
written here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from skills_store.archive import ArchiveEntry
from skills_store.own_files import capture_own, own_entries
from skills_store.ownership import ChangeOrigin
from skills_store.reading import NO_FOLLOW, read_regular
from skills_store.skill import SKILL_FILE, Skill
from skills_store.trees import Tree
from skills_store.write_errors import StaleChangeError

ManageAction = Literal["create", "patch", "edit", "delete", "write_file", "remove_file"]

MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file to create, replace or remove.

    `old` is None for a new file, `new` for one to remove; `mode` None keeps the old mode.
    """

    path: Path
    old: bytes | None
    new: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class SkillCopy:
    """A skill to copy to the user's directory and change there; the copy shadows the original.

    `edit` is made within the copy; its path is below `target`.
    """

    source: Path
    target: Path
    tree: Tree
    edit: FileEdit


@dataclass(frozen=True, slots=True)
class SkillMove:
    """A skill's own files, to be moved to the archive."""

    source: Path
    target: Path
    names: tuple[str, ...]
    tree: Tree
    entry: ArchiveEntry


SkillEffect = FileEdit | SkillCopy | SkillMove


@dataclass(frozen=True, slots=True)
class SkillFileDiff:
    """A text before and after; None if there is no file. Undecodable bytes are replaced."""

    path: Path
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class SkillChange:
    """The effect of one call. `folder` is where the skill is afterwards, or was."""

    action: ManageAction
    name: str
    origin: ChangeOrigin
    folder: Path
    effect: SkillEffect
    message: str
    """Result text after the change was made."""
    skill: Skill | None = None
    """The skill to change; None for a new one."""
    resolved_paths: tuple[Path, ...] = ()
    """`paths` with symlinks resolved at planning time. The change is made there or not at all."""

    @property
    def diffs(self) -> tuple[SkillFileDiff, ...]:
        """Diffs to show before the change; for archiving, that of SKILL.md."""
        return _diffs(self.effect)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Files and directories that the change touches, for the permission policy."""
        match self.effect:
            case FileEdit():
                return (self.effect.path,)
            case SkillCopy():
                return (self.effect.target, self.effect.edit.path)
            case SkillMove():
                return (self.effect.source, self.effect.target)
            case _:
                assert_never(self.effect)


def check_unchanged(effect: SkillEffect) -> None:
    """Reject a change if the files differ from those it was planned on.

    Raises:
        StaleChangeError: They differ.
        OSError: A file cannot be read.
    """
    match effect:
        case FileEdit():
            if read_bytes(effect.path) != effect.old:
                raise StaleChangeError(effect.path)
        case SkillCopy():
            if capture_own(effect.source) != effect.tree:
                raise StaleChangeError(effect.source)
            if effect.target.exists():
                raise StaleChangeError(effect.target)
        case SkillMove():
            if (
                own_entries(effect.source) != effect.names
                or capture_own(effect.source) != effect.tree
            ):
                raise StaleChangeError(effect.source)
        case _:
            assert_never(effect)


def read_bytes(path: Path) -> bytes | None:
    """Return a file's content; None if it does not exist. Symlinks are not followed.

    Raises:
        OSError: It cannot be read, is not a regular file, or is longer than `MAX_BYTES`.
    """
    try:
        content = read_regular(path, MAX_BYTES, NO_FOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not content.is_complete:
        message = f"{path} is longer than {MAX_BYTES} bytes"
        raise OSError(message)
    return content.data


def _diffs(effect: SkillEffect) -> tuple[SkillFileDiff, ...]:
    match effect:
        case FileEdit():
            old, new = _decode_for_diff(effect.old), _decode_for_diff(effect.new)
            return (SkillFileDiff(effect.path, old, new),)
        case SkillCopy():
            return _diffs(effect.edit)
        case SkillMove():
            path = effect.source / SKILL_FILE
            return (SkillFileDiff(path, _decode_for_diff(read_bytes(path)), None),)
        case _:
            assert_never(effect)


def _decode_for_diff(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
