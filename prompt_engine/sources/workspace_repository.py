"""A git repository's root, branch and counts, without letting the repository run anything.

Opening a folder must not run code that came with it. Hooks, file system monitors, filters,
transports and pagers that the repository configures are switched off for these calls, submodules
are not entered, nothing is locked or fetched.
"""

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prompt_engine.facts import Repository
from prompt_engine.sources.places import git_root

GIT_SECONDS = 1.0
"""For all calls together."""

REAP_SECONDS = 0.2
MAX_BRANCH_CHARACTERS = 120
LATE = "git took too long"

_SAFE = (
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "safe.bareRepository=explicit",
)
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=all")
_FILTERS = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")


class _LateError(Exception):
    """The time for git is over."""


@dataclass(frozen=True, slots=True)
class _Git:
    """Runs git in a folder until a deadline."""

    program: str
    folder: Path
    environment: Mapping[str, str]
    deadline: float

    def ask(self, arguments: Sequence[str], settings: Sequence[tuple[str, str]] = ()) -> str | None:
        """Return what git prints, None if it fails.

        Raises:
            _LateError: the deadline came first.
        """
        child = subprocess.Popen(  # noqa: S603 - git itself, an absolute path
            (self.program, *_SAFE, *arguments),
            cwd=self.folder,
            env={**self.environment, **_as_variables(settings)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            output, _ = child.communicate(timeout=max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            _end(child)
            raise _LateError from error
        return output.decode("utf-8", "replace") if child.returncode == 0 else None


def read_repository(
    folder: Path, variables: Mapping[str, str], seconds: float = GIT_SECONDS
) -> tuple[Repository | None, tuple[str, ...]]:
    """Return the repository that a folder lies in, and what was dropped, in a sentence each.

    None where there is no repository, no git, or no time.
    """
    if git_root(folder.resolve()) is None:  # git would say so too, by a process for each session
        return None, ()
    program = _find_git(folder, variables.get("PATH", ""))
    if program is None:
        return None, ()
    git = _Git(program, folder, _environment(variables), time.monotonic() + seconds)
    repository = None
    try:
        if root := git.ask(("rev-parse", "--show-toplevel")):
            repository = Repository(root.removesuffix("\n"), _branch(git))
            return _counted(repository, git), ()
    except _LateError:
        return repository, (f"{LATE}: {'counts' if repository else 'the repository'}",)
    except OSError as error:
        return repository, (f"git could not be run: {error.strerror}",)
    return None, ()


def _find_git(folder: Path, search_path: str) -> str | None:
    """Return git's absolute path, unless the workspace itself brings it."""
    found = shutil.which("git", path=search_path)
    if found is None or not Path(found).is_absolute():
        return None
    return None if Path(found).resolve().is_relative_to(folder.resolve()) else found


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that steer git, in plain English, without transports."""
    kept = {name: value for name, value in variables.items() if not name.startswith("GIT_")}
    kept.update(LC_ALL="C", GIT_TERMINAL_PROMPT="0", GIT_NO_LAZY_FETCH="1")
    return kept | {"GIT_ALLOW_PROTOCOL": "none", "GIT_PAGER": "cat"}


def _as_variables(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return settings as git takes them from its environment, whatever signs their names hold."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def _branch(git: _Git) -> str:
    name = git.ask(("symbolic-ref", "--quiet", "--short", "HEAD")) or ""
    return name.strip()[:MAX_BRANCH_CHARACTERS]


def _counted(repository: Repository, git: _Git) -> Repository:
    """Count files by their state, with every filter of the configuration emptied."""
    names = (git.ask(_FILTERS) or "").split("\0")
    drivers = sorted({name.rpartition(".")[0] for name in names if name})
    settings = [(f"{driver}.{key}", "") for driver in drivers for key in ("clean", "process")]
    settings += [(f"{driver}.required", "false") for driver in drivers]
    listing = git.ask(_STATUS, settings)
    if listing is None:
        return repository
    counts = _count(listing.split("\0"))
    return replace(
        repository,
        staged=counts["staged"],
        changed=counts["changed"],
        untracked=counts["untracked"],
        conflicted=counts["conflicted"],
    )


def _count(records: Iterable[str]) -> Counter[str]:
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


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Kill a late git; one that even then hangs on a dead disk is left to the system."""
    child.kill()
    try:
        child.communicate(timeout=REAP_SECONDS)
    except subprocess.TimeoutExpired:
        if child.stdout:
            child.stdout.close()
        child.poll()
