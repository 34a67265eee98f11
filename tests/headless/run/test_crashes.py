"""What should never happen: even then there is one result, it is the last line, and it is true."""

import json
from pathlib import Path
from typing import Literal

import pytest

from tests.cli.command_line import run_in_new_process
from tests.headless.run.pipeline import PipelineStep, events_of, make_step, parse_line
from tests.support.messages_api import messages_api_in_thread, reply

FULL = pytest.mark.full
BUG = """\
from acp_server.headless.run.{module} import {name}


def fail(*_given, **_named):
    raise RuntimeError("a bug")


{name}.{method} = fail
"""
"""Is imported by Python itself when it starts."""
BUGS = {
    "before the run": ("rule_parsing", "RulesFile", "__init__"),
    "in the turn": ("last_message", "LastMessage", "add"),
    "behind the turn": ("changes", "ChangeTracker", "compute_changes"),
    "at the end": ("denials", "DenialLog", "left_undone"),
}


@pytest.mark.parametrize(
    "where",
    [
        "behind the turn",
        *(
            pytest.param(each, marks=FULL)
            for each in ("before the run", "in the turn", "at the end")
        ),
    ],
)
def test_a_crash_produces_one_result_that_reports_it(tmp_path: Path, where: str) -> None:
    module, name, method = BUGS[where]
    bug = BUG.format(module=module, name=name, method=method)
    if where == "at the end":
        bug = bug.replace("= fail", "= property(fail)")
    (tmp_path / "sitecustomize.py").write_text(bug)
    with messages_api_in_thread(["All is well."]) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        arguments = ("run", "Look", "--cwd", str(step.workspace), "--format", "stream-json")
        variables = {**step.variables, "PYTHONPATH": str(tmp_path)}
        done = run_in_new_process(step.home, *arguments, **variables)
    result = events_of(done)[-1]
    assert (done.exit_code, result["exit_code"], result["outcome"]) == (1, 1, "internal_error")
    assert result["reason"] == "the run crashed: RuntimeError: a bug"


@FULL
def test_an_endlessly_nested_answer_is_reported_and_printed(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text("{}")
    with messages_api_in_thread(["[" * 700 + "]" * 700]) as api:
        options = ("--json-schema", str(schema))
        code, result = make_step(tmp_path, api).result("Nest", *options)
    assert (code, result["outcome"]) == (0, "done")
    assert "nested too deeply" in json.dumps(result["answer"])


@FULL
def test_unwritable_github_files_are_reported_after_the_result(tmp_path: Path) -> None:
    with messages_api_in_thread(["All is well."]) as api:
        missing = {"GITHUB_STEP_SUMMARY": str(tmp_path / "none/a"), "GITHUB_OUTPUT": "/dev/null"}
        options = ("--format", "json", "--github")
        done = make_step(tmp_path, api).run("Look", *options, **missing)
    result = parse_line(done.stdout)
    assert (done.exit_code, result["exit_code"], result["outcome"]) == (1, 1, "internal_error")
    assert "cannot be written" in str(result["reason"])


@FULL
@pytest.mark.parametrize(("stop", "code"), [("refusal", 9), ("max_tokens", 7)])
def test_a_refused_or_truncated_answer_states_its_reason(
    tmp_path: Path, stop: Literal["refusal", "max_tokens"], code: int
) -> None:
    with messages_api_in_thread([reply("No.", stop=stop)] * 9) as api:
        ended, result = make_step(tmp_path, api).result("Do harm")
    assert (ended, result["stop_reason"]) == (code, stop)
    assert result["reason"]


@pytest.mark.parametrize(
    "wrong", ["--allow=teleport", "--mode=wild", "--max-turns=none", "--policy=/none"]
)
def test_an_invalid_command_line_also_produces_a_result(tmp_path: Path, wrong: str) -> None:
    done = PipelineStep(tmp_path, "").run("Look", wrong, "--format", "json")
    assert (done.exit_code, parse_line(done.stdout)["outcome"]) == (2, "usage_error")
