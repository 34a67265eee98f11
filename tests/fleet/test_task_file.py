"""Task files: fields, problems by line, selection, matrix and shards."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from acp_server.fleet.task_file import (
    TaskFileError,
    TaskLine,
    expand_matrix,
    parse_matrix,
    parse_memory,
    parse_task_lines,
    select_tasks,
    take_shard,
    task_schema,
)


def listed(count: int) -> tuple[TaskLine, ...]:
    return parse_task_lines("".join(json.dumps({"prompt": f"Do {n}"}) + "\n" for n in range(count)))


def test_a_task_without_an_id_is_named_after_its_line() -> None:
    text = '{"prompt": "a"}\n\n{"id": "b", "prompt": "b", "max_turns": 3, "allow": ["terminal"]}\n'
    assert parse_task_lines(text) == (
        TaskLine(id="task-1", prompt="a"),
        TaskLine(id="b", prompt="b", max_turns=3, allow=("terminal",)),
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
        ('{"id": "x"}', "give either prompt or prompt_file"),
        ('{"prompt": "a", "prompt_file": "b"}', "give either prompt or prompt_file"),
        (
            '{"prompt": "a", "repo": "https://me:secret@h.example"}',
            "must not hold credentials",
        ),
        (
            '{"prompt": "a", "repo": "https://ghp_token@h.example"}',
            "must not hold credentials",
        ),
        ('{"prompt": "a", "ref": "--upload-pack=x"}', "must not begin with a dash"),
        ('{"prompt": "a", "check_files": ["../x"]}', "not a path inside the repository"),
        ('{"prompt": "a", "check_files": {".git/hooks/x": "y"}}', "not a path inside"),
        ('{"prompt": "a", "folder": "/etc"}', "folder: must be a path inside the repository"),
        ('{"prompt": "a", "env": ["KEY=value"]}', "env"),
        ('{"prompt": "a", "memory": "much"}', "memory: must be a number of bytes"),
    ],
)
def test_an_invalid_task_file_is_refused_with_line_and_field(text: str, reason: str) -> None:
    with pytest.raises(TaskFileError, match=reason):
        parse_task_lines(text)


def test_all_invalid_lines_are_named_at_once_and_no_value_is_shown() -> None:
    text = (
        '{"prompt": 1}\n{"prompt": "a"}\n{"prompt": "b", "repo": "https://me:hunter22@h.example"}\n'
    )
    with pytest.raises(TaskFileError) as caught:
        parse_task_lines(text)
    assert [each.split(":")[0] for each in caught.value.problems] == ["line 1", "line 3"]
    assert "hunter22" not in str(caught.value)


def test_the_schema_accepts_what_the_parser_accepts() -> None:
    validator = Draft202012Validator(task_schema())
    line = {"prompt": "a", "check": "make test", "repeat": 3, "tags": ["slow"], "memory": "2GiB"}
    assert validator.is_valid(line)
    parse_task_lines(json.dumps(line))
    assert not validator.is_valid(line | {"colour": "red"})


def test_tasks_are_selected_by_all_conditions() -> None:
    text = (
        '{"id": "a", "prompt": "a", "tags": ["slow", "web"]}\n'
        '{"id": "b", "prompt": "b", "tags": ["slow"]}\n'
        '{"id": "c", "prompt": "c"}\n'
    )
    tasks = parse_task_lines(text)
    assert [task.id for task in select_tasks(tasks, ["tag=slow"])] == ["a", "b"]
    assert [task.id for task in select_tasks(tasks, ["tag=slow", "id=a*"])] == ["a"]
    with pytest.raises(TaskFileError, match="no task matches tag=x"):
        select_tasks(tasks, ["tag=x"])
    with pytest.raises(TaskFileError, match="is not tag="):
        select_tasks(tasks, ["slow"])


def test_a_matrix_runs_each_task_with_each_combination() -> None:
    matrix = parse_matrix(["model=a/b,c", "mode=plan,edit"])
    tasks = expand_matrix(listed(2), matrix)
    assert len(tasks) == 8
    assert (tasks[0].id, tasks[0].model, tasks[0].mode) == ("task-1.a-b.plan", "a/b", "plan")
    for wrong in ("colour=red", "model=", "model"):
        with pytest.raises(TaskFileError, match="--matrix"):
            parse_matrix([wrong])
    with pytest.raises(TaskFileError, match="mode"):
        expand_matrix(listed(1), parse_matrix(["mode=fast"]))
    with pytest.raises(TaskFileError, match="two tasks would have the id"):
        expand_matrix(listed(1), parse_matrix(["model=a/b,a-b"]))


@given(st.integers(1, 40), st.integers(1, 12))
def test_the_shards_contain_every_task_exactly_once(count: int, parts: int) -> None:
    tasks = listed(count)
    found = [task for number in range(parts) for task in take_shard(tasks, f"{number + 1}/{parts}")]
    assert sorted(found, key=lambda task: task.id) == sorted(tasks, key=lambda task: task.id)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0"])
def test_an_out_of_range_shard_is_refused(shard: str) -> None:
    with pytest.raises(TaskFileError, match="is not a shard"):
        take_shard(listed(3), shard)


@pytest.mark.parametrize(
    ("text", "size"), [("512", 512), ("1.5 GB", 1610612736), (7, 7), (None, None)]
)
def test_sizes_of_memory_are_read(text: str | int | None, size: int | None) -> None:
    assert parse_memory(text) == size
