"""Git worktrees of sub-agents: created from the present files, compared and removed at the end.

A worktree lies in a private temporary directory, next to a copy of its first files. Git checks
nothing out, so that no filter or hook of the repository runs: tracked files, and files that git
does not ignore, are copied as they are on disk, with uncommitted changes. A record in this
program's own directory, locked while its process lives, tells the next process about it.
"""

import fcntl
import json
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TextIO

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import as_object, as_text
from skills_store.programs import find_program

GIT_SECONDS = 60.0
MAX_FILES = 20_000
MAX_BYTES = 500_000_000
MAX_CHANGED_BYTES = 10_000_000
"""The largest file whose change is brought back."""
REMOVAL_ATTEMPTS, REMOVAL_SECONDS = 10, 0.1
PREFIX = "acp-worktree-"
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
_SAFE_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
NO_REPOSITORY = "a worktree needs a git repository with a commit: {reason}"
TOO_LARGE = "the workspace is too large for a worktree: more than {limit}"


class IsolationError(Exception):
    """A worktree cannot be created or compared. The text says why."""


@frozen_dataclass
class FileContents:
    """Whether a file exists, and its bytes; None if they are too many or it is no regular file."""

    exists: bool
    data: bytes | None = None


@frozen_dataclass
class TreeChange:
    """A file that was changed in a worktree."""

    path: Path
    """The file in the workspace that it stands for."""
    before: FileContents
    after: FileContents


@frozen_dataclass
class SubAgentWorktree:
    """A worktree that exists. All calls block."""

    git: str
    variables: Mapping[str, str]
    repository: Path
    """The top of the user's work tree."""
    parent: Path
    """The temporary directory."""
    tree: Path
    directory: Path
    """The sub-agent's working directory, which stands for the session's."""
    administration: Path
    """Git's own directory for this worktree."""
    record: TextIO
    """Locked while this worktree is in use."""
    names: frozenset[str] = field(default_factory=frozenset[str])
    """The files that it began with, relative to the top."""

    def changes(self) -> Sequence[TreeChange]:
        """Return the files that were changed since the worktree was created.

        Raises:
            IsolationError: they cannot be listed.
        """
        # Not by the `.git` of the tree, which the sub-agent may have changed.
        places = (f"--git-dir={self.administration}", f"--work-tree={self.tree}")
        now = _list_names(self.git, self.variables, self.tree, places)
        pairs = (
            TreeChange(
                self.repository / name,
                _read(self.parent / "base", name),
                _read(self.tree, name),
            )
            for name in sorted(self.names | now)
        )
        return [each for each in pairs if each.before != each.after]

    def close(self) -> None:
        """Remove the worktree."""
        _remove(self.parent, self.administration)
        Path(self.record.name).unlink(missing_ok=True)
        self.record.close()


class WorktreeStore:
    """Creates worktrees, and removes those of processes that were killed. All calls block."""

    def __init__(self, directory: Path, variables: Mapping[str, str]) -> None:
        """Keep records in `directory`; `variables` are the environment for git."""
        self._directory = directory
        self._variables = {
            **{name: variables[name] for name in _SAFE_VARIABLES if name in variables},
            **_ENVIRONMENT,
        }

    def create(self, workspace: Path) -> SubAgentWorktree:
        """Create a worktree of the repository that a directory is in.

        Raises:
            IsolationError: it cannot be created.
        """
        git = find_program("git", self._variables.get("PATH"), outside=[workspace])
        if git is None:
            raise IsolationError(NO_REPOSITORY.format(reason="git was not found"))
        asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        lines = _run(git, self._variables, workspace, *asked).splitlines()
        top, common = (Path(os.fsdecode(line)) for line in lines)
        try:
            parent = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
            administration = common / "worktrees" / parent.name
            # Before anything is there to be removed.
            record = self._open_record(parent, administration)
        except OSError as error:
            raise IsolationError(f"a worktree cannot be created: {error}") from error
        tree = parent / parent.name
        created = SubAgentWorktree(
            git,
            self._variables,
            top,
            parent,
            tree,
            tree / workspace.resolve().relative_to(top.resolve()),
            administration,
            record,
        )
        try:
            add = ("worktree", "add", "--detach", "--no-checkout", "--quiet", str(tree), "HEAD")
            _run(git, self._variables, top, *add)
            _run(git, self._variables, tree, "read-tree", "HEAD")
            names = _list_names(git, self._variables, top, ())
            copied = _copy_files(names, top, (tree, parent / "base"))
            created.directory.mkdir(parents=True, exist_ok=True)
        except (OSError, IsolationError) as error:
            created.close()
            raise IsolationError(str(error)) from error
        return replace(created, names=copied)

    def clean_up(self) -> None:
        """Remove the worktrees of processes that were killed."""
        for path in self._directory.glob("*.json"):
            with suppress(OSError, ValueError), path.open("r+") as record:
                # A process that lives holds the lock of its record.
                fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
                stored = as_object(json.loads(record.read()))
                _remove_recorded(stored)
                path.unlink(missing_ok=True)

    def _open_record(self, parent: Path, administration: Path) -> TextIO:
        """Write the record of a worktree, and return it locked."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        record = (self._directory / f"{parent.name}.json").open("w")
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
        record.write(json.dumps({"directory": str(parent), "administration": str(administration)}))
        record.flush()
        return record


def _remove_recorded(stored: Mapping[str, JsonValue]) -> None:
    parent = Path(as_text(stored.get("directory")))
    administration = Path(as_text(stored.get("administration")))
    # Only what `create` could have written: a record must not make us delete anything else.
    is_own = parent.name.startswith(PREFIX) and administration.name == parent.name
    if is_own and administration.parent.name == "worktrees":
        _remove(parent, administration)


def _remove(parent: Path, administration: Path) -> None:
    for _ in range(REMOVAL_ATTEMPTS):
        shutil.rmtree(parent, ignore_errors=True)
        if not parent.exists():
            break
        time.sleep(REMOVAL_SECONDS)  # a command that is being ended writes into it
    shutil.rmtree(administration, ignore_errors=True)
    with suppress(OSError):
        administration.parent.rmdir()  # git has it only while there are worktrees


def _copy_files(names: Collection[str], top: Path, targets: Sequence[Path]) -> frozenset[str]:
    """Copy files to some directories; return those that exist.

    Raises:
        IsolationError: they are too many, or too large.
    """
    if len(names) > MAX_FILES:
        raise IsolationError(TOO_LARGE.format(limit=f"{MAX_FILES:,} files"))
    copied: set[str] = set()
    total = 0
    for name in names:
        source = top / name
        try:
            status = source.lstat()
        except OSError:
            continue  # deleted, but still tracked
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            continue  # a submodule is a directory
        total += status.st_size
        if total > MAX_BYTES:
            raise IsolationError(TOO_LARGE.format(limit=f"{MAX_BYTES:,} bytes"))
        for target in targets:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, path, follow_symlinks=False)
        copied.add(name)
    return frozenset(copied)


def _read(directory: Path, name: str) -> FileContents:
    path = directory / name
    # A link in place of a directory could lead to anything.
    if not Path(os.path.realpath(path.parent)).is_relative_to(directory):
        return FileContents(exists=True)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return FileContents(exists=False)
    except OSError:
        # The target of a link, in a form that is no text.
        return FileContents(exists=True, data=_read_link(path))
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_CHANGED_BYTES:
        os.close(descriptor)
        return FileContents(exists=True)
    with os.fdopen(descriptor, "rb") as file:
        return FileContents(exists=True, data=file.read())


def _read_link(path: Path) -> bytes | None:
    try:
        return b"\0" + os.fsencode(path.readlink())
    except OSError:
        return None


def _list_names(
    git: str, variables: Mapping[str, str], directory: Path, places: Sequence[str]
) -> frozenset[str]:
    """Return the tracked files, and the others that are not ignored."""
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    output = _run(git, variables, directory, *places, *listing)
    return frozenset(os.fsdecode(each) for each in output.split(b"\0") if each)


def _run(git: str, variables: Mapping[str, str], directory: Path, *arguments: str) -> bytes:
    """Return git's output.

    Raises:
        IsolationError: git failed.
    """
    try:
        done = subprocess.run(  # noqa: S603  git itself, an absolute path
            (git, *_OPTIONS, *arguments),
            cwd=directory,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IsolationError(NO_REPOSITORY.format(reason=error)) from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise IsolationError(NO_REPOSITORY.format(reason=lines[-1] if lines else "git failed"))
    return done.stdout
