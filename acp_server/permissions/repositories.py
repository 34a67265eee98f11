"""What git would find around a folder: settings that hold secrets, or that are not the user's own.

Of files it reads git's settings only. All calls block.
"""

import os
import re
from pathlib import Path

from acp_server.permissions.ground import Ground

MOST_SETTINGS_BYTES = 100_000
_SECRETS = ("extraheader", "password", "token", "helper = store")
_SETTINGS = ("config", "config.worktree", "modules/*/config", "worktrees/*/config.worktree")
_SECRET_FILES = ("credentials", ".git-credentials")
_ADDRESS = re.compile(r"https?://[^/\s]*@|://[^/\s:@]*:[^/\s@]*@")
_QUOTES = re.compile(r"['\"\\\n]")
_TELLS = re.compile(r"git\b.*\b(?:remote|config)\b", re.DOTALL)


def doubt_on_git(command: str, folder: Path, ground: Ground) -> str:
    """Return what speaks against running a command in a folder, if it is one of git's."""
    if _is_repository_by_itself(folder, ground):
        return "git may take the files of that folder for its own settings"
    if _TELLS.search(_QUOTES.sub("", command)):
        found = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
        if found is not None and holds_git_secrets(_store_of(found / ".git")):
            return "the settings of git hold credentials"
    return ""


def _is_repository_by_itself(folder: Path, ground: Ground) -> bool:
    """Whether git would take a folder, or one above it in the workspace, for a repository.

    Files that are called as git's own are enough for that, and settings among them name programs
    that git runs. Above a folder with a `.git` it does not look.
    """
    for each in (folder, *folder.parents):
        if not ground.is_inside(each):
            return False
        head = each / "HEAD"
        if head.is_symlink() or head.is_file():
            return True
        if os.path.lexists(each / ".git"):
            return False
    return False


def _store_of(path: Path) -> Path:
    """Return the folder with the settings: a `.git` may be a file that names another folder."""
    if path.is_dir():
        return path
    named = path.parent / _text(path).removeprefix("gitdir:").strip()
    return named / _text(named / "commondir").strip()


def holds_git_secrets(folder: Path) -> bool:
    """Whether git's settings hold a password or a token, as those of some tools do."""
    if any((folder / name).exists() for name in _SECRET_FILES):
        return True
    return any(_holds_secret(file) for name in _SETTINGS for file in folder.glob(name))


def _holds_secret(file: Path) -> bool:
    text = _text(file)
    return len(text) > MOST_SETTINGS_BYTES or any(map(_is_secret, text.casefold().splitlines()))


def _is_secret(line: str) -> bool:
    return any(word in line for word in _SECRETS) or bool(_ADDRESS.search(line))


def _text(file: Path) -> str:
    """Return what a file holds; nothing of one that nobody can read."""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_SETTINGS_BYTES + 1).decode(errors="surrogateescape")
    except OSError:
        return ""
