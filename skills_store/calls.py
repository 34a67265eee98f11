"""Arguments and result of a `skill_manage` call."""

from dataclasses import dataclass

from skills_store.changes import ManageAction
from skills_store.ownership import ChangeOrigin
from skills_store.write_errors import InvalidCallError


@dataclass(frozen=True, slots=True)
class ManageCall:
    """Arguments of one call. `SkillChangePlanner` checks which ones an action needs."""

    action: ManageAction
    name: str
    content: str | None = None
    category: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    file_path: str | None = None
    file_content: str | None = None
    absorbed_into: str | None = None
    origin: ChangeOrigin = "turn"
    reason: str = ""
    """Why the skill is archived, for the record."""


@dataclass(frozen=True, slots=True)
class ManageResult:
    """A committed change. `undo_id` is set for background runs."""

    message: str
    undo_id: str | None = None


def require_argument(action: ManageAction, name: str, value: str | None) -> str:
    """Return an argument that an action requires.

    Raises:
        InvalidCallError: It is missing.
    """
    if value is None:
        message = f"{action} needs the argument {name}."
        raise InvalidCallError(message)
    return value
