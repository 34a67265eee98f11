"""The scripts of the files for pipelines, run as a runner runs them."""

import shlex
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
import yaml
from pydantic import JsonValue

from tests.cli.command_line import environment
from tests.headless.run.junit_schema import problems_of
from tests.headless.run.pipeline import PipelineStep, make_step, parse_line
from tests.headless.run.repositories import create_repository, git
from tests.support.messages_api import ParsedRequest, messages_api_in_thread

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "editors/ci"
FULL = pytest.mark.full
Json = dict[str, JsonValue]
FAILING = """\
#!/bin/sh
echo try >> tries
echo "{}"
[ "$(wc -l < tries)" -lt 3 ] && exit 75
exit 5
"""
"""A server whose provider fails twice, and whose task is then left undone."""


def run_script(script: str, folder: Path, variables: Mapping[str, str]) -> tuple[int, str]:
    """Run a script in a folder as runners do; return its exit code and what it printed."""
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode() + done.stderr.decode()


def write_program(file: Path, text: str | None = None) -> None:
    """Make a program of a script, or one that is our command."""
    wrapper = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m acp_server "$@"\n'
    file.parent.mkdir(parents=True)
    file.write_text(text or wrapper)
    file.chmod(0o755)


def variables_of(step: PipelineStep, **more: str) -> dict[str, str]:
    """Return the variables of a job whose `acp-server` is ours."""
    step.prepare()
    found = dict(environment(step.home, **step.variables))
    return found | {"PATH": f"{step.folder / 'bin'}:{found['PATH']}", **more}


@pytest.mark.parametrize("delay", ["ACP_RETRY_DELAY_SECONDS", "ACP_WAIT_SECONDS"])
def test_the_shell_script_retries_retryable_failures_and_keeps_the_exit_code(
    tmp_path: Path, delay: str
) -> None:
    write_program(tmp_path / "bin/acp-server", FAILING)
    variables = variables_of(PipelineStep(tmp_path, ""), **{delay: "0"})
    script = f"{FOLDER / 'shell/run.sh'} task.md"
    code, printed = run_script(f"bash {script}", tmp_path, variables)
    assert (code, (tmp_path / "tries").read_text()) == (5, "try\n" * 3)
    assert "something was left undone" in printed


def changed_repository(folder: Path) -> None:
    """Make a repository with a branch `begun`, and a change since then."""
    git(create_repository(folder, {"a.txt": b"old\n"}), "branch", "begun")
    (folder / "a.txt").write_bytes(b"new\n")
    git(folder, "commit", "--quiet", "--all", "--message", "change")


def answer_a_task_with_its_change(ask: ParsedRequest) -> str:
    """Answer, if the task came with what changed."""
    text = ask.last_text
    return "All is well." if text.startswith("Look\n") and "\n-old\n+new" in text else "What?"


@pytest.mark.parametrize(
    ("limit", "said"),
    [({}, "--max-cost 1"), ({"ACP_MAX_COST": "2"}, "--max-cost 2"), ({"ACP_MAX_COST": ""}, "")],
    ids=["nothing said", "another", "none"],
)
def test_the_shell_script_applies_a_cost_limit_unless_it_is_empty(
    tmp_path: Path, limit: dict[str, str], said: str
) -> None:
    write_program(tmp_path / "bin/acp-server", '#!/bin/sh\necho "$*"\n')
    variables = variables_of(PipelineStep(tmp_path, ""), **limit)
    run_script(f"bash {FOLDER / 'shell/run.sh'} task.md", tmp_path, variables)
    arguments = (tmp_path / "acp-server.json").read_text()
    expected = f"run --prompt-file task.md --format json {said} --timeout 900"
    assert arguments.split() == expected.split()


@FULL
def test_the_action_step_completes_the_task_and_sets_its_outputs(tmp_path: Path) -> None:
    action = cast("Json", yaml.safe_load((FOLDER / "github/action.yml").read_text()))
    inputs = cast("dict[str, dict[str, str]]", action["inputs"])
    defaults = {name: each["default"] for name, each in inputs.items()}
    values = defaults | {"prompt": "Look", "base": "begun", "max-cost": ""}
    changed_repository(tmp_path / "workspace")
    last = cast("list[dict[str, str]]", cast("Json", action["runs"])["steps"])[-1]
    step_env = cast("dict[str, str]", last["env"])
    step_variables = {
        name: values[each.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, each in step_env.items()
    }
    write_program(tmp_path / "acp-server/bin/acp-server")
    output = tmp_path / "output"
    with messages_api_in_thread(answer_a_task_with_its_change) as api:
        step = make_step(tmp_path, api)
        runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(output)}
        variables = variables_of(step, **runner, **step_variables)
        code, printed = run_script(last["run"], step.workspace, variables)
    assert (code, "All is well." in printed) == (0, True), printed
    outputs = cast("dict[str, JsonValue]", action["outputs"])
    assert [name for name in outputs if f"{name}<<" not in output.read_text()] == []


@FULL
def test_the_template_job_writes_its_artifacts(tmp_path: Path) -> None:
    template = cast("Json", yaml.safe_load((FOLDER / "gitlab/template.yml").read_text()))
    job = cast("Json", template[".acp-server-run"])
    write_program(tmp_path / "bin/acp-server")
    changed_repository(tmp_path / "workspace")
    with messages_api_in_thread(answer_a_task_with_its_change) as api:
        step = make_step(tmp_path, api)
        variables = variables_of(step, **cast("dict[str, str]", job["variables"]))
        (script,) = cast("list[str]", job["script"])
        variables |= {"ACP_PROMPT": "Look", "ACP_BASE": "begun", "ACP_MAX_COST": ""}
        code, printed = run_script(script, step.workspace, variables)
    assert code == 0, printed
    result = parse_line((step.workspace / "acp-server.json").read_text())
    assert (result["outcome"], result["text"]) == ("done", "All is well.")
    assert problems_of((step.workspace / "acp-server.xml").read_bytes()) == []
    assert (step.workspace / "acp-server.patch").read_bytes() == b""


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: each a word, and what stands behind it."""
    joined = dockerfile.replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


@FULL
def test_the_package_installed_in_the_image_completes_a_task(tmp_path: Path) -> None:
    build = ("uv", "build", "--quiet", "--wheel", "--out-dir", str(tmp_path / "dist"))
    subprocess.run(build, cwd=ROOT, check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "image", with_pip=True)
    read = instructions((FOLDER / "docker/Dockerfile").read_text())
    (install,) = (rest for word, rest in read if word == "RUN" and rest.startswith("pip "))
    (entry,) = (rest for word, rest in read if word == "ENTRYPOINT")
    with messages_api_in_thread(["All is well."]) as api:
        step = make_step(tmp_path, api)
        variables = variables_of(step, PACKAGE=str(wheel))
        variables["PATH"] = f"{tmp_path / 'image/bin'}:{variables['PATH']}"
        installed = subprocess.run(
            ["sh", "-c", install], env=variables, capture_output=True, check=False
        )
        assert installed.returncode == 0, installed.stderr.decode()
        words = cast("list[str]", yaml.safe_load(entry))
        code, printed = run_script(shlex.join([*words, "Look"]), step.workspace, variables)
    assert (code, "All is well." in printed) == (0, True), printed
