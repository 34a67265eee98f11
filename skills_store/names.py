"""Validate names of new skills and categories, and paths without symlinks.

Names that are special on one platform only (drives, reserved names, an existing name in other case)
are rejected on all of them. Reads names and links, never file content.
"""

import os
import re
import unicodedata
from pathlib import Path, PurePosixPath

from skills_store.discovery import is_ignored_directory
from skills_store.document import is_standard_name
from skills_store.errors import SkillPathRefusedError
from skills_store.skill import LINKED_FOLDERS, MAX_NAME_CHARACTERS
from skills_store.write_errors import InvalidSkillNameError, SymlinkRefusedError

MAX_CATEGORY_LEVELS = 4

_CATEGORY = re.compile(r"[a-z0-9]+([-_.][a-z0-9]+)*")
DEVICE_NAME = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(\..*)?", re.IGNORECASE)
"""Names that Windows reserves for devices, with any extension."""


def check_new_name(name: str) -> None:
    """Reject a name that a new skill must not have. Existing skills may have other names.

    Raises:
        InvalidSkillNameError: It violates the standard, or is special on some platform.
    """
    if not is_standard_name(name):
        reason = (
            f"use 1-{MAX_NAME_CHARACTERS} of a-z, 0-9 and single hyphens between them "
            f"(it has {len(name)} characters)"
        )
        raise InvalidSkillNameError(name, reason)
    _refuse_reserved(name, name)


def parse_category(category: str) -> PurePosixPath:
    """Return a category as a relative path; the empty category is the skills directory itself.

    Raises:
        InvalidSkillNameError: It is not a valid category.
    """
    if not category:
        return PurePosixPath()
    levels = category.split("/")
    if len(levels) > MAX_CATEGORY_LEVELS:
        raise InvalidSkillNameError(category, f"at most {MAX_CATEGORY_LEVELS} levels may be")
    for level in levels:
        if len(level) > MAX_NAME_CHARACTERS or not _CATEGORY.fullmatch(level):
            reason = f"use a-z, 0-9 and hyphens, {MAX_NAME_CHARACTERS} characters at most"
            raise InvalidSkillNameError(category, reason)
        _refuse_reserved(level, category)
    return PurePosixPath(*levels)


def refuse_links(root: Path, path: Path) -> None:
    """Reject a path through a symlink below `root`, or one that exists in another spelling.

    Raises:
        SymlinkRefusedError: A component is a symlink.
        SkillPathRefusedError: An entry has the same name in other letter case or Unicode form.
    """
    folder = root
    for level in path.relative_to(root).parts:
        try:
            names = frozenset(os.listdir(folder))  # noqa: PTH208 - names are all we need
        except (FileNotFoundError, NotADirectoryError):
            names = frozenset[str]()
        others = () if level in names else [each for each in names if is_same_name(each, level)]
        folder /= level
        for other in others:
            reason = f"it is there as {other}; use that spelling"
            raise SkillPathRefusedError(str(folder), reason)
        if folder.is_symlink():
            raise SymlinkRefusedError(folder)
        if folder != path and folder.exists() and not folder.is_dir():
            raise SkillPathRefusedError(str(folder), "a file stands where a folder should be")


def _refuse_reserved(level: str, name: str) -> None:
    if DEVICE_NAME.fullmatch(level):
        raise InvalidSkillNameError(name, f"{level} is a reserved name on Windows")
    if level in LINKED_FOLDERS or is_ignored_directory(level):
        raise InvalidSkillNameError(name, f"no skill is looked for in a folder named {level}")


def is_same_name(first: str, second: str) -> bool:
    """Return whether some file system treats two names as equal."""
    return _fold_name(first) == _fold_name(second)


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
