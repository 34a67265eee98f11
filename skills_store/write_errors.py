"""Errors of changing skills. The messages are for the model or the user.

SkillError                    (of `errors`)
  SkillWriteError             nothing was changed; the message suggests an alternative
    InvalidCallError          the call lacks an argument, or would change nothing
    InvalidSkillNameError     the name of a skill or category is not allowed
    NameTakenError            a skill has the name already
    InvalidContentError       a text is too long, or cannot be encoded
    SymlinkRefusedError       the path leads through a symlink
    ReadOnlySkillError        the skill cannot be changed or deleted
    PinnedSkillError          the user pinned the skill
    BackgroundChangeError     a background run may not touch the skill
    InvalidSuccessorError     `absorbed_into` names no other skill
    PatchRefusedError         the old text was not found exactly once; shows the nearest lines
    StaleChangeError          files changed since the change was planned
  NotArchivedError            no archived skill has the name
  ArchiveConflictError        the original place of an archived skill is taken
  SkillUndoError              a run cannot be undone
    SkillUndoConflictError    files were changed since the run
"""

from collections.abc import Sequence
from pathlib import Path

from skills_store.errors import SkillError

_SHOWN_CHARACTERS = 100
_SHOWN_FILES = 10


class SkillWriteError(SkillError):
    """A change that was refused; nothing was written."""


class InvalidCallError(SkillWriteError):
    """The arguments are incomplete, or the call would change nothing."""


class InvalidSkillNameError(SkillWriteError):
    """The name of a skill or category is not allowed. `reason` is half a sentence."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The name {_quote_name(name)} is refused: {reason}.")
        self.name = name
        self.reason = reason


class NameTakenError(SkillWriteError):
    """A skill has the name already, or one that some file systems treat as equal."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(
            f"There is a skill {name!r} already, in {folder}. "
            "Change it with patch or edit, or choose another name."
        )
        self.name = name
        self.folder = folder


class InvalidContentError(SkillWriteError):
    """A text is too long, or cannot be encoded. `path` is relative to the skill."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is refused: {reason}.")
        self.path = path
        self.reason = reason


class SymlinkRefusedError(SkillWriteError):
    """The path leads through a symlink, which may point anywhere."""

    def __init__(self, link: Path) -> None:
        super().__init__(f"{link} is a link; what it leads to is changed only where it is.")
        self.link = link


class ReadOnlySkillError(SkillWriteError):
    """The skill cannot be changed or deleted. `reason` is half a sentence."""

    def __init__(self, name: str, owner: str, reason: str) -> None:
        super().__init__(f"The skill {name!r} ({owner}) cannot be changed so: {reason}.")
        self.name = name
        self.owner = owner
        self.reason = reason


class PinnedSkillError(SkillWriteError):
    """The user pinned the skill."""

    def __init__(self, name: str, *, is_background: bool) -> None:
        action = "changed unasked" if is_background else "deleted"
        super().__init__(
            f"The skill {name!r} is pinned and is not {action}. "
            f"The user unpins it with `acp-server skills unpin {name}`."
        )
        self.name = name


class BackgroundChangeError(SkillWriteError):
    """A background run may not touch the skill."""

    def __init__(self, name: str, owner: str, origin: str) -> None:
        super().__init__(
            f"The skill {name!r} ({owner}) is not changed by the {origin}: it leaves alone what is "
            "bundled, installed, of the workspace or of others, and archives only what an agent "
            "made. Choose another skill, or leave it."
        )
        self.name = name
        self.owner = owner
        self.origin = origin


class InvalidSuccessorError(SkillWriteError):
    """`absorbed_into` of an archived skill names no other skill."""

    def __init__(self, name: str, successor: str) -> None:
        super().__init__(
            f"absorbed_into names {_quote_name(successor)}, which is "
            f"{'the skill itself' if name == successor else 'no skill'}. Name the existing skill "
            "that holds the content now, or leave it empty."
        )
        self.name = name
        self.successor = successor


class PatchRefusedError(SkillWriteError):
    """The old text was not found exactly once. The patcher's error is the cause."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} was not changed. {reason}")
        self.path = path
        self.reason = reason


class StaleChangeError(SkillWriteError):
    """The files changed since the change was planned."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not what the change was made from: somebody else changed it meanwhile. "
            "Nothing was written. Look at it again."
        )
        self.path = path


class NotArchivedError(SkillError):
    """No archived skill has the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No skill named {_quote_name(name)} is archived.")
        self.name = name


class ArchiveConflictError(SkillError):
    """The original place of an archived skill is taken."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(
            f"The skill {name!r} cannot be brought back: {path} is there. Move that away first."
        )
        self.name = name
        self.path = path


class SkillUndoError(SkillError):
    """A background run cannot be undone."""


class SkillUndoConflictError(SkillUndoError):
    """Files were changed since the run. `paths` are these files."""

    def __init__(self, paths: Sequence[Path]) -> None:
        listed = ", ".join(str(path) for path in paths[:_SHOWN_FILES])
        super().__init__(f"This was changed since, and undoing would lose it: {listed}.")
        self.paths = tuple(paths)


def _quote_name(name: str) -> str:
    return repr(name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}...")
