"""Validate the path of a support file to write: below one of the four directories, portable name.

Checks the text of a path only.
"""

import re
from pathlib import PurePosixPath

from skills_store.errors import SkillPathRefusedError
from skills_store.paths import split_path
from skills_store.skill import CATEGORY_FILE, LINKED_FOLDERS, SKILL_FILE

MAX_LEVELS = 6

_NON_PORTABLE = re.compile(r'[<>"|?*]')
_MARKER_FILES = frozenset({SKILL_FILE.casefold(), CATEGORY_FILE.casefold()})


def parse_support_path(path: str) -> PurePosixPath:
    """Validate and return the path of a support file to write or remove.

    Raises:
        SkillPathRefusedError: It is not below a support directory, or not valid on every system.
    """
    names = split_path(path)
    reason = _support_path_fault(names)
    if reason:
        raise SkillPathRefusedError(path, reason)
    return PurePosixPath(*names)


def is_skill_file_path(path: str | None) -> bool:
    """Return whether a call means the SKILL.md: no path, or exactly that name."""
    return path is None or path in {"", SKILL_FILE}


def _support_path_fault(names: tuple[str, ...]) -> str | None:
    folders = ", ".join(f"{folder}/" for folder in LINKED_FOLDERS)
    checks = {
        f"a file of a skill is below one of {folders}": (
            names[0] not in LINKED_FOLDERS or len(names) == 1
        ),
        f"it has more than {MAX_LEVELS} levels": len(names) > MAX_LEVELS,
        'it holds one of < > " | ? *': any(map(_NON_PORTABLE.search, names)),
        "a name in it begins with a blank": any(name.startswith(" ") for name in names),
        f"{names[-1]} would make its folder a skill or a category": (
            names[-1].casefold() in _MARKER_FILES
        ),
    }
    return next((reason for reason, is_invalid in checks.items() if is_invalid), None)
