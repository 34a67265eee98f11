"""The journal: what is written can be read, also after a kill, and only one driver writes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.fleet.journal import NAME, FleetJournal, JournalLockedError, read_journal
from acp_server.fleet.results import UnitCheck, UnitResult, UnitUsage, result_from_json
from acp_server.fleet.task_file import TaskLine
from acp_server.fleet.unit import (
    CheckFile,
    InputFile,
    KeyFacts,
    Unit,
    WorkspaceSource,
    unit_from_json,
    unit_key,
)

SOURCE = WorkspaceSource("/repository", "a" * 40)


def unit(name: str) -> Unit:
    return Unit(key=f"key-{name}", id=name, task=name, prompt="Do it", workspace=SOURCE)


def result(name: str) -> UnitResult:
    return UnitResult(
        key=f"key-{name}",
        id=name,
        task=name,
        outcome="done",
        tags=("slow",),
        attempts=2,
        usage=UnitUsage(1, 2, 3),
        cost_usd=0.5,
        check=UnitCheck(0, 1.5, "ok"),
        digests={"prompt": "abc"},
    )


def end(journal: FleetJournal, name: str, *, is_final: bool = True, cost: float | None) -> None:
    journal.append(
        "ended",
        key=f"key-{name}",
        id=name,
        is_final=is_final,
        attempt_cost_usd=cost,
        result=result(name).as_json(),
    )


def test_a_journal_tells_results_open_attempts_and_cost(tmp_path: Path) -> None:
    with FleetJournal(tmp_path) as journal:
        journal.append("run", version=1, total_cost_usd=9.0)
        journal.append_queued(map(unit, "abcd"))
        for name in "abc":
            journal.append("began", key=f"key-{name}", id=name, attempt=1, reserved_usd=1.0)
            journal.append("placed", key=f"key-{name}", id=name, attempt=1, node=f"node-{name}")
        end(journal, "a", cost=0.25)
        end(journal, "b", is_final=False, cost=None)
    read = read_journal(tmp_path)
    assert [(each.id, each.outcome) for each in read.results] == [
        ("a", "done"),
        ("b", "done"),
        ("c", "not_run"),
        ("d", "not_run"),
    ]
    assert read.results[0] == result("a")
    assert read.final == {"key-a"}
    assert {key: each.node for key, each in read.open_attempts.items()} == {"key-c": "node-c"}
    # An end of unknown cost counts as it was reserved.
    assert (read.spent_usd, read.total_cost_usd) == (1.25, 9.0)
    # Without a driver the open attempt counts too, until its unit's next result has it.
    read.note_no_driver()
    assert (read.spent_usd, read.assumed_of("key-c")) == (2.25, 1.0)


def test_a_cut_last_line_is_ignored_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    with FleetJournal(tmp_path) as journal:
        journal.append("run", version=1)
        journal.append_queued([unit("a")])
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"type":"ended","key":"key-')
    assert [each.outcome for each in read_journal(tmp_path).results] == ["not_run"]
    with FleetJournal(tmp_path) as journal:
        end(journal, "a", cost=None)
    assert [each.outcome for each in read_journal(tmp_path).results] == ["done"]


def test_a_second_driver_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    with (
        FleetJournal(tmp_path),
        pytest.raises(JournalLockedError, match="process"),
        FleetJournal(tmp_path),
    ):
        pass
    with FleetJournal(tmp_path):
        pass


def test_results_and_units_survive_json() -> None:
    assert result_from_json(json.loads(json.dumps(result("a").as_json()))) == result("a")
    whole = replace(
        unit("a"),
        inputs=(InputFile("--policy", "policy.toml", "version = 1"),),
        check_files=(CheckFile("tests/x.py", "eA==", is_executable=True),),
        tags=("x",),
        options=("--mode", "edit"),
    )
    assert unit_from_json(json.loads(json.dumps(whole.as_json()))) == whole


def test_the_key_depends_on_all_that_decides_a_result_alone() -> None:
    task = TaskLine(id="a", prompt="x")
    facts = KeyFacts("c1", model="m", mode="edit", skills=("s",))
    same = unit_key(task.model_copy(update={"tags": ("t",), "repeat": 5, "retries": 1}), facts)
    assert same == unit_key(task, facts)
    others = [
        unit_key(task.model_copy(update={"prompt": "y"}), facts),
        *(
            unit_key(task, replace(facts, **change))
            for change in (
                {"commit": "c2"},
                {"changes": "d"},
                {"model": "n"},
                {"mode": "plan"},
                {"skills": ()},
                {"server": "9"},
                {"repeat": 2},
                {"contents": ("p",)},
                {"options": ("--sandbox", "strict")},
            )
        ),
    ]
    assert len({same, *others}) == 11
