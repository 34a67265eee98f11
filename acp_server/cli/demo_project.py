"""Temporary git project of the demo: created before it, verified after it.

The verification does not rely on the agent's own report. Nothing outside the project's directory is
changed; the user's git configuration is neither read nor written.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CalledProcessError

import anyio
from pydantic import BaseModel

from acp_server.cli.demo_results import DemoCheckResult
from acp_server.config.settings import child_environment
from acp_server.models.script import CallLine, parse_script
from acp_server.startup.isolation import isolated_python
from skills_store.programs import find_program

TEST_SECONDS = 30.0
_GIT_OPTIONS = (
    *("-c", "init.defaultBranch=main"),
    *("-c", "user.name=acp-server demo"),
    *("-c", "user.email=demo@localhost"),
    *("-c", "commit.gpgsign=false"),
)
_GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_DIR": None,
    "GIT_WORK_TREE": None,
    "GIT_INDEX_FILE": None,
    "GIT_OBJECT_DIRECTORY": None,
    "GIT_TEMPLATE_DIR": None,
    "GIT_CONFIG_COUNT": None,
    "GIT_CONFIG_PARAMETERS": None,
}


class DemoProjectError(Exception):
    """The demo's project cannot be created or examined; the text says how to fix it."""


class ScriptedEditArguments(BaseModel):
    """Arguments of a scripted `write_file` or `patch` call."""

    path: str
    content: str = ""
    old_string: str = ""
    new_string: str = ""


async def create_demo_project(folder: Path, files: Mapping[str, str]) -> None:
    """Create the project in a directory that does not exist yet, and commit its files.

    Raises:
        DemoProjectError: git is not installed, or failed.
    """
    await anyio.Path(folder).mkdir(parents=True)
    for name, text in files.items():
        await anyio.Path(folder / name).write_text(text, encoding="utf-8")
    await run_git(folder, "init", "--quiet")
    await run_git(folder, "add", "--all")
    await run_git(folder, "commit", "--quiet", "--message", "Add the averages")


def expected_changes(files: Mapping[str, str], model_script: str, prompt: str) -> Mapping[str, str]:
    """Return the files that a model script's answer to a prompt changes, with their new text."""
    block = next(block for block in parse_script(model_script) if block.matches(prompt))
    changed = dict(files)
    for line in block.lines:
        if isinstance(line, CallLine) and line.name in {"write_file", "patch"}:
            edit = ScriptedEditArguments.model_validate(json.loads(line.arguments))
            is_patch = line.name == "patch"
            old_text = changed.get(edit.path, "")
            text = old_text.replace(edit.old_string, edit.new_string) if is_patch else edit.content
            changed[edit.path] = text
    return {name: text for name, text in changed.items() if text != files.get(name)}


async def verify_demo(folder: Path, expected: Mapping[str, str]) -> Sequence[DemoCheckResult]:
    """Run the project's tests and compare its changes with the expected ones.

    Raises:
        DemoProjectError: git failed.
    """
    return [await _run_tests(folder), await _compare_changes(folder, expected)]


async def _run_tests(folder: Path) -> DemoCheckResult:
    done = None
    with anyio.move_on_after(TEST_SECONDS):
        environment = child_environment({"FORCE_COLOR": None})
        # Isolated mode leaves the working directory out of sys.path; unittest adds it itself.
        command = isolated_python("-m", "unittest")
        done = await anyio.run_process(command, cwd=folder, env=environment, check=False)
    if done is None:
        problem = f"the tests did not end within {TEST_SECONDS:g} s"
        return DemoCheckResult("tests", "stopped", [problem])
    output_lines = done.stderr.decode("utf-8", "replace").split("\n")
    result = ": ".join(line for line in output_lines if line.startswith(("Ran ", "OK", "FAILED")))
    problems = ["the project's tests fail"] if done.returncode else []
    return DemoCheckResult("tests", f"{result or 'none'} (verified by the demo)", problems)


async def _compare_changes(folder: Path, expected: Mapping[str, str]) -> DemoCheckResult:
    """Compare the changes that git reports with the expected ones."""
    await run_git(folder, "add", "--all")
    counted = await run_git(folder, "diff", "--cached", "--no-renames", "--numstat")
    changes: dict[str, str] = {}
    for line in counted.splitlines():
        added, removed, name = line.split("\t")
        changes[name] = f"{name} +{added}" + (f" -{removed}" if removed != "0" else "")
    problems = [f"{name} changed unexpectedly" for name in sorted(changes.keys() - expected.keys())]
    for name, text in expected.items():
        file = anyio.Path(folder / name)
        if not await file.is_file() or await file.read_bytes() != text.encode():
            problems.append(f"{name} does not have the expected content")
    return DemoCheckResult("git diff", ", ".join(changes.values()) or "nothing", problems)


async def run_git(folder: Path, *arguments: str) -> str:
    """Run git in the project and return its output without trailing whitespace.

    Raises:
        DemoProjectError: git is not installed, or failed.
    """
    environment = child_environment(_GIT_ENVIRONMENT)
    git = find_program("git", environment.get("PATH"))
    if git is None:
        reason = "git was not found, and the demo needs it; install git and try again"
        raise DemoProjectError(reason)
    command = (git, *_GIT_OPTIONS, *arguments)
    try:
        done = await anyio.run_process(command, cwd=folder, env=environment)
    except CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip()
        raise DemoProjectError(f"git {arguments[0]} failed: {message}") from error
    except OSError as error:
        raise DemoProjectError(f"git cannot be run: {error}") from error
    return done.stdout.decode("utf-8", "replace").rstrip()
