"""Validate the path of a support file to write: below one of the four directories, portable name.

Checks the text of a path only.
"""

import re
from pathlib import PurePosixPath

from skills_store.errors import PathRefusedError
from skills_store.paths import checked_names
from skills_store.skill import CATEGORY_FILE, LINKED_FOLDERS, SKILL_FILE

MOST_LEVELS = 6

_NOT_EVERYWHERE = re.compile(r'[<>"|?*]')
_SKILL_MAKERS = frozenset({SKILL_FILE.casefold(), CATEGORY_FILE.casefold()})


def checked_support_path(path: str) -> PurePosixPath:
    """Validate and return the path of a support file to write or remove.

    Raises:
        SkillPathRefusedError: It is not below a support directory, or not valid on every system.
    """
    names = checked_names(path)
    reason = _fault(names)
    if reason:
        raise PathRefusedError(path, reason)
    return PurePosixPath(*names)


def is_main_file(path: str | None) -> bool:
    """Return whether a call means the SKILL.md: no path, or exactly that name."""
    return path is None or path in {"", SKILL_FILE}


def _fault(names: tuple[str, ...]) -> str | None:
    folders = ", ".join(f"{folder}/" for folder in LINKED_FOLDERS)
    faults = {
        f"a file of a skill is below one of {folders}": (
            names[0] not in LINKED_FOLDERS or len(names) == 1
        ),
        f"it has more than {MOST_LEVELS} levels": len(names) > MOST_LEVELS,
        'it holds one of < > " | ? *': any(map(_NOT_EVERYWHERE.search, names)),
        "a name in it begins with a blank": any(name.startswith(" ") for name in names),
        f"{names[-1]} would make its folder a skill or a category": (
            names[-1].casefold() in _SKILL_MAKERS
        ),
    }
    return next((reason for reason, is_fault in faults.items() if is_fault), None)
