"""Reads a git repository's root, branch and counts without executing repository code.

Opening a directory must not run code that came with it. Hooks, file system monitors, filters,
transports and pagers that the repository configures are disabled for these calls; submodules are
not entered, and nothing is locked or fetched.
"""

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prompt_engine.facts import Repository
from prompt_engine.sources.paths import git_root

GIT_SECONDS = 1.0
"""Time limit in seconds for all calls together."""

KILL_WAIT_SECONDS = 0.2
MAX_BRANCH_CHARACTERS = 120
MAX_SUBJECT_CHARACTERS = 100
TIMEOUT_REASON = "git took too long"

_SAFE_OPTIONS = (
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "safe.bareRepository=explicit",
)
_SAFE_VARIABLES = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
}
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=all")
# Signatures are not checked: that would run a program that the repository configures.
_LAST_COMMITS = ("log", "-3", "-z", "--format=%s", "--no-show-signature", "--no-mailmap")
_FILTERS = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")


class _GitTimeoutError(Exception):
    """The time limit for git is exceeded."""


@dataclass(frozen=True, slots=True)
class _GitRunner:
    """Runs git in a directory until a deadline."""

    program: str
    folder: Path
    environment: Mapping[str, str]
    deadline: float

    def run(self, arguments: Sequence[str], settings: Sequence[tuple[str, str]] = ()) -> str | None:
        """Return git's output, None if it fails.

        Raises:
            _GitTimeoutError: the deadline passed first.
        """
        # As environment variables: unlike `-c`, these allow `=` in a name.
        variables = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (name, value) in enumerate(settings):
            variables[f"GIT_CONFIG_KEY_{number}"] = name
            variables[f"GIT_CONFIG_VALUE_{number}"] = value
        process = subprocess.Popen(  # noqa: S603 - git itself, an absolute path
            (self.program, *_SAFE_OPTIONS, *arguments),
            cwd=self.folder,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            output, _ = process.communicate(timeout=max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            _kill(process)
            raise _GitTimeoutError from error
        return output.decode("utf-8", "replace") if process.returncode == 0 else None


def read_repository(
    folder: Path, variables: Mapping[str, str], seconds: float = GIT_SECONDS
) -> tuple[Repository | None, tuple[str, ...]]:
    """Return the repository of a directory, and one sentence per omitted fact.

    The repository is None without a repository, git, or enough time.
    """
    if git_root(folder.resolve()) is None:  # avoids a git process outside a repository
        return None, ()
    program = shutil.which("git", path=variables.get("PATH", ""))
    if (
        program is None
        or not Path(program).is_absolute()
        or Path(program).resolve().is_relative_to(folder.resolve())  # the workspace's own git
    ):
        return None, ()
    # Without GIT_*, with messages in English and transports disabled.
    environment = {name: value for name, value in variables.items() if not name.startswith("GIT_")}
    git = _GitRunner(program, folder, environment | _SAFE_VARIABLES, time.monotonic() + seconds)
    repository = None
    try:
        if root := git.run(("rev-parse", "--show-toplevel")):
            branch = git.run(("symbolic-ref", "--quiet", "--short", "HEAD")) or ""
            repository = Repository(root.removesuffix("\n"), branch.strip()[:MAX_BRANCH_CHARACTERS])
            repository = replace(repository, commits=_last_subjects(git))
            return _with_counts(repository, git), ()
    except _GitTimeoutError:
        return repository, (f"{TIMEOUT_REASON}: {'counts' if repository else 'the repository'}",)
    except OSError as error:
        return repository, (f"git could not be run: {error.strerror}",)
    return None, ()


def _last_subjects(git: _GitRunner) -> tuple[str, ...]:
    """Return the subjects of the last commits; none if there is no commit yet."""
    subjects = (git.run(_LAST_COMMITS) or "").split("\0")
    return tuple(each.strip()[:MAX_SUBJECT_CHARACTERS] for each in subjects if each.strip())


def _with_counts(repository: Repository, git: _GitRunner) -> Repository:
    """Count files by state, with every configured filter disabled."""
    # `git status` runs clean/process filters on modified files, and those are repository-configured
    # commands. A required filter that is empty would fail, hence `required=false`.
    names = (git.run(_FILTERS) or "").split("\0")
    drivers = sorted({name.rpartition(".")[0] for name in names if name})
    settings = [(f"{driver}.{key}", "") for driver in drivers for key in ("clean", "process")]
    settings += [(f"{driver}.required", "false") for driver in drivers]
    listing = git.run(_STATUS, settings)
    if listing is None:
        return repository
    counts = _count_states(listing.split("\0"))
    return replace(
        repository,
        staged=counts["staged"],
        changed=counts["changed"],
        untracked=counts["untracked"],
        conflicted=counts["conflicted"],
    )


def _count_states(records: Iterable[str]) -> Counter[str]:
    """Count records of `status --porcelain=v2 -z`; a rename is followed by the old path."""
    counts: Counter[str] = Counter()
    remaining = iter(records)
    for record in remaining:
        kind, _, rest = record.partition(" ")
        if kind in {"1", "2"}:
            counts["staged"] += rest[0] != "."
            counts["changed"] += rest[1] != "."
        counts["untracked"] += kind == "?"
        counts["conflicted"] += kind == "u"
        if kind == "2":
            next(remaining, None)
    return counts


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill git; if it still hangs, for example on a dead disk, leave it to the system."""
    process.kill()
    try:
        process.communicate(timeout=KILL_WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        if process.stdout:
            process.stdout.close()
        process.poll()
