"""Unit: one run of one task, as plain data that may travel to another machine.

A unit holds no secret and no path of the driver's machine, except the repository's for an engine on
the same machine. Its key decides at `--resume` whether it has run already.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from typing import cast

from pydantic import JsonValue

from acp_server.fleet.task_file import TaskLine
from acp_server.version import __version__

UNIT_VERSION = 1


@dataclass(frozen=True, slots=True)
class WorkspaceSource:
    """Repository and commit that a unit's worktree is made of."""

    repository: str
    """Absolute path on the driver's machine, or a URL."""
    commit: str
    """Full object name; a ref is resolved once, when units are planned."""
    folder: str = ""
    """Working directory inside the worktree; empty for its root."""
    changes: str = ""
    """SHA-256 of the uncommitted changes that are applied first (`--with-changes`)."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """File that the node writes before the agent starts, and the option that names it."""

    option: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckFile:
    """File that the node puts into the worktree after the agent has ended."""

    path: str
    """Relative to the root of the repository."""
    content: str
    """Base64."""
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """One run of one task."""

    key: str
    """Digest of everything that decides the result; see `unit_key`."""
    id: str
    """Name in files and reports: the task's id, with `.rN` if the task is repeated."""
    task: str
    """Id of the task; repeats share it."""
    prompt: str
    workspace: WorkspaceSource
    repeat: int = 1
    """Number of the repeat, from 1."""
    tags: tuple[str, ...] = ()
    model: str = ""
    """The model as asked for; empty for the node's default."""
    mode: str = "edit"
    skills: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """Options of `acp-server run`, without those of workspace and output."""
    inputs: tuple[InputFile, ...] = ()
    setup: str = ""
    check: str = ""
    check_seconds: float = 600.0
    check_files: tuple[CheckFile, ...] = ()
    variables: tuple[str, ...] = ()
    """Names of secret variables that `setup` and `check` get from the node's environment."""
    cpus: float | None = None
    memory: int | None = None
    """Bytes."""
    retries: int = 2
    max_cost: float | None = None
    """US dollars that the budget of a fleet reserves for one attempt."""

    def as_json(self) -> dict[str, JsonValue]:
        """Return the unit as JSON, for engines."""
        return cast("dict[str, JsonValue]", asdict(self) | {"version": UNIT_VERSION})


def unit_from_json(value: dict[str, JsonValue]) -> Unit:
    """Return the unit that `Unit.as_json` has written; lists become tuples again."""
    names = {each.name for each in fields(Unit)}
    values: dict[str, object] = {
        name: tuple(each) if isinstance(each, list) else each
        for name, each in value.items()
        if name in names
    }
    values["workspace"] = WorkspaceSource(**cast("dict[str, str]", value["workspace"]))
    inputs = cast("list[dict[str, str]]", value["inputs"])
    values["inputs"] = tuple(InputFile(**each) for each in inputs)
    files = cast("list[dict[str, str]]", value["check_files"])
    values["check_files"] = tuple(
        CheckFile(each["path"], each["content"], bool(each["is_executable"])) for each in files
    )
    return Unit(**values)  # pyright: ignore[reportArgumentType]  the fields of `as_json`


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """Facts besides the task line that decide the result of a unit."""

    commit: str
    changes: str = ""
    model: str = ""
    mode: str = ""
    skills: tuple[str, ...] = ()
    repeat: int = 1
    contents: tuple[str, ...] = ()
    """Texts of files that the task line names: prompt, schema, policy, checks."""
    options: tuple[str, ...] = ()
    """Options of the command line that all tasks share."""
    server: str = field(default=__version__)


def unit_key(task: TaskLine, facts: KeyFacts) -> str:
    """Return the key of a unit: SHA-256 of its task line and of these facts.

    `repeat`, `tags` and `retries` do not decide a result: more repeats keep those that have run.
    """
    line = task.model_dump(mode="json", exclude={"repeat", "tags", "retries"})
    value = {"task": line, "facts": asdict(facts)}
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
