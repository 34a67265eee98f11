"""Every exit code, reached by the real process and judged from outside."""

import json
import shlex
from pathlib import Path

import pytest

from tests.headless.run.pipeline import (
    UNREACHABLE_URL,
    PipelineStep,
    count_model_requests,
    make_step,
    parse_line,
)
from tests.skills_store.skill_files import write_file, write_skill
from tests.support.messages_api import (
    KEY,
    HttpFailure,
    PauseBeforeEvent,
    call,
    messages_api_in_thread,
    overloaded,
    rate_limited,
    reply,
    server_error,
    unauthorized,
)

FULL = pytest.mark.full
REFUSING = "hooks: {before_tool: [{match: write_file, command: 'echo not on Fridays; exit 2'}]}"
HANGING = PauseBeforeEvent(at_event=3, seconds=60)


def test_a_completed_task_exits_with_0(tmp_path: Path) -> None:
    with messages_api_in_thread(["All is well."]) as api:
        code, result = make_step(tmp_path, api).result("Look around")
    assert (code, result["outcome"], result["exit_code"]) == (0, "done", 0)
    assert (result["text"], result["stop_reason"]) == ("All is well.", "end_turn")


def test_the_price_of_the_default_model_is_cached_in_a_new_home(tmp_path: Path) -> None:
    with messages_api_in_thread(["All is well."]) as api:
        limited = ("Look around", "--max-cost", "1")
        code, result = make_step(tmp_path, api).result(*limited, ACP_SERVER_MODEL="")
        assert (code, result["model"]) == (0, api.requests[-1].body["model"])
    assert result["cost_usd"]


def test_a_model_that_repeats_itself_exits_with_7(tmp_path: Path) -> None:
    with messages_api_in_thread([reply(call("read_file", path="nope.py"))] * 60) as api:
        code, result = make_step(tmp_path, api).result("Look around")
        assert len(api.model_requests) == 5
    assert (code, result["outcome"]) == (7, "budget")
    assert 'read_file {"path": "nope.py"}' in str(result["reason"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--allow", "teleport(x)", "x"), "there is no tool 'teleport'"),
        pytest.param(("--mode", "wild", "x"), "--mode", marks=FULL),
        pytest.param(
            ("--session", "a", "--resume", "last", "x"), "cannot be used together", marks=FULL
        ),
        pytest.param(("--findings", "--json-schema", "/dev/null", "x"), "schema", marks=FULL),
        pytest.param(("--tasks", "/dev/null"), "there is no task in it", marks=FULL),
        pytest.param((), "there is no task", marks=FULL),
        (("--shard", "1/2", "x"), "add --tasks"),
        pytest.param(("--tasks", "/dev/null", "--dry-run"), "--dry-run shows one", marks=FULL),
    ],
    ids=[
        "rule",
        "option",
        "two sessions",
        "two schemas",
        "no tasks",
        "no task",
        "a part",
        "no preview",
    ],
)
def test_an_invalid_command_line_exits_with_2(
    tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    done = PipelineStep(tmp_path, UNREACHABLE_URL).run(*arguments)
    assert done.exit_code == 2
    assert reason in done.stderr


@FULL
def test_an_invalid_configuration_exits_with_2(tmp_path: Path) -> None:
    done = PipelineStep(tmp_path, UNREACHABLE_URL).run("x", ACP_SERVER_MODE="wild")
    assert done.exit_code == 2
    assert "ACP_SERVER_MODE" in done.stderr


def test_a_timed_out_task_exits_with_3_and_keeps_its_output(tmp_path: Path) -> None:
    with messages_api_in_thread([reply("Half of it", faults=[HANGING])]) as api:
        code, result = make_step(tmp_path, api).result("Look around", "--timeout", "3")
    assert (code, result["outcome"]) == (3, "timeout")


def test_a_missing_session_exits_with_4(tmp_path: Path) -> None:
    code, result = PipelineStep(tmp_path, UNREACHABLE_URL).result("Go on", "--resume", "last")
    assert (code, result["outcome"]) == (4, "session_not_found")


@pytest.mark.parametrize("on_denied", ["fail", pytest.param("continue", marks=FULL)])
def test_a_denial_that_left_work_undone_exits_with_5(tmp_path: Path, on_denied: str) -> None:
    script = [reply(call("terminal", command="make deploy")), "I could not."]
    with messages_api_in_thread(script) as api:
        code, result = make_step(tmp_path, api).result("Deploy", "--on-denied", on_denied)
    assert (code, result["outcome"]) == (5, "denied")
    assert result["left_undone"] == [{"act": "run", "name": "make deploy"}]


@FULL
def test_text_output_lists_denied_and_undone_work(tmp_path: Path) -> None:
    script = [reply(call("terminal", command="make deploy")), "I could not."]
    with messages_api_in_thread(script) as api:
        done = make_step(tmp_path, api).run("Deploy")
    assert (done.exit_code, done.stdout) == (5, "I could not.\n")
    assert "denied: run make deploy: the rules of this run do not allow this" in done.stderr
    assert done.stderr.endswith("left undone: run make deploy\ndenied: a denial left work undone\n")


def test_a_denial_names_the_option_that_would_allow_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    script = [
        reply(
            call("terminal", command="touch it"),
            call("write_file", path=str(outside), content="x"),
            call("write_file", path=".env", content="x"),
        ),
        "I could not.",
    ]
    with messages_api_in_thread([*script, *script]) as api:
        step = make_step(tmp_path, api)
        lines = step.run("Work").stderr.splitlines()
        options = [each.rpartition("; allow it with ")[2] for each in lines if "; allow it" in each]
        assert options == ["--allow 'terminal(touch it)'", f"--allow 'edit({outside})'"]
        assert any(each.startswith("denied: write ") and ".env: " in each for each in lines)
        allowed = step.run("Work", *(word for each in options for word in shlex.split(each)))
    assert "touch it: the rules" not in allowed.stderr
    assert outside.read_text() == "x"
    assert (step.workspace / "it").exists()


def test_a_skill_gets_its_variables_only_by_the_option_that_the_denial_names(
    tmp_path: Path,
) -> None:
    script = [reply(call("terminal", command='echo "<$WEATHER_KEY>"')), "It rains."]
    with messages_api_in_thread([*script, *script]) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        write_skill(step.home / "skills/weather", fields="prerequisites: {env_vars: [WEATHER_KEY]}")
        write_file(step.home / ".env", "WEATHER_KEY=wk-0815-4711\n")
        options = ("Ask", "--skill", "weather", "--mode", "full")
        denied = step.run(*options, "--allow", "*")
        assert denied.exit_code == 0, denied
        option = next(
            each.rpartition("; allow it with ")[2]
            for each in denied.stderr.splitlines()
            if "denied: pass WEATHER_KEY for the skill weather" in each
        )
        assert option == "--allow 'skill_variables(weather)'"
        assert "<>" in json.dumps(api.model_requests[-1].body["messages"])
        allowed = step.run(*options, *shlex.split(option))
        assert allowed.exit_code == 0, allowed
        sent = json.dumps([each.body for each in api.model_requests])
    assert "<[WEATHER_KEY]>" in sent
    assert "wk-0815" not in f"{sent}{denied}{allowed}"


@FULL
def test_a_missing_named_session_exits_with_4(tmp_path: Path) -> None:
    code, result = PipelineStep(tmp_path, UNREACHABLE_URL).result("Go on", "--session", "sess_none")
    assert (code, result["outcome"]) == (4, "session_not_found")


def test_findings_exit_with_6_and_are_in_the_result(tmp_path: Path) -> None:
    finding = {"path": "a.py", "line": 3, "severity": "error", "title": "wrong"}
    wrong, right = "I found one.", json.dumps({"findings": [finding]})
    with messages_api_in_thread([wrong, right]) as api:
        code, result = make_step(tmp_path, api).result("Review", "--findings", "--mode", "plan")
        assert count_model_requests(api) == 2
    assert (code, result["outcome"]) == (6, "findings")
    assert result["findings"] == [{**finding, "end_line": None, "message": ""}]


@FULL
def test_an_answer_that_never_matches_its_schema_exits_with_1_and_a_reason(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "integer"}')
    with messages_api_in_thread(["One.", '"one"']) as api:
        code, result = make_step(tmp_path, api).result("Count", "--json-schema", str(schema))
    assert (code, result["outcome"]) == (1, "invalid_answer")
    assert result["answer_problems"] == ["$: 'one' is not of type 'integer'"]


@FULL
@pytest.mark.parametrize("mode", ["plan", "edit"])
def test_a_denied_write_is_never_a_success(tmp_path: Path, mode: str) -> None:
    file = str(tmp_path / ("workspace/a.txt" if mode == "plan" else "workspace/.git/config"))
    script = [reply(call("write_file", path=file, content="a")), "Done, all of it!"]
    with messages_api_in_thread(script) as api:
        code, result = make_step(tmp_path, api).result("Write", "--mode", mode)
    assert (code, result["outcome"], result["files_changed"]) == (5, "denied", [])


@FULL
def test_an_effect_refused_by_a_hook_is_never_a_success(tmp_path: Path) -> None:
    script = [reply(call("write_file", path="a.txt", content="a")), "Done, all of it!"]
    with messages_api_in_thread(script) as api:
        step = make_step(tmp_path, api)
        (step.home / "acp").mkdir(parents=True)
        (step.home / "acp/config.yaml").write_text(REFUSING)
        code, result = step.result("Write", "--mode", "full")
    name = str(step.workspace / "a.txt")
    assert (code, result["outcome"], result["files_changed"]) == (5, "denied", [])
    assert result["left_undone"] == [{"act": "write", "name": name}]
    assert "not on Fridays" in json.dumps(result["permission_denials"])


@FULL
def test_a_missing_skill_exits_with_2(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        code, result = make_step(tmp_path, api).result("Work", "--skill", "none-such")
        assert count_model_requests(api) == 0
    assert (code, result["outcome"]) == (2, "usage_error")


@FULL
def test_a_requested_skill_is_loaded_and_named(tmp_path: Path) -> None:
    with messages_api_in_thread(["Done."]) as api:
        code, result = make_step(tmp_path, api).result("Work", "--skill", "code-review")
    assert (code, result["skills_loaded"]) == (0, ["code-review"])


@FULL
def test_a_dry_run_makes_no_model_request(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        done = make_step(tmp_path, api).run("Work hard", "--dry-run", "--format", "json")
        assert count_model_requests(api) == 0
    preview = parse_line(done.stdout)
    assert (done.exit_code, preview["type"], preview["prompt"]) == (0, "preview", "Work hard")


def test_an_exhausted_budget_exits_with_7(tmp_path: Path) -> None:
    script = [reply(call("todo", todos=[])), "Never asked."]
    with messages_api_in_thread(script) as api:
        code, result = make_step(tmp_path, api).result("Plan", "--max-turns", "1")
        assert count_model_requests(api) == 1
    assert (code, result["outcome"]) == (7, "budget")


def test_a_rejected_key_exits_with_8(tmp_path: Path) -> None:
    with messages_api_in_thread([unauthorized()]) as api:
        code, result = make_step(tmp_path, api).result("Look around")
    assert (code, result["outcome"]) == (8, "authentication")
    assert KEY not in json.dumps(dict(result))


@FULL
def test_a_missing_key_exits_with_8(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        code, result = make_step(tmp_path, api).result("Look around", ANTHROPIC_API_KEY="")
    assert (code, result["outcome"]) == (8, "authentication")


@pytest.mark.parametrize(
    "failure",
    [
        server_error(),
        pytest.param(overloaded(), marks=FULL),
        pytest.param(rate_limited(retry_after_seconds=0.01), marks=FULL),
    ],
    ids=["500", "overloaded", "429"],
)
def test_a_failing_provider_exits_with_75(tmp_path: Path, failure: HttpFailure) -> None:
    with messages_api_in_thread([failure, failure]) as api:
        code, result = make_step(tmp_path, api).result("Look around", "--max-retries", "1")
        assert count_model_requests(api) == 2
    assert (code, result["outcome"]) == (75, "provider_error")


@FULL
def test_an_endpoint_that_refuses_connections_exits_with_75(tmp_path: Path) -> None:
    code, result = PipelineStep(tmp_path, UNREACHABLE_URL).result(
        "Look around", "--max-retries", "0"
    )
    assert (code, result["outcome"]) == (75, "provider_error")
