"""Planning: task lines become units. Refs are resolved and files read once. Blocking."""

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from acp_server.fleet.git import FleetGit, FleetGitError
from acp_server.fleet.task_file import TaskFileError, TaskLine, is_url, parse_memory
from acp_server.fleet.unit import CheckFile, InputFile, KeyFacts, Unit, WorkspaceSource, unit_key

MAX_CHECK_BYTES = 10_000_000
"""Largest file of a check: it travels inside its unit."""
DEFAULT_RETRIES = 2
SCHEMA_OPTION = "--json-schema"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Choices of the command line that hold for all tasks of a fleet."""

    directory: Path
    """Directory whose repository tasks use that name none."""
    base: Path
    """Directory of the task file; its paths are relative to it."""
    options_for: Callable[[TaskLine], tuple[str, ...]]
    """Returns the options of `acp-server run` for a task, without files."""
    inputs: tuple[InputFile, ...] = ()
    """Files that options of the command line name."""
    model: str = ""
    mode: str = "edit"
    skills: tuple[str, ...] = ()
    max_cost: float | None = None
    retries: int = DEFAULT_RETRIES
    has_changes: bool = False
    """Whether uncommitted work is included."""


@dataclass(slots=True)
class FleetPlan:
    """Units of a fleet, in the order of their tasks."""

    units: list[Unit] = field(default_factory=list[Unit])
    changes: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Uncommitted changes as binary diffs, by digest."""
    notes: list[str] = field(default_factory=list[str])
    """Messages for the user."""


@dataclass(frozen=True, slots=True)
class _ResolvedRepository:
    """Repository at one commit."""

    repository: str
    commit: str
    prefix: str = ""
    """Directory of the repository that its path leads to."""
    changes: str = ""


class FleetPlanner:
    """Makes units; asks git once per repository and ref, and reads each file once."""

    def __init__(self, request: PlanRequest, git: FleetGit, online_git: FleetGit) -> None:
        """Use `git` for paths, and `online_git`, which has credentials, for URLs."""
        self._request = request
        self._git = git
        self._online_git = online_git
        self._plan = FleetPlan()
        self._resolved: dict[tuple[str, str], _ResolvedRepository] = {}
        self._changes: dict[str, str] = {}
        self._files: dict[Path, bytes] = {}

    def plan(self, tasks: Sequence[TaskLine]) -> FleetPlan:
        """Return the units of all tasks.

        Raises:
            TaskFileError: A task names a file, repository or ref that does not exist.
        """
        problems: list[str] = []
        for task in tasks:
            try:
                self._plan.units += self._units_of(task)
            except (OSError, ValueError, FleetGitError) as error:
                problems.append(f"{task.id}: {error}")
        if problems:
            raise TaskFileError(*problems)
        return self._plan

    def _units_of(self, task: TaskLine) -> Iterator[Unit]:
        request = self._request
        found = self._resolve(task)
        folder = found.prefix if task.folder is None else task.folder.strip("/")
        source = WorkspaceSource(found.repository, found.commit, folder, found.changes)
        prompt = task.prompt or self._read("prompt_file", task.prompt_file or "").decode()
        inputs = (*self._inputs(task),)
        files = (*self._check_files(task),)
        options = request.options_for(task)
        model, mode = task.model or request.model, task.mode or request.mode
        skills = (*request.skills, *task.skills)
        contents = (
            prompt,
            *(each.text for each in inputs),
            *(f"{each.path} {hashlib.sha256(each.content.encode()).hexdigest()}" for each in files),
        )
        repeats = task.repeat
        make_facts = partial(
            KeyFacts,
            found.commit,
            found.changes,
            model,
            mode,
            skills,
            contents=contents,
            options=options,
        )
        for repeat in range(1, repeats + 1):
            yield Unit(
                key=unit_key(task, make_facts(repeat=repeat)),
                id=task.id if repeats == 1 else f"{task.id}.r{repeat}",
                task=task.id,
                prompt=prompt,
                workspace=source,
                repeat=repeat,
                tags=task.tags,
                model=model,
                mode=mode,
                skills=skills,
                options=options,
                inputs=inputs,
                setup=task.setup or "",
                check=task.check or "",
                check_seconds=task.check_timeout,
                check_files=files,
                variables=task.env,
                cpus=task.cpus,
                memory=parse_memory(task.memory),
                retries=request.retries if task.retries is None else task.retries,
                max_cost=task.max_cost or request.max_cost,
            )

    def _inputs(self, task: TaskLine) -> Iterator[InputFile]:
        schema = task.json_schema
        for each in self._request.inputs:
            if schema is None or each.option != SCHEMA_OPTION:
                yield each
        if isinstance(schema, str):
            text = self._read("json_schema", schema).decode()
            yield InputFile(SCHEMA_OPTION, "schema.json", text)
        elif schema is not None:
            yield InputFile(SCHEMA_OPTION, "schema.json", json.dumps(schema))

    def _check_files(self, task: TaskLine) -> Iterator[CheckFile]:
        for path, source in task.check_files.items():
            data = self._read("check_files", source)
            if len(data) > MAX_CHECK_BYTES:
                reason = f"check_files: {source} is larger than {MAX_CHECK_BYTES // 1_000_000} MB"
                raise TaskFileError(reason)
            is_executable = os.access(self._request.base / source, os.X_OK)
            yield CheckFile(path, base64.b64encode(data).decode(), is_executable)

    def _read(self, name: str, text: str) -> bytes:
        path = self._request.base / text
        if path not in self._files:
            try:
                self._files[path] = path.read_bytes()
            except OSError as error:
                raise TaskFileError(f"{name}: {error}") from None
        return self._files[path]

    def _resolve(self, task: TaskLine) -> _ResolvedRepository:
        repo, ref = task.repo or "", task.ref or "HEAD"
        if (repo, ref) not in self._resolved:
            find = self._resolve_url if is_url(repo) else self._resolve_path
            self._resolved[repo, ref] = find(repo, ref)
        return self._resolved[repo, ref]

    def _resolve_url(self, url: str, ref: str) -> _ResolvedRepository:
        if len(ref) in {40, 64} and all(each in "0123456789abcdef" for each in ref):
            return _ResolvedRepository(url, ref)
        listing = self._online_git.fetch(self._request.base, "ls-remote", "--", url, ref)
        # A tag's commit, which has `^{}`, goes before the object of an annotated tag.
        rows = [line.split("\t") for line in listing.splitlines() if "\t" in line]
        rows.sort(key=lambda row: (not row[1].endswith("^{}"), len(row[1])))
        if not rows:
            raise TaskFileError(f"ref: {url} has no {ref!r}")
        return _ResolvedRepository(url, rows[0][0])

    def _resolve_path(self, repo: str, ref: str) -> _ResolvedRepository:
        directory = (self._request.base / repo) if repo else self._request.directory
        if not directory.is_dir():
            raise TaskFileError(f"repo: {directory} is not a directory")
        try:
            top = self._git.run(directory, "rev-parse", "--show-toplevel")
            prefix = self._git.run(directory, "rev-parse", "--show-prefix")
            verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
            commit = self._git.run(directory, *verify, f"{ref}^{{commit}}")
        except FleetGitError as error:
            message = str(error)
            if "rev-parse failed" in message:
                message = "it has no commit yet" if ref == "HEAD" else f"there is no {ref!r}"
            raise TaskFileError(f"cannot use the repository of {directory}: {message}") from None
        changes = self._find_changes(Path(top)) if ref == "HEAD" else ""
        return _ResolvedRepository(top, commit, prefix.strip("/"), changes)

    def _find_changes(self, top: Path) -> str:
        """Return the digest of the uncommitted changes, or note that they are left out."""
        if str(top) in self._changes:
            return self._changes[str(top)]
        self._changes[str(top)] = ""
        if self._request.has_changes:
            diff = uncommitted_changes(top, self._git)
            if diff:
                digest = hashlib.sha256(diff).hexdigest()
                self._plan.changes[digest] = diff
                self._changes[str(top)] = digest
        else:
            status = self._git.read(top, ("status", "--porcelain", "-z", "--no-renames"))
            count = sum(1 for each in status.split(b"\0") if each)
            if count:
                files = "1 uncommitted change" if count == 1 else f"{count} uncommitted changes"
                self._plan.notes.append(
                    f"note: {files} in {top} left out; --with-changes includes uncommitted work"
                )
        return self._changes[str(top)]


def uncommitted_changes(top: Path, git: FleetGit) -> bytes:
    """Return the uncommitted work of a repository as a binary diff to HEAD; ignored files are left.

    The user's index and object store are not written.

    Raises:
        FleetGitError: Git failed.
    """
    asked = ("rev-parse", "--path-format=absolute", "--git-path", "objects")
    objects = git.run(top, *asked)
    with tempfile.TemporaryDirectory(prefix="acp-changes-") as directory:
        store = Path(directory, "objects")
        store.mkdir()
        variables: Mapping[str, str] = {
            "GIT_INDEX_FILE": str(Path(directory, "index")),
            "GIT_OBJECT_DIRECTORY": str(store),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects,
        }
        git.read(top, ("read-tree", "HEAD"), variables)
        git.read(top, ("add", "--all"), variables)
        plain = ("--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv")
        return git.read(top, ("diff", "--cached", *plain, "HEAD"), variables)
