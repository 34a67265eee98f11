"""Lists of tasks, and parts of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.headless.run.task_list import RunTask, TaskListError, parse_tasks, select_shard


def listed(count: int) -> tuple[RunTask, ...]:
    return parse_tasks("".join(json.dumps({"prompt": f"Do {n}"}) + "\n" for n in range(count)))


def test_a_task_without_an_id_is_named_after_its_line() -> None:
    text = '{"prompt": "a"}\n\n{"id": "b", "prompt": "b", "max_turns": 3, "allow": ["terminal"]}\n'
    assert parse_tasks(text) == (
        RunTask(id="task-1", prompt="a"),
        RunTask(id="b", prompt="b", max_turns=3, allow=("terminal",)),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no task in it"),
        ("[]", "line 1: a task must be a JSON object"),
        ('{"prompt": "a"}\n{', "line 2"),
        ('{"prompt": ""}', "prompt"),
        ('{"prompt": "a", "colour": "red"}', "colour"),
        ('{"prompt": "a", "id": "../b"}', "id"),
        ('{"prompt": "a", "id": "x"}\n{"prompt": "a", "id": "x"}', "two tasks have the id 'x'"),
    ],
    ids=["empty", "array", "no JSON", "no prompt", "unknown", "path", "double"],
)
def test_an_invalid_task_list_is_refused_with_the_location(text: str, reason: str) -> None:
    with pytest.raises(TaskListError, match=reason):
        parse_tasks(text)


@given(st.integers(1, 40), st.integers(1, 12))
def test_the_shards_contain_every_task_exactly_once(count: int, parts: int) -> None:
    tasks = listed(count)
    found = [
        task for number in range(parts) for task in select_shard(tasks, f"{number + 1}/{parts}")
    ]
    assert sorted(found, key=lambda task: task.id) == sorted(tasks, key=lambda task: task.id)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0"])
def test_an_out_of_range_shard_is_refused(shard: str) -> None:
    with pytest.raises(TaskListError, match="is not a shard"):
        select_shard(listed(3), shard)
