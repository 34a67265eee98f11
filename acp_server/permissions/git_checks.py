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
MAX_SUBMODULES = 1_000
_GIT = re.compile(r"\bgit\b")
_PRINTS_CHANGES = re.compile(
    r"\bgit\b.*(?:\b(?:diff|show|whatchanged)\b|\b(?:log|stash|reflog|status)\b.*\s-)", re.DOTALL
)
"""Commands that may print changes of file contents: these, and others with flags."""
_PROGRAMS = re.compile(
    # A setting may follow the head of its section on the same line.
    r"(?:^|\])\s*(?:\[include"
    r"|(?:textconv|external|command|clean|smudge|process|sshcommand|alternaterefscommand"
    # These check signatures, and fetch the missing objects of a partial clone.
    r"|program|uploadpack|gitproxy|vcs|askpass|helper|allow)\s*=)",
    re.IGNORECASE | re.MULTILINE,
)
"""Settings that make git run a program to show or compare files, or include other settings."""
_WORK_TREE = re.compile(r"(?:^|\])\s*worktree\s*=(.*)$", re.IGNORECASE | re.MULTILINE)
_SUBMODULE_MODE = b"\x00\x00\xe0\x00"
_SUBMODULE = re.compile(
    _SUBMODULE_MODE + rb"(?=(?:.{34}|.{36}|.{46}|.{48})([^\x00-\x1f][^\x00]*)\x00)", re.DOTALL
)
"""An entry of git's index, from its mode to its name: the sizes are those of versions 2 and 3 with
hashes of 20 and 32 bytes."""
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
    return "" if found is None else _find_repository_doubt(unquoted, found)


def _find_repository_doubt(command: str, work_tree: Path) -> str:
    """Return the reason to ask before running git in this work tree; empty if none.

    File system monitors, index hooks and bare layouts are disabled for every command; the remaining
    risk is programs that git runs to show or compare files, also those of submodules.
    """
    directories = _git_directories_of(work_tree)
    if _PRINTS_CONFIG.search(command) and any(map(has_git_secrets, directories)):
        return "the git configuration contains credentials"
    work_trees = [work_tree]
    # Git looks for changes in submodules by running itself there. Their own submodules are appended
    # while this loop runs.
    for each in work_trees:
        submodules = _submodules_of(each)
        if submodules is None or len(work_trees) > MAX_SUBMODULES:
            return "the git configuration of its submodules cannot be checked"
        doubt = _find_settings_doubt(each)
        if doubt:
            return doubt
        work_trees += [submodule for submodule in submodules if submodule not in work_trees]
    if _PRINTS_CHANGES.search(command):
        names = (name for directory in directories for name in _tracked_names(directory))
        tracked = next((name for name in names if is_protected(Path(name))), None)
        if tracked is not None:
            return f"{tracked} is tracked by git, and its changes may be shown"
    return ""


def _submodules_of(work_tree: Path) -> list[Path] | None:
    """Return the submodules that are checked out; None if git's index cannot be read for them."""
    found: list[Path] = []
    for directory in _git_directories_of(work_tree):
        index, is_readable = _read_index(directory)
        if _SUBMODULE_MODE in index and not is_readable:
            return None
        names = (name.decode(errors="surrogateescape") for name in _SUBMODULE.findall(index))
        found += (work_tree / name for name in names)
    return [each for each in found if (each / ".git").exists()]


def _find_settings_doubt(work_tree: Path) -> str:
    """Return the reason to ask because of the settings for one work tree; empty if none."""
    for directory in _git_directories_of(work_tree):
        for file in (file for name in _SETTINGS for file in directory.glob(name)):
            text = _text(file)
            # Fail closed: a file too large to be read completely may name a program.
            if _PROGRAMS.search(text) or len(text) > MAX_SETTINGS_BYTES:
                return "the git configuration of this repository names programs that git would run"
            # The settings of a submodule, which has another parent directory, name its own files.
            if file.parent == directory and any(
                (directory / value.strip(' \t"')).resolve() != work_tree.resolve()
                for value in _WORK_TREE.findall(text)
            ):
                return "the git configuration of this repository names other files as its own"
    return ""


def _read_index(git_directory: Path) -> tuple[bytes, bool]:
    """Return git's index, and whether the names in it can be read without git."""
    try:
        index = read_regular(git_directory / "index", MAX_INDEX_BYTES)
    except OSError:
        return b"", True
    # Version 4 compresses names.
    return index.data, index.is_complete and index.data[4:8] != b"\x00\x00\x00\x04"


def _tracked_names(git_directory: Path) -> list[str]:
    """Return the names of tracked files."""
    index, is_readable = _read_index(git_directory)
    # Fail closed: an index that cannot be read completely may track anything.
    if not is_readable:
        return [".env"]
    return [found.decode(errors="surrogateescape") for found in _NAME.findall(index)]


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


def _git_directories_of(work_tree: Path) -> tuple[Path, ...]:
    """Return the git directory of a work tree, and the one that it shares with others, if any.

    A `.git` may be a file that points to another directory, and that may point to a common one.
    """
    path = work_tree / ".git"
    # `gitdir:` and `commondir` may be relative; joining keeps an absolute path as it is.
    own = path if path.is_dir() else work_tree / _text(path).removeprefix("gitdir:").strip()
    common = _text(own / "commondir").strip()
    return (own, own / common) if common else (own,)


def has_git_secrets(folder: Path) -> bool:
    """Return whether git's configuration contains a password or token."""
    if any((folder / name).exists() for name in _SECRET_FILES):
        return True
    return any(_has_secret(file) for name in _SETTINGS for file in folder.glob(name))


def _has_secret(file: Path) -> bool:
    text = _text(file)
    # Fail closed: a file too large to be read completely may contain a secret.
    return len(text) > MAX_SETTINGS_BYTES or any(
        _ADDRESS.search(line) or any(word in line for word in _SECRETS)
        for line in text.casefold().splitlines()
    )


def _text(file: Path) -> str:
    """Return the content of a file; empty if it cannot be read."""
    try:
        data = read_regular(file, MAX_SETTINGS_BYTES + 1).data
        return data.decode(errors="surrogateescape")
    except OSError:
        return ""
