"""What can go wrong with a skill, in words for the model or the user who asked.

SkillError                  the text says what to do instead; the facts are attributes
  SkillNotFoundError        there is no skill of the name; similar names are given
    ArchivedSkillError      there was one: it is told where it went
  AmbiguousSkillError       several skills have the name; how each is called is given
  HiddenSkillError          the skill is there, but not for this session; why is given
  UnreadableSkillError      its SKILL.md could be read when the skill was found, and no more
  InvalidSkillError         a SKILL.md that is to be written is not as the standard wants it
  SkillFileError            a file in a skill's folder
    PathRefusedError        the path is not one of a file in the folder
    MissingFileError        there is no such file; those that are there are given
    FileTooLongError        the file is too long to be shown
    UnreadableFileError     the system does not let it be read
"""

from collections.abc import Sequence

from skills_store.skill import Archived, Problem

MOST_NAMES = 20
_SHOWN_CHARACTERS = 100  # of a path that is refused, which may be of any length


class SkillError(ValueError):
    """Something that cannot be done with a skill."""


class SkillNotFoundError(SkillError):
    """There is no skill of the name. `similar` are names that look like it."""

    def __init__(self, name: str, similar: Sequence[str] = (), reason: str = "") -> None:
        hint = f" Did you mean {_listed(similar)}?" if similar else ""
        super().__init__(
            reason
            or f"There is no skill named {name!r}.{hint} `skills_list` names those there are."
        )
        self.name = name
        self.similar = tuple(similar)


class ArchivedSkillError(SkillNotFoundError):
    """The skill was archived. `archived` says where it went."""

    def __init__(self, archived: Archived) -> None:
        super().__init__(archived.name, reason=archived.told())
        self.archived = archived


class AmbiguousSkillError(SkillError):
    """Several skills have the name. `choices` are names that only one of them has."""

    def __init__(self, name: str, choices: Sequence[str]) -> None:
        super().__init__(
            f"{len(choices)} skills are named {name!r}. Say which one: {_listed(choices)}."
        )
        self.name = name
        self.choices = tuple(choices)


class HiddenSkillError(SkillError):
    """The skill is not for this session. `reason` says why, in half a sentence."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The skill {name!r} is not available here: {reason}.")
        self.name = name
        self.reason = reason


class UnreadableSkillError(SkillError):
    """The SKILL.md cannot be read any more, or is no longer one."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The skill {name!r} cannot be loaded: {reason}.")
        self.name = name
        self.reason = reason


class InvalidSkillError(SkillError):
    """A SKILL.md that is to be written is not as the standard wants it."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        listed = "\n".join(f"- line {each.line}: {each.text}" for each in problems)
        super().__init__(f"The SKILL.md of {name!r} is not valid:\n{listed}")
        self.name = name
        self.problems = tuple(problems)


class SkillFileError(SkillError):
    """A file in a skill's folder. `path` is as it was asked for."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(text)
        self.path = path


class PathRefusedError(SkillFileError):
    """The path is not one of a file in the folder. `reason` says why, in half a sentence."""

    def __init__(self, path: str, reason: str) -> None:
        shown = path if len(path) <= _SHOWN_CHARACTERS else f"{path[:_SHOWN_CHARACTERS]}..."
        super().__init__(
            path,
            f"The path {shown!r} is refused: {reason}. "
            "Give one relative to the skill's folder, such as references/details.md.",
        )
        self.reason = reason


class MissingFileError(SkillFileError):
    """There is no such file. `available` are the paths of some that are there."""

    def __init__(self, path: str, available: Sequence[str]) -> None:
        there = f"It has {_listed(available)}." if available else "It has no other files."
        super().__init__(path, f"The skill has no file {path!r}. {there}")
        self.available = tuple(available)


class FileTooLongError(SkillFileError):
    """The file is too long to be shown."""

    def __init__(self, path: str, size_bytes: int, most_bytes: int) -> None:
        super().__init__(
            path,
            f"The file {path!r} has {size_bytes} bytes, and at most {most_bytes} are shown. "
            "Read parts of it from the skill's folder.",
        )
        self.size_bytes = size_bytes
        self.most_bytes = most_bytes


class UnreadableFileError(SkillFileError):
    """The system does not let the file be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, f"The file {path!r} cannot be read: {reason}.")
        self.reason = reason


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"
