"""What a call of `skill_manage` says, and what becomes of it. Values only."""

from dataclasses import dataclass

from skills_store.changes import Action
from skills_store.ownership import Origin
from skills_store.refusals import CallRefusedError


@dataclass(frozen=True, slots=True)
class ManageCall:
    """The arguments of one call. Which of them an action needs, `Planner.plan` says."""

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
    """Why it is archived, for the record."""


@dataclass(frozen=True, slots=True)
class Done:
    """A change that was made. `undo_id` is given for those that nobody asked for."""

    message: str
    undo_id: str | None = None


def needed(action: Action, name: str, value: str | None) -> str:
    """Return an argument that an action cannot do without.

    Raises:
        CallRefusedError: it was not given.
    """
    if value is None:
        message = f"{action} needs the argument {name}."
        raise CallRefusedError(message)
    return value
