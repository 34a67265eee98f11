"""Errors of reading skills. The messages are for the model or the user.

SkillError                  the message suggests an alternative; the facts are attributes
  SkillNotFoundError        no skill has the name; lists similar names
    ArchivedSkillError      the skill was archived; names its successor
  AmbiguousSkillError       several skills have the name; lists the unique names
  HiddenSkillError          the skill exists but is hidden from this session; gives the reason
  UnreadableSkillError      its SKILL.md cannot be read or is invalid
  InvalidSkillError         a SKILL.md to be written does not follow the standard
  SkillFileError            a file in a skill's directory
    SkillPathRefusedError   the path is not one of a file in the directory
    MissingSkillFileError   no such file; lists the existing ones
    SkillFileTooLongError   the file is too long to be shown
    UnreadableSkillFileError  the system denies access
"""

from collections.abc import Sequence

from skills_store.skill import ArchivedSkill, DocumentProblem

MAX_LISTED_NAMES = 20
_SHOWN_CHARACTERS = 100  # a rejected path can be of any length


class SkillError(ValueError):
    """A failed operation on a skill."""


class SkillNotFoundError(SkillError):
    """No skill has the name. `similar` are similar names."""

    def __init__(self, name: str, similar: Sequence[str] = (), reason: str = "") -> None:
        hint = f" Did you mean {_format_names(similar)}?" if similar else ""
        super().__init__(
            reason
            or f"There is no skill named {name!r}.{hint} `skills_list` names those there are."
        )
        self.name = name
        self.similar = tuple(similar)


class ArchivedSkillError(SkillNotFoundError):
    """The skill was archived. `archived` names its successor."""

    def __init__(self, archived: ArchivedSkill) -> None:
        super().__init__(archived.name, reason=archived.describe())
        self.archived = archived


class AmbiguousSkillError(SkillError):
    """Several skills have the name. `choices` are their unique names."""

    def __init__(self, name: str, choices: Sequence[str]) -> None:
        super().__init__(
            f"{len(choices)} skills are named {name!r}. Say which one: {_format_names(choices)}."
        )
        self.name = name
        self.choices = tuple(choices)


class HiddenSkillError(SkillError):
    """The skill is hidden from this session. `reason` is half a sentence."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The skill {name!r} is not available here: {reason}.")
        self.name = name
        self.reason = reason


class UnreadableSkillError(SkillError):
    """The SKILL.md cannot be read, or is not valid any more."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The skill {name!r} cannot be loaded: {reason}.")
        self.name = name
        self.reason = reason


class InvalidSkillError(SkillError):
    """A SKILL.md to be written does not follow the standard."""

    def __init__(self, name: str, problems: Sequence[DocumentProblem]) -> None:
        listed = "\n".join(f"- line {each.line}: {each.text}" for each in problems)
        super().__init__(f"The SKILL.md of {name!r} is not valid:\n{listed}")
        self.name = name
        self.problems = tuple(problems)


class SkillFileError(SkillError):
    """A failed operation on a file of a skill. `path` is as requested."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(text)
        self.path = path


class SkillPathRefusedError(SkillFileError):
    """The path is not one of a file in the directory. `reason` is half a sentence."""

    def __init__(self, path: str, reason: str) -> None:
        shown = path if len(path) <= _SHOWN_CHARACTERS else f"{path[:_SHOWN_CHARACTERS]}..."
        super().__init__(
            path,
            f"The path {shown!r} is refused: {reason}. "
            "Give one relative to the skill's folder, such as references/details.md.",
        )
        self.reason = reason


class MissingSkillFileError(SkillFileError):
    """The skill has no such file. `available` are paths of existing ones."""

    def __init__(self, path: str, available: Sequence[str]) -> None:
        contents = f"It has {_format_names(available)}." if available else "It has no other files."
        super().__init__(path, f"The skill has no file {path!r}. {contents}")
        self.available = tuple(available)


class SkillFileTooLongError(SkillFileError):
    """The file is too long to be shown."""

    def __init__(self, path: str, size_bytes: int, max_bytes: int) -> None:
        super().__init__(
            path,
            f"The file {path!r} has {size_bytes} bytes, and at most {max_bytes} are shown. "
            "Read parts of it from the skill's folder.",
        )
        self.size_bytes = size_bytes
        self.max_bytes = max_bytes


class UnreadableSkillFileError(SkillFileError):
    """The system denies reading the file."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, f"The file {path!r} cannot be read: {reason}.")
        self.reason = reason


def _format_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MAX_LISTED_NAMES])
    more = len(names) - MAX_LISTED_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
