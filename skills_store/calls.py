"""Arguments and result of a `skill_manage` call."""

from dataclasses import dataclass

from skills_store.changes import Action
from skills_store.ownership import Origin
from skills_store.write_errors import CallRefusedError


@dataclass(frozen=True, slots=True)
class ManageCall:
    """Arguments of one call. `SkillChangePlanner` checks which ones an action needs."""

    action: Action
    name: str
    content: str | None = None
    category: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    file_path: str | None = None
    file_content: str | None = None
    absorbed_into: str | None = None
    origin: Origin = "turn"
    reason: str = ""
    """Why the skill is archived, for the record."""


@dataclass(frozen=True, slots=True)
class Done:
    """A committed change. `undo_id` is set for background runs."""

    message: str
    undo_id: str | None = None


def needed(action: Action, name: str, value: str | None) -> str:
    """Return an argument that an action requires.

    Raises:
        InvalidCallError: It is missing.
    """
    if value is None:
        message = f"{action} needs the argument {name}."
        raise CallRefusedError(message)
    return value
