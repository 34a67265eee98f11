"""A small project under git, made for the demo and thrown away with it.

Touches nothing outside its folder: no configuration of git's is read or written.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

import anyio

from acp_server.settings import child_environment

BRANCH = "main"
FILES: Mapping[str, str] = {
    "AGENTS.md": """\
# Calculator

- Plain Python, no dependencies; every function has a test.
- Run the tests with `python -m unittest`.
""",
    "README.md": """\
# Calculator

The four operations, for a tour of an agent.
""",
    "calc.py": '''\
"""The four operations."""


def add(left: float, right: float) -> float:
    return left + right


def divide(left: float, right: float) -> float:
    return left / right
''',
    "test_calc.py": """\
import unittest

from calc import add, divide


class CalculatorTest(unittest.TestCase):
    def test_adding(self) -> None:
        self.assertEqual(add(2, 3), 5)

    def test_dividing(self) -> None:
        self.assertEqual(divide(6, 3), 2)
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


class WorkspaceError(Exception):
    """The demo's project cannot be made; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The project that was made."""

    folder: Path
    files: int
    commit: str


async def make_workspace(folder: Path) -> Workspace:
    """Make the project in a folder that does not exist yet.

    Raises:
        WorkspaceError: git is not there, or failed.
    """
    git = shutil.which("git")
    if git is None:
        reason = "git was not found, and the demo's project needs it; install git and try again"
        raise WorkspaceError(reason)
    for name, text in FILES.items():
        path = anyio.Path(folder / name)
        await path.parent.mkdir(parents=True, exist_ok=True)
        await path.write_text(text, encoding="utf-8")
    await _run(git, folder, "init", "--quiet")
    await _run(git, folder, "add", "--all")
    await _run(git, folder, "commit", "--quiet", "--message", "Add the calculator")
    commit = await _run(git, folder, "rev-parse", "--short", "HEAD")
    return Workspace(folder, len(FILES), commit)


async def _run(git: str, folder: Path, *arguments: str) -> str:
    settings = (f"init.defaultBranch={BRANCH}", *_CONFIGURATION)
    options = [word for setting in settings for word in ("-c", setting)]
    try:
        done = await anyio.run_process(
            [git, *options, *arguments], cwd=folder, env=child_environment(_ENVIRONMENT)
        )
    except CalledProcessError as error:
        words = error.stderr.decode("utf-8", "replace").strip()
        raise WorkspaceError(f"git {arguments[0]} failed: {words}") from error
    except OSError as error:
        raise WorkspaceError(f"git cannot be run: {error}") from error
    return done.stdout.decode("utf-8", "replace").strip()
