"""Temporary git project for the demo.

Changes nothing outside its directory; the user's git configuration is neither read nor written.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

import anyio

from acp_server.config import settings
from skills_store.programs import find_program

BRANCH = "main"
FILES: Mapping[str, str] = {
    ".gitignore": "__pycache__/\n",
    "AGENTS.md": """\
# Averages

- Plain Python, no dependencies; every function has a test.
- Run the tests with `python3 -m unittest`.
""",
    "README.md": """\
# Averages

The usual averages of a list of numbers, for a tour of an agent.
""",
    "averages.py": '''\
"""The usual averages of a list of numbers."""


def mean(numbers: list[float]) -> float:
    """Return the sum, shared out evenly."""
    return sum(numbers) / len(numbers)


def median(numbers: list[float]) -> float:
    """Return the number in the middle."""
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]
''',
    "test_averages.py": """\
import unittest

from averages import mean, median


class AveragesTest(unittest.TestCase):
    def test_mean(self) -> None:
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_odd_count(self) -> None:
        self.assertEqual(median([3, 1, 2]), 2)

    def test_even_count(self) -> None:
        self.assertEqual(median([4, 1, 3, 2]), 2.5)
""",
}
_CONFIGURATION = ("user.name=acp-server demo", "user.email=demo@localhost", "commit.gpgsign=false")
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **dict.fromkeys(
        (
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_TEMPLATE_DIR",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_PARAMETERS",
        )
    ),
}


class DemoProjectError(Exception):
    """The demo's project cannot be created or examined; the text says how to fix it."""


@dataclass(frozen=True, slots=True)
class DemoProject:
    """The demo's project."""

    directory: Path
    file_count: int
    commit: str


async def create_demo_project(folder: Path) -> DemoProject:
    """Create the project in a directory that does not exist yet.

    Raises:
        DemoProjectError: git is not installed, or failed.
    """
    for name, text in FILES.items():
        path = anyio.Path(folder / name)
        await path.parent.mkdir(parents=True, exist_ok=True)
        await path.write_text(text, encoding="utf-8")
    await run_git(folder, "init", "--quiet")
    await run_git(folder, "add", "--all")
    await run_git(folder, "commit", "--quiet", "--message", "Add the averages")
    commit = await run_git(folder, "rev-parse", "--short", "HEAD")
    return DemoProject(folder, len(FILES), commit)


async def run_git(folder: Path, *arguments: str) -> str:
    """Run git in the project and return its output without trailing whitespace.

    Raises:
        DemoProjectError: git is not installed, or failed.
    """
    environment = settings.child_environment(_ENVIRONMENT)
    git = find_program("git", environment.get("PATH"))
    if git is None:
        reason = "git was not found, and the demo needs it; install git and try again"
        raise DemoProjectError(reason)
    configured = (f"init.defaultBranch={BRANCH}", *_CONFIGURATION)
    options = [word for setting in configured for word in ("-c", setting)]
    try:
        done = await anyio.run_process([git, *options, *arguments], cwd=folder, env=environment)
    except CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip()
        raise DemoProjectError(f"git {arguments[0]} failed: {message}") from error
    except OSError as error:
        raise DemoProjectError(f"git cannot be run: {error}") from error
    return done.stdout.decode("utf-8", "replace").rstrip()
