"""Verifies the demo's project after the demo: runs its tests and compares its files.

Does not rely on the agent's own report.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from pydantic import BaseModel

from acp_server.cli.demo_project import FILES, run_git
from acp_server.config.settings import child_environment
from acp_server.models.script import CallLine, parse_script
from acp_server.startup.isolation import isolated_python

TEST_SECONDS = 30.0


class ScriptedEditArguments(BaseModel):
    """Arguments of a scripted `write_file` or `patch` call."""

    path: str
    content: str = ""
    old_string: str = ""
    new_string: str = ""


@dataclass(frozen=True, slots=True)
class DemoCheckResult:
    """Result of one verification: its name, the facts and the problems."""

    name: str
    result: str
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class DemoVerdict:
    """Results of all verifications."""

    findings: Sequence[DemoCheckResult] = ()

    @property
    def problems(self) -> Sequence[str]:
        """Problems of all results."""
        return [problem for finding in self.findings for problem in finding.problems]


def expected_changes(script: str, prompt: str) -> Mapping[str, str]:
    """Return the files that a script's answer to a prompt changes, with their expected text."""
    block = next(block for block in parse_script(script) if block.matches(prompt))
    files = dict(FILES)
    for line in block.lines:
        if isinstance(line, CallLine) and line.name in {"write_file", "patch"}:
            edit = ScriptedEditArguments.model_validate(json.loads(line.arguments))
            is_patch = line.name == "patch"
            old_text = files.get(edit.path, "")
            text = old_text.replace(edit.old_string, edit.new_string) if is_patch else edit.content
            files[edit.path] = text
    return {name: text for name, text in files.items() if text != FILES.get(name)}


async def verify_demo(folder: Path, expected: Mapping[str, str]) -> DemoVerdict:
    """Run the project's tests and compare its changes with the expected ones.

    Raises:
        DemoProjectError: git failed.
    """
    return DemoVerdict((await _run_tests(folder), await _compare_changes(folder, expected)))


async def _run_tests(folder: Path) -> DemoCheckResult:
    """Run the project's tests, for at most `TEST_SECONDS`."""
    done = None
    with anyio.move_on_after(TEST_SECONDS):
        environment = child_environment({"FORCE_COLOR": None})
        # Isolated mode leaves the working directory out of sys.path; unittest adds it itself.
        command = isolated_python("-m", "unittest")
        done = await anyio.run_process(command, cwd=folder, env=environment, check=False)
    if done is None:
        return DemoCheckResult(
            "tests", "stopped", (f"the tests did not end within {TEST_SECONDS:g} s",)
        )
    output_lines = done.stderr.decode("utf-8", "replace").split("\n")
    result = ": ".join(line for line in output_lines if line.startswith(("Ran ", "OK", "FAILED")))
    problems = () if done.returncode == 0 else ("the project's tests fail",)
    return DemoCheckResult("tests", f"{result or 'none'} (verified by the demo)", problems)


async def _compare_changes(folder: Path, expected: Mapping[str, str]) -> DemoCheckResult:
    """Compare the changes that git reports with the expected ones."""
    await run_git(folder, "add", "--all")
    counted = await run_git(folder, "diff", "--cached", "--no-renames", "--numstat")
    rows = [line.split("\t") for line in counted.splitlines()]
    names = {name for _, _, name in rows}
    unexpected = [f"{name} changed unexpectedly" for name in sorted(names - expected.keys())]
    wrong = [
        f"{name} does not have the expected content"
        for name, text in expected.items()
        if not await _has_text(folder / name, text)
    ]
    result = ", ".join(_change_text(*row) for row in rows) or "nothing"
    return DemoCheckResult("git diff", result, (*unexpected, *wrong))


async def _has_text(path: Path, text: str) -> bool:
    file = anyio.Path(path)
    return await file.is_file() and await file.read_bytes() == text.encode()


def _change_text(added: str, removed: str, name: str) -> str:
    return f"{name} +{added}" + (f" -{removed}" if removed != "0" else "")
