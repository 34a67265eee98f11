"""Task lists: one JSON object per line, and sharding across machines. Pure."""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from acp_server.text.validation_errors import describe_problems

_SHARD = re.compile(r"(\d+)/(\d+)")


class TaskListError(ValueError):
    """An invalid task list or shard; the text says where and why."""


class RunTask(BaseModel):
    """One task of a list. Missing fields default to the command line options."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$")]
    """Identifies the task in the report and in its file names."""
    prompt: Annotated[str, Field(min_length=1)]
    model: str | None = None
    mode: Literal["plan", "edit", "full"] | None = None
    skills: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_turns: Annotated[int, Field(ge=1)] | None = None
    max_cost: Annotated[float, Field(gt=0)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    timeout: Annotated[float, Field(gt=0)] | None = None


def parse_tasks(text: str) -> tuple[RunTask, ...]:
    """Parse a task list; a task without an id is named after its line number.

    Raises:
        TaskListError: A line is invalid, two tasks have the same id, or there are none.
    """
    lines = enumerate(text.splitlines(), 1)
    tasks = tuple(_parse_task(line, number) for number, line in lines if line.strip())
    ids = [task.id for task in tasks]
    duplicate = next((each for index, each in enumerate(ids) if each in ids[:index]), None)
    if duplicate is not None:
        raise TaskListError(f"two tasks have the id {duplicate!r}")
    if not tasks:
        raise TaskListError("there is no task in it")
    return tasks


def select_shard(tasks: Sequence[RunTask], shard: str | None) -> Sequence[RunTask]:
    """Return the tasks of shard `I/N`, with I from 1; each task is in exactly one shard.

    Raises:
        TaskListError: The shard is invalid.
    """
    if shard is None:
        return tasks
    found = _SHARD.fullmatch(shard)
    number, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= count:
        raise TaskListError(f"{shard!r} is not a shard; write I/N, such as 1/3, with I from 1 to N")
    return tasks[number - 1 :: count]


def _parse_task(line: str, number: int) -> RunTask:
    try:
        value = cast("JsonValue", json.loads(line))
        if not isinstance(value, dict):
            raise TaskListError(f"line {number}: a task must be a JSON object")
        return RunTask.model_validate({"id": f"task-{number}"} | value)
    except json.JSONDecodeError as error:
        raise TaskListError(f"line {number}: {error}") from None
    except ValidationError as error:
        raise TaskListError(f"line {number}: {describe_problems(error)}") from None
