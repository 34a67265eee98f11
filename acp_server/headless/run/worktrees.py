"""A git worktree for each of many tasks: made of the last commit, removed when the task is over.

The repository's hooks do not run, and its own files are not touched.
"""

import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server import settings
from skills_store.programs import find_program

GIT_SECONDS = 120.0
_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
)
_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""A checkout needs no network: objects a partial clone lacks are an error, not a download."""


class WorktreeError(Exception):
    """A worktree cannot be made; the text says why."""


class Worktrees:
    """Makes worktrees of one repository, one at a time: git locks it anyway."""

    def __init__(self, folder: Path, place: Path) -> None:
        """`folder` is one of the repository, in whose like each task works; `place` has room."""
        self._folder = folder
        self._place = place
        self._order = anyio.Lock()

    @asynccontextmanager
    async def made(self, name: str) -> AsyncGenerator[Path]:
        """Provide a folder to work in.

        Raises:
            WorktreeError: it cannot be made.
        """
        below = await self._git("rev-parse", "--show-prefix")
        tree = self._place / name
        try:
            await self._git("worktree", "add", "--detach", "--quiet", str(tree), "HEAD")
            yield tree / below
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(_remove, tree)
                await self._git("worktree", "prune")

    async def check(self) -> None:
        """Make sure that worktrees can be made at all.

        Raises:
            WorktreeError: this is no repository, or it has no commit.
        """
        await self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    async def _git(self, *arguments: str) -> str:
        async with self._order:
            return await to_thread.run_sync(_output, self._folder, arguments)


def _output(folder: Path, arguments: tuple[str, ...]) -> str:
    environment = settings.child_environment(dict.fromkeys(settings.secret_variables()))
    git = find_program("git", environment.get("PATH"), outside=[folder])
    if git is None:
        raise WorktreeError("git was not found; install it and try again")
    command = (git, *_SETTINGS, *arguments)
    try:
        done = subprocess.run(  # noqa: S603  git, and arguments of our own
            command,
            cwd=folder,
            env={**environment, **_VARIABLES},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = f"git cannot be run: {error}"
        raise WorktreeError(reason) from error
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip() or "there is no commit to begin with"
        reason = f"no worktree can be made of {folder}: {told}"
        raise WorktreeError(reason)
    return done.stdout.decode(errors="replace").strip()


def _remove(tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
