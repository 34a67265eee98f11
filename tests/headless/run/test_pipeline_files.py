"""The files for pipelines: what they hand to shells, and what they ask for."""

import re
import subprocess
from pathlib import Path
from typing import cast

import pytest
import yaml
from pydantic import JsonValue

from acp_server.cli.run import command

FOLDER = Path(__file__).parents[3] / "editors/ci"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OF_GIT = {"--no-ext-diff", "--no-textconv", "--end-of-options"}
OF_OTHERS = {"--quiet", "--yes", "--no-install-recommends", *OF_GIT}
Json = dict[str, JsonValue]


def document(name: str) -> Json:
    return cast("Json", yaml.safe_load((FOLDER / name).read_text()))


def steps() -> list[Json]:
    return cast("list[Json]", cast("Json", document("github/action.yml")["runs"])["steps"])


def test_no_script_contains_an_expression_and_each_step_names_its_shell() -> None:
    scripts = [str(step["run"]) for step in steps()]
    assert not [script for script in scripts if "${{" in script]
    assert [step["shell"] for step in steps()] == ["bash"] * len(scripts)


def test_each_input_is_used_and_each_output_comes_from_the_run() -> None:
    action = document("github/action.yml")
    used = {str(value) for step in steps() for value in cast("Json", step["env"]).values()}
    used |= {str(step["working-directory"]) for step in steps() if "working-directory" in step}
    assert used == {f"${{{{ inputs.{name} }}}}" for name in cast("Json", action["inputs"])}
    outputs = cast("dict[str, Json]", action["outputs"])
    assert {str(each["value"]) for each in outputs.values()} == {
        f"${{{{ steps.run.outputs.{name} }}}}" for name in outputs
    }


@pytest.mark.parametrize("name", ["github/action.yml", "gitlab/template.yml", "shell/run.sh"])
def test_the_options_match_those_of_the_command(name: str) -> None:
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    assert set(OPTION.findall((FOLDER / name).read_text())) - OF_OTHERS <= known


def test_the_example_requests_only_read_permissions() -> None:
    workflow = document("github/example.yml")
    assert workflow["permissions"] == {"contents": "read"}
    text = (FOLDER / "github/example.yml").read_text()
    assert "\non:\n  pull_request:\npermissions:\n" in text


def test_the_image_runs_as_an_unprivileged_user() -> None:
    lines = (FOLDER / "docker/Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001"]
    assert lines[-1] == 'ENTRYPOINT ["acp-server", "run"]'


def test_the_scripts_have_valid_shell_syntax() -> None:
    scripts = [(FOLDER / "shell/run.sh").read_text(), *(str(step["run"]) for step in steps())]
    job = cast("Json", document("gitlab/template.yml")[".acp-server-run"])
    for name in ("before_script", "script"):
        scripts += map(str, cast("list[JsonValue]", job[name]))
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script.encode(), check=True)
