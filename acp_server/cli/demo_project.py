"""Script of the demo, and its temporary git project: created before it, verified after it.

The verification does not rely on the agent's own report. Nothing outside the project's directory is
changed; the user's git configuration is neither read nor written.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

import anyio
from pydantic import BaseModel, ConfigDict

from acp_server.config.settings import child_environment
from acp_server.startup.isolation import isolated_python
from skills_store.programs import find_program

TEST_SECONDS = 30.0
_GIT_OPTIONS = (
    *("-c", "init.defaultBranch=main"),
    *("-c", "user.name=acp-server demo"),
    *("-c", "user.email=demo@localhost"),
    *("-c", "commit.gpgsign=false"),
)


class DemoProjectError(Exception):
    """The demo's project cannot be created or examined; the text says how to fix it."""


class DemoStep(BaseModel):
    """A prompt of the demo, its caption, and after how many answer chunks to cancel it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    caption: str
    cancel_after_chunks: int | None = None
    failing_calls: int | None = 0
    """How many of its tool calls must fail; None if that is unknown."""


class DemoScript(BaseModel):
    """The steps of the demo; the first one makes `changes` to the project that has `files`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[DemoStep, ...]
    changes: tuple[str, ...]
    """Each changed file with the numbers of its added and removed lines."""
    files: Mapping[str, str]


def load_demo_script() -> DemoScript:
    """Load the script from this package."""
    text = Path(__file__).with_name("demo.toml").read_text(encoding="utf-8")
    return DemoScript.model_validate(tomllib.loads(text))


@dataclass(frozen=True, slots=True)
class DemoCheckResult:
    """Result of one verification: its name, the facts and the problem, if any."""

    name: str
    result: str
    problem: str = ""


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


async def verify_demo(folder: Path, changes: Sequence[str]) -> Sequence[DemoCheckResult]:
    """Run the project's tests and compare its changes with the expected ones.

    Raises:
        DemoProjectError: git failed.
    """
    await run_git(folder, "add", "--all")
    counted = await run_git(folder, "diff", "--cached", "--no-renames", "--numstat")
    found: list[str] = []
    for line in counted.splitlines():
        added, removed, name = line.split("\t")
        found.append(f"{name} +{added}" + (f" -{removed}" if removed != "0" else ""))
    expected = ", ".join(changes)
    problem = "" if found == [*changes] else f"the project's changes are not {expected}"
    diff = DemoCheckResult("git diff", ", ".join(found) or "nothing", problem)
    return [await _run_tests(folder), diff]


async def _run_tests(folder: Path) -> DemoCheckResult:
    done = None
    with anyio.move_on_after(TEST_SECONDS):
        environment = child_environment({"FORCE_COLOR": None})
        # Isolated mode leaves the working directory out of sys.path; unittest adds it itself.
        command = isolated_python("-m", "unittest")
        done = await anyio.run_process(command, cwd=folder, env=environment, check=False)
    if done is None:
        problem = f"the tests did not end within {TEST_SECONDS:g} s"
        return DemoCheckResult("tests", "stopped", problem)
    output_lines = done.stderr.decode("utf-8", "replace").split("\n")
    result = ": ".join(line for line in output_lines if line.startswith(("Ran ", "OK", "FAILED")))
    problem = "the project's tests fail" if done.returncode else ""
    return DemoCheckResult("tests", f"{result or 'none'} (verified by the demo)", problem)


async def run_git(folder: Path, *arguments: str) -> str:
    """Run git in the project and return its output without trailing whitespace.

    Raises:
        DemoProjectError: git is not installed, or failed.
    """
    environment = {
        name: value for name, value in child_environment({}).items() if not name.startswith("GIT_")
    }
    git = find_program("git", environment.get("PATH"))
    if git is None:
        reason = "git was not found, and the demo needs it; install git and try again"
        raise DemoProjectError(reason)
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    try:
        command = (git, *_GIT_OPTIONS, *arguments)
        done = await anyio.run_process(command, cwd=folder, env=environment)
    except CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip()
        raise DemoProjectError(f"git {arguments[0]} failed: {message}") from error
    except OSError as error:
        raise DemoProjectError(f"git cannot be run: {error}") from error
    return done.stdout.decode("utf-8", "replace").rstrip()
