"""Git worktrees for tasks: checked out from HEAD, removed when the task has ended.

The repository's hooks do not run, and its working tree is not changed.
"""

import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.config import settings
from skills_store.programs import find_program

GIT_SECONDS = 120.0
_GIT_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
)
_GIT_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""A checkout needs no network: objects a partial clone lacks are an error, not a download."""


class WorktreeError(Exception):
    """A worktree cannot be created; the text says why."""


class WorktreeFactory:
    """Creates worktrees of one repository."""

    def __init__(self, directory: Path, parent: Path) -> None:
        """Create worktrees in `parent`; tasks work in the subdirectory matching `directory`."""
        self._directory = directory
        self._parent = parent
        self._lock = anyio.Lock()  # one at a time: git locks the repository's worktree list

    @asynccontextmanager
    async def create(self, name: str) -> AsyncGenerator[Path]:
        """Create a worktree and yield its working directory; remove it on exit.

        Raises:
            WorktreeError: The worktree cannot be created.
        """
        subdirectory = await self._git("rev-parse", "--show-prefix")
        tree = self._parent / name
        try:
            await self._git("worktree", "add", "--detach", "--quiet", str(tree), "HEAD")
            yield tree / subdirectory
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(partial(shutil.rmtree, tree, ignore_errors=True))
                await self._git("worktree", "prune")

    async def check(self) -> None:
        """Check that worktrees can be created.

        Raises:
            WorktreeError: The directory is not in a git repository with a commit.
        """
        await self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    async def _git(self, *arguments: str) -> str:
        async with self._lock:
            return await to_thread.run_sync(_run_git, self._directory, arguments)


def _run_git(folder: Path, arguments: tuple[str, ...]) -> str:
    environment = settings.child_environment(dict.fromkeys(settings.load({}).secret_variables))
    git = find_program("git", environment.get("PATH"), outside=[folder])
    if git is None:
        raise WorktreeError("git was not found; install it and try again")
    command = (git, *_GIT_OPTIONS, *arguments)
    try:
        done = subprocess.run(  # noqa: S603  git, with our own arguments
            command,
            cwd=folder,
            env={**environment, **_GIT_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorktreeError(f"git failed to run: {error}") from error
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip() or "the repository has no commit yet"
        raise WorktreeError(f"cannot create a git worktree of {folder}: {message}")
    return done.stdout.decode(errors="replace").strip()
