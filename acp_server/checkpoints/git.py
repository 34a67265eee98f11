"""Runs git to list files and to store them in our own index and object store. Blocks.

Neither the user's configuration nor the workspace's is applied: no hooks, filters, monitors or
conversions. The user's own repository is only read: its ignored and its tracked files.
"""

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from acp_server.checkpoints.errors import CheckpointStoreError
from acp_server.startup.fast_dataclass import frozen_dataclass
from skills_store.atomic import write_atomically
from skills_store.programs import find_program

REAP_SECONDS = 0.5
TIMED_OUT = "the time limit was reached"
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
"""info/attributes takes precedence over every `.gitattributes`."""
_NO_FOREIGN_CONFIG = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}
_SAFE_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "TMPDIR")


class SnapshotTimeoutError(CheckpointStoreError):
    """The deadline has passed."""


class GitError(CheckpointStoreError):
    """git failed or cannot be run."""


def make_repository(folder: Path) -> None:
    """Create an empty repository unless it exists; needs no git.

    Raises:
        OSError: it cannot be created.
    """
    for part in ("objects", "refs", "info"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name, text in (("config", _CONFIG), ("info/attributes", _ATTRIBUTES), ("HEAD", _HEAD)):
        path = folder / name
        if not path.exists() or path.read_text() != text:
            write_atomically(path, text.encode())


def find_git(variables: Mapping[str, str], roots: Iterable[Path]) -> str | None:
    """Return git's path; None if there is no git outside of the workspace `roots`."""
    return find_program("git", variables.get("PATH"), outside=roots)


@frozen_dataclass
class SnapshotGit:
    """Runs git for one directory of the workspace until a deadline, a `time.monotonic` value."""

    program: str
    repository: Path
    index: Path
    tree: Path
    """The directory that listed paths are relative to."""
    working_directory: Path
    """The working directory: only files below it are listed."""
    variables: Mapping[str, str]
    deadline_seconds: float
    excludes: str | None = None
    """The user's global ignore file, if it is not in the default place."""

    def run(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        """Return git's output; `index` is another index to use instead of ours.

        Raises:
            SnapshotTimeoutError: the deadline has passed.
            GitError: git failed.
        """
        settings = ("-c", f"core.excludesFile={self.excludes}") if self.excludes else ()
        variables = {"GIT_INDEX_FILE": str(index or self.index)}
        return self._run((*settings, *arguments), variables, stdin)

    def run_with_objects(self, objects: Path, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return git's output, reading also the objects of another repository.

        For commands that only read: git would refresh the times of objects that it writes again.

        Raises:
            SnapshotTimeoutError, GitError: as for `run`.
        """
        # Quoted as git reads the list: a colon separates directories.
        quoted = str(objects).replace("\\", "\\\\").replace('"', '\\"')
        return self._run(arguments, {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}, stdin)

    def run_as_user(self, repository: Path, *arguments: str) -> bytes:
        """Return git's output in the user's own repository and configuration; only to read them.

        Raises:
            SnapshotTimeoutError, GitError: as for `run`.
        """
        variables = self._safe_variables | {"GIT_DIR": str(repository), "LC_ALL": "C"}
        command = (self.program, *arguments)
        return _run(command, self.working_directory, variables, b"", self.deadline_seconds)

    @property
    def _safe_variables(self) -> dict[str, str]:
        # Security: an allowlist, for variables such as GIT_CONFIG_COUNT override our configuration.
        return {name: self.variables[name] for name in _SAFE_VARIABLES if name in self.variables}

    def _run(self, arguments: Sequence[str], variables: Mapping[str, str], stdin: bytes) -> bytes:
        repository_variables = {
            "GIT_DIR": str(self.repository),
            "GIT_WORK_TREE": str(self.tree),
            "LC_ALL": "C",
        }
        return _run(
            (self.program, *arguments),
            self.working_directory,
            self._safe_variables | _NO_FOREIGN_CONFIG | repository_variables | dict(variables),
            stdin,
            self.deadline_seconds,
        )

    def names(self, *arguments: str, index: Path | None = None) -> list[str]:
        """Return the paths that `git ls-files` prints, relative to the tree's top.

        Raises:
            SnapshotTimeoutError, GitError: as for `run`.
        """
        return split_nul(self.run("ls-files", "-z", "--full-name", *arguments, index=index))


def split_nul(output: bytes) -> list[str]:
    """Return the texts between NUL characters."""
    return [os.fsdecode(each) for each in output.split(b"\0") if each]


def join_nul(names: Sequence[str]) -> bytes:
    """Return texts, each followed by NUL."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def global_excludes_file(
    program: str, variables: Mapping[str, str], deadline_seconds: float
) -> str | None:
    """Return the global ignore file that the user's git configuration names."""
    command = (program, "config", "--global", "--type=path", "--get", "core.excludesFile")
    allowed = {name: variables[name] for name in _SAFE_VARIABLES if name in variables}
    try:
        output = _run(command, Path("/"), allowed, b"", deadline_seconds)
    except CheckpointStoreError:
        return None
    return os.fsdecode(output).strip() or None


def _run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    stdin: bytes,
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
            remaining_seconds = max(0.0, deadline_seconds - time.monotonic())
            output, error_output = child.communicate(stdin, timeout=remaining_seconds)
        except subprocess.TimeoutExpired:
            child.terminate()  # SIGTERM first, so that git removes its lock file
            try:
                child.communicate(timeout=REAP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
            raise SnapshotTimeoutError(TIMED_OUT) from None
    if child.returncode != 0:
        lines = error_output.decode(errors="replace").strip().splitlines() or ["no reason given"]
        reason = f"git failed: {lines[-1]}"
        raise GitError(reason)
    return output
