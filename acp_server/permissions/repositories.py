"""What git would find around a folder: settings that hold secrets, or that are not the user's own.

Of files it reads git's settings only. All calls block.
"""

import os
import re
from pathlib import Path

from acp_server.permissions.ground import Ground
from acp_server.permissions.protected import is_protected
from skills_store.reading import read_regular

MOST_SETTINGS_BYTES = 100_000
_SECRETS = ("extraheader", "password", "token", "helper = store")
_SETTINGS = ("config", "config.worktree", "modules/*/config", "worktrees/*/config.worktree")
_SECRET_FILES = ("credentials", ".git-credentials")
_ADDRESS = re.compile(r"https?://[^/\s]*@|://[^/\s:@]*:[^/\s@]*@")
_QUOTES = re.compile(r"['\"\\\n]")
MOST_INDEX_BYTES = 50_000_000
_GIT = re.compile(r"\bgit\b")
_SHOWS = re.compile(
    r"\bgit\b.*(?:\b(?:diff|show|whatchanged)\b|\b(?:log|stash|reflog|status)\b.*\s-)", re.DOTALL
)
"""Commands that may show what changed in files: these, and others with flags."""
_PROGRAMS = re.compile(
    r"^\s*(?:\[include|textconv\s*=|external\s*=|command\s*=|clean\s*=|smudge\s*=|process\s*="
    r"|sshcommand\s*=|alternaterefscommand\s*=)",
    re.IGNORECASE | re.MULTILINE,
)
"""Settings that name a program which git starts to show or compare files, or other settings."""
_NAME = re.compile(rb"[^\x00-\x1f]{1,1000}(?=\x00)")
_TELLS = re.compile(r"git\b.*\b(?:remote|config)\b", re.DOTALL)


def doubt_on_git(command: str, folder: Path, ground: Ground) -> str:
    """Return what speaks against running a command in a folder, if it is one of git's."""
    if _is_repository_by_itself(folder, ground):
        return "git may take the files of that folder for its own settings"
    plain = _QUOTES.sub("", command)
    if not _GIT.search(plain):
        return ""
    found = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    return "" if found is None else _doubt_on_store(plain, _store_of(found / ".git"))


def _doubt_on_store(command: str, store: Path) -> str:
    """Return what speaks against a command of git's in a repository whose settings lie there.

    Monitors, index hooks and bare layouts are switched off for every command; what remains are
    programs that git starts to show or to compare files.
    """
    if _TELLS.search(command) and holds_git_secrets(store):
        return "the settings of git hold credentials"
    if any(_PROGRAMS.search(_text(file)) for name in _SETTINGS for file in store.glob(name)):
        return "the settings of this repository name programs that git would start"
    if _SHOWS.search(command):
        tracked = next((name for name in _tracked(store) if is_protected(Path(name))), None)
        if tracked is not None:
            return f"{tracked} is tracked by git, and its changes may be shown"
    return ""


def _tracked(store: Path) -> list[str]:
    """Return the names of tracked files, as far as they can be told from git's index.

    The index of version 4 leaves out what names have in common, and is taken for one that may
    hold anything.
    """
    try:
        index = read_regular(store / "index", MOST_INDEX_BYTES)
    except OSError:
        return []
    if index.data[4:8] == b"\x00\x00\x00\x04" or not index.is_whole:
        return [".env"]
    return [found.decode(errors="surrogateescape") for found in _NAME.findall(index.data)]


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
        data = read_regular(file, MOST_SETTINGS_BYTES + 1).data
        return data.decode(errors="surrogateescape")
    except OSError:
        return ""
