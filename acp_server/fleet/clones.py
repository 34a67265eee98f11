"""Clones of repositories that a node keeps for the worktrees of its attempts. Blocking."""

import fcntl
import hashlib
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acp_server.fleet.git import FleetGit, FleetGitError


class CloneCache:
    """Clones in a directory that several processes of a node share."""

    def __init__(self, directory: Path, git: FleetGit) -> None:
        """Clone with `git`, whose environment has the node's own credentials."""
        self._directory = directory
        self._git = git

    def clone_of_url(self, url: str, commit: str) -> Path:
        """Return a clone that has this commit.

        Raises:
            FleetGitError: It cannot be cloned, or has no such commit.
            OSError: The directory cannot be written.
        """
        path = self._directory / hashlib.sha256(url.encode()).hexdigest()[:24]
        with self._locked(path):
            if not path.is_dir():
                self._clone(url, path, url)
            if not self._has(path, commit):
                self._git.fetch(path, "fetch", "--quiet", "--tags", "origin")
            if not self._has(path, commit):
                self._git.fetch(path, "fetch", "--quiet", "origin", commit)
        return path

    def clone_of_bundle(self, digest: str, bundle: Path) -> Path:
        """Return a clone of a git bundle with this digest.

        Raises:
            FleetGitError: The bundle is damaged.
            OSError: The directory cannot be written.
        """
        path = self._directory / digest[:24]
        with self._locked(path):
            if not path.is_dir():
                self._clone(str(bundle), path, "the repository")
        return path

    def _clone(self, source: str, path: Path, name: str) -> None:
        part = path.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            clone = ("clone", "--no-checkout", "--quiet", "--", source, str(part))
            self._git.fetch(self._directory, *clone)
        except FleetGitError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise FleetGitError(f"{name} cannot be cloned: {error}") from error
        # A killed process leaves no half a clone under the final name.
        part.rename(path)

    def _has(self, path: Path, commit: str) -> bool:
        try:
            self._git.run(path, "cat-file", "-e", f"{commit}^{{commit}}")
        except FleetGitError:
            return False
        return True

    @contextmanager
    def _locked(self, path: Path) -> Generator[None]:
        """Keep other processes of this node from cloning the same repository."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.with_suffix(".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
