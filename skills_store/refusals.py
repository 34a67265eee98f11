"""Why a skill was not changed, in words for the model or the user who asked.

SkillError                  (of `errors`)
  WriteRefusedError         nothing was changed; the text says what to do instead
    CallRefusedError        the call lacks an argument, or has one that says nothing here
    NameRefusedError        a skill or a category cannot be named so
    NameTakenError          a skill has the name already
    ContentRefusedError     a text is too long, or cannot be written
    LinkRefusedError        the path leads through a link
    ReadOnlyError           the skill is not ours to change
    PinnedError             the user wants it kept
    UnaskedChangeError      a pass that nobody asked for may not touch it
    SuccessorError          what an archived skill is said to be absorbed into is no other skill
    PatchRefusedError       an old text is not there, or not once; the nearest lines are shown
    OutdatedError           the files are not what the change was made from
  NotArchivedError          there is nothing of the name to bring back
  ArchiveConflictError      something stands where an archived skill was
  UndoError                 a pass cannot be undone
    UndoConflictError       what it left was changed since
"""

from collections.abc import Sequence
from pathlib import Path

from skills_store.errors import SkillError

_SHOWN_CHARACTERS = 100
_SHOWN_FILES = 10


class WriteRefusedError(SkillError):
    """A change that is not made."""


class CallRefusedError(WriteRefusedError):
    """The arguments do not say what to do."""


class NameRefusedError(WriteRefusedError):
    """A skill or a category cannot be named so. `reason` is half a sentence."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The name {_shown(name)} is refused: {reason}.")
        self.name = name
        self.reason = reason


class NameTakenError(WriteRefusedError):
    """A skill has the name already, or one that some file systems take for the same."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(
            f"There is a skill {name!r} already, in {folder}. "
            "Change it with patch or edit, or choose another name."
        )
        self.name = name
        self.folder = folder


class ContentRefusedError(WriteRefusedError):
    """A text is too long, or cannot be written. `path` is relative to the skill."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is refused: {reason}.")
        self.path = path
        self.reason = reason


class LinkRefusedError(WriteRefusedError):
    """The path leads through a link, which may lead anywhere."""

    def __init__(self, link: Path) -> None:
        super().__init__(f"{link} is a link; what it leads to is changed only where it is.")
        self.link = link


class ReadOnlyError(WriteRefusedError):
    """The skill is not ours to change. `reason` is half a sentence."""

    def __init__(self, name: str, owner: str, reason: str) -> None:
        super().__init__(f"The skill {name!r} ({owner}) cannot be changed so: {reason}.")
        self.name = name
        self.owner = owner
        self.reason = reason


class PinnedError(WriteRefusedError):
    """The user wants the skill kept."""

    def __init__(self, name: str, *, is_unasked: bool) -> None:
        what = "changed unasked" if is_unasked else "deleted"
        super().__init__(
            f"The skill {name!r} is pinned and is not {what}. "
            f"The user unpins it with `acp-server skills unpin {name}`."
        )
        self.name = name


class UnaskedChangeError(WriteRefusedError):
    """A pass that nobody asked for may not touch the skill."""

    def __init__(self, name: str, owner: str, origin: str) -> None:
        super().__init__(
            f"The skill {name!r} ({owner}) is not changed by the {origin}: it leaves alone what is "
            "bundled, installed, of the workspace or of others, and archives only what an agent "
            "made. Choose another skill, or leave it."
        )
        self.name = name
        self.owner = owner
        self.origin = origin


class SuccessorError(WriteRefusedError):
    """What an archived skill is said to be absorbed into is no other skill."""

    def __init__(self, name: str, successor: str) -> None:
        super().__init__(
            f"absorbed_into names {_shown(successor)}, which is "
            f"{'the skill itself' if name == successor else 'no skill'}. Name the existing skill "
            "that holds the content now, or leave it empty."
        )
        self.name = name
        self.successor = successor


class PatchRefusedError(WriteRefusedError):
    """An old text is not there, or not once. The patcher's error is the cause."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} was not changed. {reason}")
        self.path = path
        self.reason = reason


class OutdatedError(WriteRefusedError):
    """The files are not what the change was made from."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not what the change was made from: somebody else changed it meanwhile. "
            "Nothing was written. Look at it again."
        )
        self.path = path


class NotArchivedError(SkillError):
    """There is nothing of the name to bring back."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No skill named {_shown(name)} is archived.")
        self.name = name


class ArchiveConflictError(SkillError):
    """Something stands where an archived skill was."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(
            f"The skill {name!r} cannot be brought back: {path} is there. Move that away first."
        )
        self.name = name
        self.path = path


class UndoError(SkillError):
    """A pass cannot be undone."""


class UndoConflictError(UndoError):
    """What a pass left was changed since. `paths` are the files."""

    def __init__(self, paths: Sequence[Path]) -> None:
        listed = ", ".join(str(path) for path in paths[:_SHOWN_FILES])
        super().__init__(f"This was changed since, and undoing would lose it: {listed}.")
        self.paths = tuple(paths)


def _shown(name: str) -> str:
    return repr(name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}...")
