"""git, as far as it lists files and keeps them in an index and objects of our own. It blocks.

Neither the user's settings nor those of the workspace reach it: no hooks, no filters, no monitors,
no conversions; bytes alone. The user's own repository is only ever read: its list of ignored files
and of tracked ones.
"""

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from acp_server.checkpoints.errors import KeepingError
from acp_server.frozen import frozen
from skills_store.atomic import write_atomically
from skills_store.programs import find_program

REAP_SECONDS = 0.5
LATE = "there was no time"
_HEAD = "ref: refs/heads/none\n"
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tautocrlf = false
\tlooseCompression = 1
\tbigFileThreshold = 100g
\tfsmonitor = false
\tuntrackedCache = false
\tsplitIndex = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
_ATTRIBUTES = "* -text !eol !crlf !filter -ident !working-tree-encoding\n"
"""What stands here counts more than any `.gitattributes`."""
_FOREIGN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1"}
_KEPT_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "TMPDIR")


class LateError(KeepingError):
    """The time is over."""


class GitError(KeepingError):
    """git itself failed."""


def make_repository(folder: Path) -> None:
    """Make the folder of a repository with nothing in it, unless it is there; needs no git.

    Raises:
        OSError: it cannot be made.
    """
    for part in ("objects", "refs", "info"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name, text in (("config", _CONFIG), ("info/attributes", _ATTRIBUTES), ("HEAD", _HEAD)):
        path = folder / name
        if not path.exists() or path.read_text() != text:
            write_atomically(path, text.encode())


def find_git(variables: Mapping[str, str], roots: Iterable[Path]) -> str | None:
    """Return git's path, if there is one outside of the workspace `roots`."""
    return find_program("git", variables.get("PATH"), outside=roots)


@frozen
class Git:
    """Runs git for one folder of the workspace until a deadline, a moment of `time.monotonic`."""

    program: str
    repository: Path
    index: Path
    tree: Path
    """What its paths begin at."""
    folder: Path
    """Where it runs: what it lists lies below."""
    variables: Mapping[str, str]
    deadline_seconds: float
    excludes: str | None = None
    """The user's own file of ignored names, where it is not in the usual place."""

    def run(self, *arguments: str, given: bytes = b"", index: Path | None = None) -> bytes:
        """Return what git prints; `index` is one to read in the place of ours.

        Raises:
            LateError: the deadline came first.
            GitError: it failed.
        """
        own = {name: self.variables[name] for name in _KEPT_VARIABLES if name in self.variables}
        ours = {
            "GIT_DIR": str(self.repository),
            "GIT_WORK_TREE": str(self.tree),
            "GIT_INDEX_FILE": str(index or self.index),
            "LC_ALL": "C",
        }
        settings = ("-c", f"core.excludesFile={self.excludes}") if self.excludes else ()
        command = (self.program, *settings, *arguments)
        return _output(command, self.folder, own | _FOREIGN | ours, given, self.deadline_seconds)

    def names(self, *arguments: str, index: Path | None = None) -> list[str]:
        """Return the paths that `git ls-files` prints, from the tree's top on.

        Raises:
            LateError, GitError: as above.
        """
        return split(self.run("ls-files", "-z", "--full-name", *arguments, index=index))


def split(output: bytes) -> list[str]:
    """Return the texts between NUL characters."""
    return [os.fsdecode(each) for each in output.split(b"\0") if each]


def joined(names: Sequence[str]) -> bytes:
    """Return texts with a NUL behind each."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def own_excludes(program: str, variables: Mapping[str, str], deadline_seconds: float) -> str | None:
    """Return the file that the user's settings name for what is ignored everywhere."""
    command = (program, "config", "--global", "--type=path", "--get", "core.excludesFile")
    own = {name: variables[name] for name in _KEPT_VARIABLES if name in variables}
    try:
        output = _output(command, Path("/"), own, b"", deadline_seconds)
    except KeepingError:
        return None
    return os.fsdecode(output).strip() or None


def _output(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    given: bytes,
    deadline_seconds: float,
) -> bytes:
    try:
        child = subprocess.Popen(  # noqa: S603  git itself, an absolute path
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        reason = f"git cannot be run: {error.strerror or error}"
        raise GitError(reason) from error
    with child:
        try:
            left_seconds = max(0.0, deadline_seconds - time.monotonic())
            output, told = child.communicate(given, timeout=left_seconds)
        except subprocess.TimeoutExpired:
            child.terminate()  # so it takes its lock away
            try:
                child.communicate(timeout=REAP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
            raise LateError(LATE) from None
    if child.returncode != 0:
        lines = told.decode(errors="replace").strip().splitlines() or ["no reason given"]
        reason = f"git failed: {lines[-1]}"
        raise GitError(reason)
    return output
