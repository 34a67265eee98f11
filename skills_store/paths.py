"""Resolve a path from the model to a file of a skill. Paths are untrusted.

The result must not depend on the platform: drive and device names, other letter case, and trailing
characters that a system drops are rejected everywhere. Reads names and links, no content.
"""

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from skills_store.discovery import is_ignored_directory
from skills_store.errors import (
    MissingSkillFileError,
    SkillPathRefusedError,
    UnreadableSkillFileError,
)
from skills_store.linked import linked_files
from skills_store.names import DEVICE_NAME, is_same_name
from skills_store.reading import reason_of
from skills_store.skill import CATEGORY_FILE, LINKED_FOLDERS, SKILL_FILE

MAX_PATH_CHARACTERS = 1_024
MAX_NAME_BYTES = 255
MAX_LEVELS = 6
"""Maximum depth of a support file that is written."""

_DRIVE = re.compile(r"[A-Za-z]:")
_NON_PORTABLE = re.compile(r'[<>"|?*]')
_MARKER_FILES = frozenset({SKILL_FILE.casefold(), CATEGORY_FILE.casefold()})


def resolve_file(folder: Path, path: str) -> Path:
    """Return the real path of a file in a skill's directory.

    Raises:
        SkillPathRefusedError: The path is not one of a file in the directory.
        MissingSkillFileError: There is no such file.
        UnreadableSkillFileError: The system denies access, or a link leads nowhere.
    """
    current = folder
    for name in split_path(path):
        current /= _match_listed_name(folder, current, name, path)
    try:
        real_path, home = current.resolve(strict=True), folder.resolve(strict=True)
    # A link loop raises either, depending on the Python version.
    except (OSError, RuntimeError) as error:
        raise UnreadableSkillFileError(path, "it is a link that leads nowhere") from error
    # Compare resolved paths: a link inside the skill could otherwise expose any file of the user.
    if not real_path.is_relative_to(home):
        raise SkillPathRefusedError(path, "it is a link that leads out of the skill's folder")
    if real_path.is_dir():
        raise SkillPathRefusedError(path, "it is a folder; name one of its files")
    return real_path


def split_path(path: str) -> list[str]:
    """Split a path into its names.

    Raises:
        SkillPathRefusedError: It is not a plain relative path.
    """
    checks = {
        "it is empty": not path,
        f"it is longer than {MAX_PATH_CHARACTERS} characters": len(path) > MAX_PATH_CHARACTERS,
        "it holds a NUL": "\0" in path,
        "it holds characters that cannot be seen": not path.isprintable(),
        "it is absolute": path.startswith(("/", "\\")),
        "it begins with ~, which is not replaced here": path.startswith("~"),
        "it names a drive": bool(_DRIVE.match(path)),
        "it holds a colon": ":" in path,
        "it holds a backslash; write / between names": "\\" in path,
    }
    _refuse_first(path, checks)
    names = path.split("/")
    for name in names:
        is_too_long = len(name.encode()) > MAX_NAME_BYTES
        checks = {
            "it goes up with ..": name == "..",
            "it has an empty name or a single dot in it": name in {"", "."},
            f"a name in it is longer than {MAX_NAME_BYTES} bytes": is_too_long,
            "a name in it ends with a dot or a blank": name.endswith((".", " ")),
            f"{name} is reserved for a device": bool(DEVICE_NAME.fullmatch(name)),
            f"{name} holds nothing of a skill": is_ignored_directory(name.lower()),
        }
        _refuse_first(path, checks)
    return names


def parse_support_path(path: str) -> PurePosixPath:
    """Validate and return the path of a support file to write or remove.

    Checks the text of the path only.

    Raises:
        SkillPathRefusedError: It is not below a support directory, or not valid on every system.
    """
    names = split_path(path)
    folders = ", ".join(f"{folder}/" for folder in LINKED_FOLDERS)
    top, name = names[0], names[-1]
    is_below = top in LINKED_FOLDERS and len(names) > 1
    checks = {
        f"a file of a skill is below one of {folders}": not is_below,
        f"it has more than {MAX_LEVELS} levels": len(names) > MAX_LEVELS,
        'it holds one of < > " | ? *': any(map(_NON_PORTABLE.search, names)),
        "a name in it begins with a blank": any(each.startswith(" ") for each in names),
        f"{name} would make its folder a skill or a category": name.casefold() in _MARKER_FILES,
    }
    _refuse_first(path, checks)
    return PurePosixPath(*names)


def is_skill_file_path(path: str | None) -> bool:
    """Return whether a call means the SKILL.md: no path, or exactly that name."""
    return path is None or path in {"", SKILL_FILE}


def _refuse_first(path: str, checks: Mapping[str, bool]) -> None:
    for reason, is_invalid in checks.items():
        if is_invalid:
            raise SkillPathRefusedError(path, reason)


def _match_listed_name(folder: Path, directory: Path, name: str, path: str) -> str:
    """Return a name as its directory lists it, so that letter case matters on every system."""
    try:
        listed_names = os.listdir(directory)  # noqa: PTH208 - names are all we need
    except (FileNotFoundError, NotADirectoryError):
        listed_names = []
    except OSError as error:
        raise UnreadableSkillFileError(path, reason_of(error)) from error
    normalized = unicodedata.normalize("NFC", name)
    matches = sorted(each for each in listed_names if is_same_name(each, name))
    for each in matches:
        if unicodedata.normalize("NFC", each) == normalized:
            return each
    if matches:
        raise SkillPathRefusedError(path, f"it is there as {matches[0]!r}; write it so")
    raise MissingSkillFileError(path, linked_files(folder).all())
