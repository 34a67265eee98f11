"""Questions to git about a repository: its settings, tracked files and names in its history.

Git finds the repository, its work trees and its files itself, so that the answers are true for the
command that will run. None of these questions makes git run another program. All calls block; time
and output are bounded.
"""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_SECONDS = 5.0
"""For all questions of one decision; a usual one takes a few milliseconds."""
MAX_OUTPUT_BYTES = 50_000_000
_SUBMODULE_MODE = b"160000"


class GitQueryError(Exception):
    """Git gave no complete answer."""


@frozen_dataclass
class Setting:
    """One setting of a repository; its section and name are in lower case."""

    key: str
    value: str


@frozen_dataclass
class IndexEntry:
    """One tracked file, or a submodule."""

    name: str
    """The path, relative to the working directory."""
    object_id: str
    is_submodule: bool


@frozen_dataclass
class GitQueries:
    """Runs git in one directory until a deadline, a `time.monotonic` value."""

    program: str
    folder: Path
    environment: Mapping[str, str]
    deadline: float

    def in_folder(self, folder: Path) -> "GitQueries":
        """Return the same for another directory."""
        return GitQueries(self.program, folder, self.environment, self.deadline)

    def settings(self) -> list[Setting]:
        """Return the repository's own settings, without those of the user and of files it includes.

        Raises:
            GitQueryError: They cannot be read.
        """
        # `--no-includes`: a name of such a file could be that of a device or a pipe. The setting
        # that includes it is in the list.
        arguments = ("config", "-z", "--list", "--no-includes", "--show-scope", "--show-origin")
        output, code = self._run(arguments)
        if code != 0:
            raise GitQueryError
        fields = _split(output)
        entries = zip(fields[::3], fields[2::3], strict=False)
        found = (
            entry.partition("\n") for scope, entry in entries if scope in {"local", "worktree"}
        )
        return [Setting(key, value) for key, _, value in found]

    def settings_of_file(self, file: Path) -> list[Setting]:
        """Return the settings in one file, without those of files that it includes.

        Raises:
            GitQueryError: They cannot be read.
        """
        output, code = self._run(("config", "-z", "--list", "--no-includes", "--file", str(file)))
        if code != 0:
            raise GitQueryError
        found = (entry.partition("\n") for entry in _split(output))
        return [Setting(key, value) for key, _, value in found]

    def index(self) -> list[IndexEntry]:
        """Return the tracked files of the work tree; empty if there is none.

        Raises:
            GitQueryError: They cannot be read.
        """
        output, _ = self._run(("ls-files", "-z", "--stage", "--", ":/"))
        found: list[IndexEntry] = []
        for entry in output.split(b"\0")[:-1]:
            head, _, name = entry.partition(b"\t")
            mode, object_id, _ = head.split(b" ")
            found.append(IndexEntry(os.fsdecode(name), object_id.decode(), mode == _SUBMODULE_MODE))
        return found

    def work_tree(self) -> Path:
        """Return the top of the work tree.

        Raises:
            GitQueryError: There is none.
        """
        output, code = self._run(("rev-parse", "--show-toplevel"))
        if code != 0:
            raise GitQueryError
        return Path(os.fsdecode(output.removesuffix(b"\n")))

    def hook_directory(self) -> Path:
        """Return the directory that git takes hooks from, symlinks resolved.

        Raises:
            GitQueryError: There is no repository.
        """
        output, code = self._run(("rev-parse", "--git-path", "hooks"))
        if code != 0:
            raise GitQueryError
        return (self.folder / os.fsdecode(output.removesuffix(b"\n"))).resolve()

    def remotes(self) -> list[str]:
        """Return the names of the repository's remotes.

        Raises:
            GitQueryError: There is no repository.
        """
        output, code = self._run(("remote",))
        if code != 0:
            raise GitQueryError
        return os.fsdecode(output).splitlines()

    def remote_address(self, remote: str) -> str:
        """Return the address that git reads a remote from, `url.*.insteadOf` applied.

        `remote` is a name, an address, or empty for the default remote. Nothing is contacted.

        Raises:
            GitQueryError: There is none.
        """
        output, code = self._run(("ls-remote", "--get-url", *(("--", remote) if remote else ())))
        if code != 0:
            raise GitQueryError
        return os.fsdecode(output).removesuffix("\n")

    def is_enabled(self, key: str) -> bool:
        """Return whether a setting of the repository or the user is true."""
        return self._run(("config", "--type=bool", "--get", key))[0] == b"true\n"

    def object_types(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return the id and type of each object by its name; both are empty if there is none.

        Raises:
            GitQueryError: A name cannot be asked about.
        """
        if any("\n" in name for name in names):
            raise GitQueryError
        stdin = b"".join(os.fsencode(name) + b"\n" for name in names)
        output, _ = self._run(("cat-file", "--batch-check=%(objectname) %(objecttype)"), stdin)
        answers = [line.split(" ") for line in os.fsdecode(output).split("\n")[:-1]]
        if len(answers) != len(names):
            raise GitQueryError
        types = {"blob", "tree", "commit", "tag"}
        return [
            (answer[0], answer[1]) if answer[1:] and answer[1] in types else ("", "")
            for answer in answers
        ]

    def tree_names(self, tree: str) -> list[str]:
        """Return the paths of all files in a tree or commit.

        Raises:
            GitQueryError: There are too many.
        """
        return _split(self._run(("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree))[0])

    def changed_names(self, subcommand: str, arguments: Sequence[str]) -> list[str]:
        """Return the paths whose changes a command would show, before and after, among other words.

        A command that fails shows what it names until then.

        Raises:
            GitQueryError: There are too many.
        """
        listing = ["--name-status", "-z", "--no-relative", "--no-ext-diff", "--no-textconv"]
        if subcommand in {"log", "show", "reflog", "stash list"}:
            listing.append("--format=")
        elif subcommand == "diff-tree":
            listing.append("-r")
        output, _ = self._run((*subcommand.split(), *listing, *arguments))
        return [part.lstrip("\n") for part in _split(output)]

    def _run(self, arguments: Sequence[str], stdin: bytes = b"") -> tuple[bytes, int]:
        """Return git's output and exit code.

        Raises:
            GitQueryError: It did not end in time, or printed too much.
        """
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise GitQueryError
        try:
            process = subprocess.Popen(  # noqa: S603  git itself, an absolute path
                (self.program, "--no-pager", *arguments),
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        # ValueError: a NUL in an argument.
        except (OSError, ValueError) as error:
            raise GitQueryError from error
        return _read_answer(process, stdin, seconds)


def _read_answer(
    process: "subprocess.Popen[bytes]", stdin: bytes, seconds: float
) -> tuple[bytes, int]:
    """Return a process's output and exit code, as `GitQueries._run`."""
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        _kill_group(process.pid)

    timer = threading.Timer(seconds, stop)
    timer.start()
    output = b""
    try:
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write(stdin)
        if process.stdout is not None:
            with process.stdout as pipe:
                output = pipe.read(MAX_OUTPUT_BYTES + 1)
                if len(output) > MAX_OUTPUT_BYTES:
                    stop()
        code = process.wait()
    finally:
        timer.cancel()
        # Nothing it started may outlive it. Its number is free after `wait`, so only before.
        if process.returncode is None:
            _kill_group(process.pid)
            process.wait()
    if is_late.is_set() or code < 0:
        raise GitQueryError
    return output, code


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, SIGKILL)


def _split(output: bytes) -> list[str]:
    return [os.fsdecode(each) for each in output.split(b"\0") if each]
