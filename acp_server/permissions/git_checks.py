"""Checks git repositories around a directory for secrets and for configured programs.

The only files it reads are git's own. All calls block.
"""

import os
import re
from pathlib import Path

from acp_server.permissions.protected_names import is_protected
from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from skills_store.reading import read_regular

MAX_SETTINGS_BYTES = 100_000
_SECRETS = ("extraheader", "password", "token", "helper = store")
_SETTINGS = ("config", "config.worktree", "modules/*/config", "worktrees/*/config.worktree")
_SECRET_FILES = ("credentials", ".git-credentials")
_ADDRESS = re.compile(r"https?://[^/\s]*@|://[^/\s:@]*:[^/\s@]*@")
_QUOTES = re.compile(r"['\"\\\n]")
MAX_INDEX_BYTES = 50_000_000
_GIT = re.compile(r"\bgit\b")
_PRINTS_CHANGES = re.compile(
    r"\bgit\b.*(?:\b(?:diff|show|whatchanged)\b|\b(?:log|stash|reflog|status)\b.*\s-)", re.DOTALL
)
"""Commands that may print changes of file contents: these, and others with flags."""
_PROGRAMS = re.compile(
    r"^\s*(?:\[include|textconv\s*=|external\s*=|command\s*=|clean\s*=|smudge\s*=|process\s*="
    r"|sshcommand\s*=|alternaterefscommand\s*=)",
    re.IGNORECASE | re.MULTILINE,
)
"""Settings that make git run a program to show or compare files, or include other settings."""
_NAME = re.compile(rb"[^\x00-\x1f]{1,1000}(?=\x00)")
_PRINTS_CONFIG = re.compile(r"git\b.*\b(?:remote|config)\b", re.DOTALL)


def find_git_doubt(command: str, folder: Path, workspace: ResolvedWorkspace) -> str:
    """Return the reason to ask before running a command in a directory; empty if there is none."""
    # For every command, not only git: the program may run git itself.
    if _is_in_bare_repository(folder, workspace):
        return "git may treat the files of that directory as its own configuration"
    # The shell removes quotes and backslashes, so `g"i"t` is git, too.
    unquoted = _QUOTES.sub("", command)
    if not _GIT.search(unquoted):
        return ""
    found = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    return (
        "" if found is None else _find_repository_doubt(unquoted, _git_directory_of(found / ".git"))
    )


def _find_repository_doubt(command: str, git_directory: Path) -> str:
    """Return the reason to ask before running git with this git directory; empty if none.

    File system monitors, index hooks and bare layouts are disabled for every command; the remaining
    risk is programs that git runs to show or compare files.
    """
    if _PRINTS_CONFIG.search(command) and has_git_secrets(git_directory):
        return "the git configuration contains credentials"
    if any(
        _PROGRAMS.search(_text(file)) for name in _SETTINGS for file in git_directory.glob(name)
    ):
        return "the git configuration of this repository names programs that git would run"
    if _PRINTS_CHANGES.search(command):
        tracked = next(
            (name for name in _tracked_names(git_directory) if is_protected(Path(name))), None
        )
        if tracked is not None:
            return f"{tracked} is tracked by git, and its changes may be shown"
    return ""


def _tracked_names(git_directory: Path) -> list[str]:
    """Return the names of tracked files, as far as git's index can be read without git.

    Version 4 of the index compresses names, so such an index is treated as if it tracked a secret.
    """
    try:
        index = read_regular(git_directory / "index", MAX_INDEX_BYTES)
    except OSError:
        return []
    # Fail closed: an index that cannot be read completely may track anything.
    if index.data[4:8] == b"\x00\x00\x00\x04" or not index.is_complete:
        return [".env"]
    return [found.decode(errors="surrogateescape") for found in _NAME.findall(index.data)]


def _is_in_bare_repository(folder: Path, workspace: ResolvedWorkspace) -> bool:
    """Return whether git would treat a directory, or one above it, as a bare repository.

    Only directories of the workspace are looked at.

    A file called HEAD next to git's other files is enough for git, and the configuration there
    names programs that git runs. Git does not look above a directory that contains `.git`.
    """
    for each in (folder, *folder.parents):
        if not workspace.is_inside(each):
            return False
        head = each / "HEAD"
        if head.is_symlink() or head.is_file():
            return True
        if os.path.lexists(each / ".git"):
            return False
    return False


def _git_directory_of(path: Path) -> Path:
    """Return the git directory: a `.git` may be a file that points to another directory."""
    if path.is_dir():
        return path
    # `gitdir:` and `commondir` may be relative; joining keeps an absolute path as it is.
    git_directory = path.parent / _text(path).removeprefix("gitdir:").strip()
    return git_directory / _text(git_directory / "commondir").strip()


def has_git_secrets(folder: Path) -> bool:
    """Return whether git's configuration contains a password or token."""
    if any((folder / name).exists() for name in _SECRET_FILES):
        return True
    return any(_has_secret(file) for name in _SETTINGS for file in folder.glob(name))


def _has_secret(file: Path) -> bool:
    text = _text(file)
    # Fail closed: a file too large to be read completely may contain a secret.
    return len(text) > MAX_SETTINGS_BYTES or any(map(_is_secret, text.casefold().splitlines()))


def _is_secret(line: str) -> bool:
    return any(word in line for word in _SECRETS) or bool(_ADDRESS.search(line))


def _text(file: Path) -> str:
    """Return the content of a file; empty if it cannot be read."""
    try:
        data = read_regular(file, MAX_SETTINGS_BYTES + 1).data
        return data.decode(errors="surrogateescape")
    except OSError:
        return ""
