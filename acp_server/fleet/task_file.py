"""Task file: one JSON object per line, read into `TaskLine`s; selection, matrix, shards. Pure."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import Annotated, Literal, cast
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from acp_server.text.validation_errors import describe_problems

ID_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
MATRIX_FIELDS = ("model", "mode", "skills", "max_turns", "max_cost", "max_tokens", "timeout")
"""Fields that `--matrix` may vary."""
_SHARD = re.compile(r"(\d+)/(\d+)")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]+")

Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class TaskFileError(ValueError):
    """An invalid task file, selection, matrix or shard; the text says where and why.

    Attributes:
        problems: One text per invalid line, each beginning with its line number.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class TaskLine(BaseModel):
    """One line of a task file. Missing fields default to the options of the command line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=ID_PATTERN)] = Field(
        description="Name in reports and files. Default: `task-` and the number of the line."
    )
    prompt: Text | None = Field(default=None, description="The task. Give this or `prompt_file`.")
    prompt_file: Text | None = Field(
        default=None, description="File with the task, relative to the task file."
    )
    repo: Text | None = Field(
        default=None,
        description="Repository: a path relative to the task file, or a URL without credentials, "
        "which the node clones with its own. Default: the repository of the working directory.",
    )
    ref: Text | None = Field(
        default=None, description="Branch, tag or commit, resolved once. Default: HEAD."
    )
    folder: Text | None = Field(
        default=None, description="Directory inside the repository to work in."
    )
    setup: Text | None = Field(
        default=None, description="Shell command that runs before the agent."
    )
    check: Text | None = Field(
        default=None, description="Shell command that runs after the agent; exit code 0 passes."
    )
    check_timeout: Seconds = Field(
        default=600.0, description="Seconds for `setup` and for `check`."
    )
    check_files: dict[Text, Text] = Field(
        default_factory=dict[str, str],
        description="Files put in place after the agent: path in the repository to a file that "
        "is relative to the task file. A list means the same path for both.",
    )
    repeat: Count = Field(default=1, description="How often the task runs.")
    tags: tuple[Text, ...] = Field(default=(), description="Labels for `--select` and for reports.")
    cpus: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Slots that the task takes on a cluster."
    )
    memory: str | int | None = Field(
        default=None,
        description="Memory that must be left on the node: bytes, or a size such as `2GiB`.",
    )
    env: tuple[Annotated[str, Field(pattern=VARIABLE_PATTERN)], ...] = Field(
        default=(),
        description="Names of variables of the node that `setup` and `check` need although they "
        "are secret. Values are never written into a task file.",
    )
    json_schema: Text | dict[str, JsonValue] | None = Field(
        default=None,
        description="Schema of the answer: a file relative to the task file, or the schema.",
    )
    retries: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Retries after a lost node or a failure of the provider."
    )
    model: Text | None = Field(default=None, description="Model to use.")
    mode: Literal["plan", "edit", "full"] | None = Field(
        default=None, description="Permission mode."
    )
    skills: tuple[str, ...] = Field(default=(), description="Skills to load first.")
    allow: tuple[str, ...] = Field(default=(), description="Rules that allow tool calls.")
    deny: tuple[str, ...] = Field(default=(), description="Rules that deny tool calls.")
    max_turns: Count | None = Field(default=None, description="Most model requests.")
    max_cost: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Most US dollars."
    )
    max_tokens: Count | None = Field(default=None, description="Most input and output tokens.")
    timeout: Seconds | None = Field(default=None, description="Most seconds.")

    @field_validator("check_files", mode="before")
    @classmethod
    def _accept_list(cls, value: object) -> object:
        if isinstance(value, list):
            return {each: each for each in cast("list[str]", value)}
        return value

    @field_validator("check_files")
    @classmethod
    def _stay_inside(cls, value: dict[str, str]) -> dict[str, str]:
        for path in value:
            if not _is_inside(path):
                raise ValueError(f"{path!r} is not a path inside the repository")
        return value

    @field_validator("folder")
    @classmethod
    def _folder_stays_inside(cls, value: str | None) -> str | None:
        if value is not None and not _is_inside(value):
            raise ValueError("must be a path inside the repository")
        return value

    @field_validator("ref")
    @classmethod
    def _refuse_options(cls, value: str | None) -> str | None:
        if value is not None and value.startswith("-"):
            raise ValueError("must not begin with a dash")
        return value

    @field_validator("repo")
    @classmethod
    def _refuse_credentials(cls, value: str | None) -> str | None:
        if value is not None and value.startswith("-"):
            raise ValueError("must not begin with a dash")
        # Units, journals and the metadata of engines must not hold secrets.
        url = urlsplit(value) if value is not None and "://" in value else None
        # A user name alone may be a token, except in ssh.
        has_token = url is not None and url.scheme in {"http", "https"} and bool(url.username)
        if url is not None and (has_token or url.password is not None):
            raise ValueError("must not hold credentials; the node uses its own")
        return value

    @field_validator("memory")
    @classmethod
    def _check_memory(cls, value: str | int | None) -> str | int | None:
        parse_memory(value)
        return value

    @model_validator(mode="after")
    def _need_one_prompt(self) -> "TaskLine":
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("give either prompt or prompt_file")
        return self


def is_url(repo: str) -> bool:
    """Return whether a `repo` is a URL, or `host:path` as for ssh, and not a path."""
    return "://" in repo or re.match(r"^[\w.-]+@[\w.-]+:", repo) is not None


def parse_memory(value: str | int | None) -> int | None:
    """Return a size of memory in bytes.

    >>> parse_memory("2GiB")
    2147483648

    Raises:
        ValueError: The text is no size.
    """
    if value is None or isinstance(value, int):
        return value
    found = _MEMORY.fullmatch(value.strip())
    if found is None:
        raise ValueError("must be a number of bytes or a size such as 2GiB")
    return int(float(found[1]) * 1024 ** _POWERS[found[2].upper()])


def task_schema() -> dict[str, JsonValue]:
    """Return the JSON schema of one line of a task file."""
    schema = cast("dict[str, JsonValue]", TaskLine.model_json_schema())
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "acp-server task"
    required = [
        each for each in cast("list[JsonValue]", schema.pop("required", [])) if each != "id"
    ]
    return {**schema, **({"required": required} if required else {})}


def parse_task_lines(text: str) -> tuple[TaskLine, ...]:
    """Parse a task file; a task without an id is named after the number of its line.

    Raises:
        TaskFileError: Lines are invalid (all are named), ids repeat, or there is no task.
    """
    tasks: list[TaskLine] = []
    problems: list[str] = []
    first_lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            task = _parse_line(line, number)
        except TaskFileError as error:
            problems += error.problems
            continue
        first = first_lines.setdefault(task.id, number)
        if first != number:
            problems.append(f"line {number}: id: two tasks have the id {task.id!r} (line {first})")
        tasks.append(task)
    if not tasks and not problems:
        problems.append("there is no task in it")
    if problems:
        raise TaskFileError(*problems)
    return tuple(tasks)


def select_tasks(tasks: Sequence[TaskLine], conditions: Sequence[str]) -> Sequence[TaskLine]:
    """Return the tasks that meet all conditions, such as `tag=slow`, `id=web-*`, `model=x`.

    Raises:
        TaskFileError: A condition is invalid, or no task is left.
    """
    chosen = tasks
    for condition in conditions:
        name, found, pattern = condition.partition("=")
        if not found or name not in {"tag", "id", "model", "repo", "mode"}:
            reason = f"--select: {condition!r} is not tag=, id=, model=, mode= or repo=PATTERN"
            raise TaskFileError(reason)
        chosen = [task for task in chosen if _matches(task, name, pattern)]
    if not chosen:
        raise TaskFileError(f"--select: no task matches {' and '.join(conditions)}")
    return chosen


def parse_matrix(texts: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the fields and values of `--matrix` options, such as `model=a,b`.

    Raises:
        TaskFileError: A matrix is invalid.
    """
    matrix: dict[str, Sequence[str]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        chosen = [value.strip() for value in values.split(",") if value.strip()]
        if name not in MATRIX_FIELDS or not chosen or name in matrix:
            names = ", ".join(MATRIX_FIELDS)
            raise TaskFileError(f"--matrix: {text!r} is not FIELD=A,B with one of {names}")
        matrix[name] = chosen
    return matrix


def expand_matrix(
    tasks: Sequence[TaskLine], matrix: Mapping[str, Sequence[str]]
) -> Sequence[TaskLine]:
    """Return each task once for each combination of values, with an id of its own.

    Raises:
        TaskFileError: A value does not fit its field, or two tasks would get the same id.
    """
    if not matrix:
        return tasks
    expanded: dict[str, TaskLine] = {}
    for task, values in product(tasks, product(*matrix.values())):
        changes: dict[str, object] = dict(zip(matrix, values, strict=True))
        if "skills" in changes:
            changes["skills"] = [changes["skills"]]
        slugs = (_NOT_IN_IDS.sub("-", value).strip("-.") for value in values)
        changes["id"] = ".".join((task.id, *slugs))[:80]
        try:
            made = TaskLine.model_validate(task.model_dump() | changes)
        except ValidationError as error:
            raise TaskFileError(f"--matrix: {describe_problems(error)}") from None
        if made.id in expanded:
            raise TaskFileError(f"--matrix: two tasks would have the id {made.id!r}")
        expanded[made.id] = made
    return tuple(expanded.values())


def take_shard(tasks: Sequence[TaskLine], shard: str | None) -> Sequence[TaskLine]:
    """Return the tasks of shard `I/N`, with I from 1; each task is in exactly one shard.

    Raises:
        TaskFileError: The shard is invalid.
    """
    if shard is None:
        return tasks
    found = _SHARD.fullmatch(shard)
    number, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= count:
        reason = f"--shard: {shard!r} is not a shard; write I/N, such as 1/3, with I from 1 to N"
        raise TaskFileError(reason)
    return tasks[number - 1 :: count]


def _parse_line(line: str, number: int) -> TaskLine:
    try:
        value = cast("JsonValue", json.loads(line))
        if not isinstance(value, dict):
            raise TaskFileError(f"line {number}: a task must be a JSON object")
        return TaskLine.model_validate({"id": f"task-{number}"} | value)
    except json.JSONDecodeError as error:
        raise TaskFileError(f"line {number}: {error}") from None
    except ValidationError as error:
        raise TaskFileError(f"line {number}: {describe_problems(error)}") from None


def _matches(task: TaskLine, name: str, pattern: str) -> bool:
    values = task.tags if name == "tag" else (cast("str | None", getattr(task, name)) or "",)
    return any(fnmatchcase(value, pattern) for value in values)


def _is_inside(path: str) -> bool:
    parts: Iterator[str] = iter(path.replace("\\", "/").split("/"))
    return not path.startswith(("/", "-")) and all(part not in {"..", ".git"} for part in parts)


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(task_schema(), indent=2)}\n")
