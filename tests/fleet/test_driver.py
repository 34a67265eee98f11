"""The driver: every unit has one end, whatever becomes of its attempts, nodes and signals."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from pydantic import JsonValue

from acp_server.fleet.attempts import Attempt, AttemptReport
from acp_server.fleet.driver import FleetControl, FleetPolicy
from acp_server.fleet.journal import read_journal
from acp_server.fleet.outcomes import UnitOutcome
from acp_server.fleet.reports.markdown import markdown_summary
from acp_server.fleet.reports.summary import summarize
from tests.fleet.fleets import (
    QUICK,
    FleetRun,
    ScriptedEngine,
    check_file,
    reports,
    run_fleet,
    units_of,
)
from tests.headless.run.repositories import create_repository, git
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return create_repository(tmp_path / "code", {"a.txt": b"a\n"})


async def test_a_killed_task_is_retried_then_named_and_all_others_are_reported(
    tmp_path: Path, repository: Path
) -> None:
    prompts = ["work"] * 20
    prompts[7], prompts[8] = "die", f"die-once {tmp_path / 'died'}"
    run = await run_fleet(tmp_path / "out", units_of(repository, *prompts))
    assert run.outcomes == {f"t{n}": "done" for n in range(20)} | {"t7": "internal_error"}
    assert sorted(end.result.id for end in run.ends) == sorted(run.outcomes)
    results = {each.id: each for each in run.journal.results}
    assert "SIGKILL" in results["t7"].reason
    assert (results["t7"].attempts, results["t8"].attempts, results["t0"].attempts) == (3, 2, 1)
    assert git(repository, "worktree", "list").count("\n") == 1
    assert git(repository, "status", "--short") == ""
    entry = json.loads((tmp_path / "out/t1.json").read_text())
    assert (entry["id"], entry["outcome"]) == ("t1", "done")
    assert entry["patch"] == str(tmp_path / "out/t1.patch")
    assert "worked on work" in (tmp_path / "out/t1.log").read_text()


async def test_a_second_run_does_only_what_has_not_ended(tmp_path: Path, repository: Path) -> None:
    units = units_of(repository, "work", f"die-once {tmp_path / 'died'}", "outcome denied")
    units[1] = replace(units[1], retries=0)
    first = await run_fleet(tmp_path / "out", units)
    assert first.outcomes == {"t0": "done", "t1": "internal_error", "t2": "denied"}
    second = await run_fleet(tmp_path / "out", units)
    assert second.outcomes == {"t0": "done", "t1": "done", "t2": "denied"}
    assert [end.result.id for end in second.ends] == ["t1"]


async def test_the_journal_names_the_node_that_the_engine_has_chosen(
    tmp_path: Path, repository: Path
) -> None:
    engine = ScriptedEngine(reports("done"))
    run = await run_fleet(
        tmp_path / "out", units_of(repository, "work", "work"), open_engine=engine.open
    )
    assert run.records("placed") == run.records("began") == ["t0", "t1"]
    local = await run_fleet(tmp_path / "local", units_of(repository, "work"))
    assert (local.records("began"), local.records("placed")) == (["t0"], [])


async def test_the_check_decides_and_the_agent_cannot_write_it(
    tmp_path: Path, repository: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    passes, fails, hangs, escapes, setup = units_of(
        repository, "work", "work", "work", f"link {outside}", "files"
    )
    units = [
        replace(passes, check="test -f made.txt && echo $TOKEN_NAMES"),
        replace(fails, check="sh made.txt", check_files=(check_file("made.txt", "exit 4"),)),
        replace(hangs, check="sleep 60", check_seconds=0.1),
        replace(escapes, check="cat linked/x", check_files=(check_file("linked/x", "inside"),)),
        replace(setup, setup="touch prepared"),
    ]
    run = await run_fleet(tmp_path / "out", units)
    assert run.outcomes == {
        "t0": "done",
        "t1": "check_failed",
        "t2": "check_failed",
        "t3": "done",
        "t4": "done",
    }
    results = {each.id: each for each in run.journal.results}
    assert results["t1"].check is not None
    assert results["t1"].check.exit_code == 4
    assert results["t3"].check is not None
    assert results["t3"].check.output == "inside"
    assert [*outside.iterdir()] == []
    text = next(end.entry["result"] for end in run.ends if end.result.id == "t4")
    assert isinstance(text, dict)
    assert text["text"] == ".git a.txt made.txt prepared"


async def test_a_failed_setup_is_final_and_no_agent_runs(tmp_path: Path, repository: Path) -> None:
    (unit,) = units_of(repository, "work")
    run = await run_fleet(tmp_path / "out", [replace(unit, setup="echo no make; exit 2")])
    assert run.outcomes == {"t0": "setup_failed"}
    assert "no make" in run.journal.results[0].reason
    assert run.journal.final == {unit.key}


async def test_secrets_reach_commands_by_name_alone_and_stay_out_of_reports(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "s3cr3t-s3cr3t")
    named, plain, missing = units_of(repository, "work", "work", "work")
    units = [
        replace(named, check="echo got $DEPLOY_TOKEN", variables=("DEPLOY_TOKEN",)),
        replace(plain, check="echo got $DEPLOY_TOKEN"),
        replace(missing, check="true", variables=("NOT_THERE",)),
    ]
    run = await run_fleet(tmp_path / "out", units)
    outputs = [each.check.output if each.check else None for each in run.journal.results]
    assert outputs[0] == "got (hidden)\n"
    assert outputs[1] == "got\n"
    assert outputs[2] is not None
    assert "NOT_THERE" in outputs[2]
    written = b"".join(file.read_bytes() for file in (tmp_path / "out").iterdir())
    assert b"s3cr3t" not in written


@pytest.mark.parametrize("times", [1, 2])
async def test_ctrl_c_once_lets_running_tasks_end_and_twice_cancels_them(
    tmp_path: Path, repository: Path, times: int
) -> None:
    began = tmp_path / "began"
    os.mkfifo(began)
    control = FleetControl()
    units = units_of(repository, f"wait {began}", "never")
    runs: list[dict[str, str]] = []

    async def run() -> None:
        done = await run_fleet(tmp_path / "out", units, FleetPolicy(jobs=1), control)
        runs.append(dict(done.outcomes))

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            process = int(await to_thread.run_sync(began.read_text))
            control.drain.set()
            if times == 2:
                control.cancel.set()
            else:  # it still runs: it can be ended by others
                os.kill(process, 15)
    outcome = "interrupted" if times == 2 else "terminated"  # by others
    assert runs == [{"t0": outcome, "t1": "not_run"}]
    contents = read_journal(tmp_path / "out")
    assert contents.final == set()
    assert contents.results[0].reason == "stopped"
    assert git(repository, "worktree", "list").count("\n") == 1


@pytest.mark.parametrize(
    ("outcome", "attempts"),
    [
        ("provider_error", 3),
        ("terminated", 3),
        ("internal_error", 1),
        *((name, 1) for name in ("done", "usage_error", "timeout", "session_not_found")),
        *((name, 1) for name in ("denied", "findings", "budget", "refused")),
    ],
)
async def test_only_what_may_pass_is_retried(tmp_path: Path, outcome: str, attempts: int) -> None:
    repository = create_repository(tmp_path / f"code-{outcome}", {"a.txt": b"a\n"})
    engine = ScriptedEngine(reports(outcome))
    run = await run_fleet(tmp_path / outcome, units_of(repository, "a"), open_engine=engine.open)
    assert len(engine.submitted) == attempts
    assert run.outcomes == {"t0": outcome}
    assert len(run.records("retry")) == attempts - 1
    keeps = outcome not in {"provider_error", "terminated", "internal_error"}
    assert bool(run.journal.final) is keeps


async def test_a_missing_key_stops_the_queue(tmp_path: Path, repository: Path) -> None:
    engine = ScriptedEngine(reports("authentication", reason="no key"))
    units = units_of(repository, *"abc")
    run = await run_fleet(tmp_path / "out", units, FleetPolicy(), open_engine=engine.open)
    assert run.outcomes == {"t0": "authentication", "t1": "not_run", "t2": "not_run"}
    assert run.driver is not None
    assert (run.driver.stop_outcome, run.driver.stop_reason) == ("authentication", "no key")


async def test_fail_fast_stops_after_so_many_failures(tmp_path: Path, repository: Path) -> None:
    engine = ScriptedEngine(reports("denied"))
    policy = FleetPolicy(fail_fast=2)
    run = await run_fleet(
        tmp_path / "out", units_of(repository, *"abcd"), policy, None, engine.open
    )
    assert [*run.outcomes.values()] == ["denied", "denied", "not_run", "not_run"]


async def test_ten_failures_in_a_row_pause_all_and_one_probe_ends_the_pause(
    tmp_path: Path, repository: Path
) -> None:
    """In the pause one attempt runs at a time; when one succeeds, all jobs are used again."""
    failures = 13
    at_once: list[int] = []

    def answer(attempt: Attempt) -> AttemptReport:
        at_once.append(len(engine.waiting) + 1)
        is_failure = len(at_once) <= failures
        return reports("provider_error" if is_failure else "done")(attempt)

    engine = ScriptedEngine(answer)
    units = [replace(unit, retries=9) for unit in units_of(repository, *["x"] * 12)]
    run = await run_fleet(
        tmp_path / "out", units, FleetPolicy(jobs=4, waits=QUICK), open_engine=engine.open
    )
    assert set(run.outcomes.values()) == {"done"}
    assert len(run.records("pause")) >= 2
    # After the tenth failure the three others end, then probes are alone.
    assert at_once[failures - 1] <= 3
    assert engine.most_at_once == 4


async def test_a_provider_that_stays_away_ends_the_fleet(tmp_path: Path, repository: Path) -> None:
    engine = ScriptedEngine(reports("provider_error", reason="down"))
    policy = FleetPolicy(pause_after=2, max_probes=3, waits=QUICK)
    more_than_attempts = units_of(repository, *"abcdef")
    run = await run_fleet(tmp_path / "out", more_than_attempts, policy, None, engine.open)
    assert run.driver is not None
    assert run.driver.stop_outcome == "provider_error"
    assert "not_run" in run.outcomes.values()
    assert len(engine.submitted) == 2 + 3


async def test_a_rate_limit_halves_the_jobs_and_successes_bring_them_back(
    tmp_path: Path, repository: Path
) -> None:
    sizes: list[int] = []

    def answer(attempt: Attempt) -> AttemptReport:
        sizes.append(len(engine.waiting) + 1)
        if len(sizes) == 1:
            failure: dict[str, JsonValue] = {"kind": "rate_limit", "retry_after_seconds": 0.01}
            return reports("provider_error", failure=failure)(attempt)
        return reports("done")(attempt)

    engine = ScriptedEngine(answer)
    units = units_of(repository, *["x"] * 60)
    policy = FleetPolicy(jobs=8, waits=QUICK)
    run = await run_fleet(tmp_path / "out", units, policy, None, engine.open)
    assert set(run.outcomes.values()) == {"done"}
    assert sizes[0] == 8
    assert min(sizes[1:30]) <= 4
    assert max(sizes[30:]) > 4


async def test_the_total_cost_is_reserved_before_and_settled_after(
    tmp_path: Path, repository: Path
) -> None:
    engine = ScriptedEngine(reports("done", cost_usd=0.5))
    units = [replace(unit, max_cost=1.0) for unit in units_of(repository, *["x"] * 9)]
    policy = FleetPolicy(jobs=8, total_cost=3.0)
    run = await run_fleet(tmp_path / "out", units, policy, None, engine.open)
    # Three are reserved at once; each settles at half, and the last dollar is never exceeded.
    assert engine.most_at_once == 3
    assert [*run.outcomes.values()].count("done") == 5
    assert run.journal.spent_usd == 2.5
    assert run.driver is not None
    assert run.driver.stop_outcome == "budget"
    again = await run_fleet(tmp_path / "out", units, policy, None, engine.open)
    assert again.ends == []


async def test_an_attempt_of_unknown_cost_counts_as_reserved(
    tmp_path: Path, repository: Path
) -> None:
    engine = ScriptedEngine(reports("done"))
    units = [replace(unit, max_cost=1.0) for unit in units_of(repository, *"xyz")]
    policy = FleetPolicy(jobs=1, total_cost=2.0)
    run = await run_fleet(tmp_path / "out", units, policy, None, engine.open)
    assert [*run.outcomes.values()] == ["done", "done", "not_run"]
    first = run.journal.results[0]
    assert (first.cost_usd, first.assumed_usd, first.counted_usd) == (None, 1.0, 1.0)
    assert first.reason == "its cost is unknown and counts as its limit, $1"
    results = run.journal.results
    summary = markdown_summary(results, summarize(results), str)
    assert "$2.00 of the cost is assumed" in summary
    assert "| $2.00 |" in summary


async def test_an_attempt_without_a_model_call_costs_nothing(
    tmp_path: Path, repository: Path
) -> None:
    engine = ScriptedEngine(reports("timeout", usage={"model_calls": 0}))
    units = [replace(unit, max_cost=1.0) for unit in units_of(repository, *"xyz")]
    policy = FleetPolicy(jobs=1, total_cost=1.0)
    run = await run_fleet(tmp_path / "out", units, policy, None, engine.open)
    assert [*run.outcomes.values()] == ["timeout"] * 3
    assert (run.journal.spent_usd, run.journal.results[0].cost_usd) == (0.0, 0.0)


@pytest.mark.parametrize("outcome", ["interrupted", "terminated"])
async def test_a_fleet_that_is_stopped_before_its_agents_begin_costs_nothing(
    tmp_path: Path, repository: Path, outcome: UnitOutcome
) -> None:
    """All records have the outcome of the signal, and the next run has the whole budget."""
    began = tmp_path / "began"
    os.mkfifo(began)
    control = FleetControl(outcome=outcome)
    (unit,) = units_of(repository, "work")
    unit = replace(unit, max_cost=1.0, setup=f"echo >{began}; exec sleep 600")
    policy = FleetPolicy(jobs=1, total_cost=1.5)
    runs: list[FleetRun] = []

    async def run() -> None:
        runs.append(await run_fleet(tmp_path / "out", [unit], policy, control))

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await to_thread.run_sync(began.read_text)
            control.drain.set()
            control.cancel.set()
    (driver,) = [each.driver for each in runs]
    assert driver is not None
    assert driver.stop_outcome == runs[0].outcomes["t0"] == outcome
    assert (runs[0].journal.spent_usd, runs[0].journal.results[0].cost_usd) == (0.0, 0.0)
    again = await run_fleet(tmp_path / "out", [replace(unit, setup="")], policy)
    assert again.outcomes == {"t0": "done"}
    assert again.journal.spent_usd == 0.5


async def test_a_node_that_is_lost_costs_an_attempt_and_no_task(
    tmp_path: Path, repository: Path
) -> None:
    def answer(attempt: Attempt) -> AttemptReport:
        if attempt.number == 1:
            return AttemptReport(attempt.handle, is_lost=True)
        return reports("done")(attempt)

    run = await run_fleet(
        tmp_path / "out", units_of(repository, *"ab"), open_engine=ScriptedEngine(answer).open
    )
    assert run.outcomes == {"t0": "done", "t1": "done"}
    assert [each.attempts for each in run.journal.results] == [2, 2]
