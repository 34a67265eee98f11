"""Git, called by fleets: no hooks, no prompts, and no network unless a URL is cloned. Blocking."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from acp_server.fleet.process_guard import ProcessGuard
from skills_store.programs import find_program

GIT_SECONDS = 120.0
CLONE_SECONDS = 1800.0
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
    *("-c", "gc.auto=0"),
)
_OFFLINE = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""A checkout needs no network: objects a partial clone lacks are an error, not a download."""
_ONLINE = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:ssh:http:git:file"}


class FleetGitError(Exception):
    """Git failed; the text says why."""


class FleetGit:
    """Git program with the environment that it gets."""

    def __init__(self, environment: Mapping[str, str], guard: ProcessGuard | None = None) -> None:
        """Use an environment without secrets; with a guard, git ends if this process dies."""
        self._environment = environment
        self._guard = guard

    def run(self, directory: Path, *arguments: str, **variables: str) -> str:
        """Run git offline and return its output, stripped.

        Raises:
            FleetGitError: Git is missing or failed.
        """
        return self.read(directory, arguments, variables).decode(errors="replace").strip()

    def read(
        self,
        directory: Path,
        arguments: Sequence[str],
        variables: Mapping[str, str] = MappingProxyType({}),
        stdin: bytes = b"",
    ) -> bytes:
        """Run git offline and return its output.

        Raises:
            FleetGitError: Git is missing or failed.
        """
        return self._call(directory, arguments, {**_OFFLINE, **variables}, GIT_SECONDS, stdin)

    def fetch(self, directory: Path, *arguments: str) -> str:
        """Run git with the network and return its output, stripped.

        Raises:
            FleetGitError: Git is missing or failed.
        """
        output = self._call(directory, arguments, _ONLINE, CLONE_SECONDS, b"")
        return output.decode(errors="replace").strip()

    def _call(
        self,
        directory: Path,
        arguments: Sequence[str],
        variables: Mapping[str, str],
        seconds: float,
        stdin: bytes,
    ) -> bytes:
        git = find_program("git", self._environment.get("PATH"), outside=[directory])
        if git is None:
            raise FleetGitError("git was not found; install it and try again")
        mark: Mapping[str, str] = {} if self._guard is None else self._guard.mark
        try:
            with subprocess.Popen(  # noqa: S603  git, with our own arguments
                (git, *_OPTIONS, *arguments),
                cwd=directory,
                env={**self._environment, **variables, **mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=self._guard is not None,
            ) as process:
                output, problems = self._communicate(process, stdin, seconds)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FleetGitError(f"git failed to run: {error}") from error
        if process.returncode:
            message = problems.decode(errors="replace").strip()
            raise FleetGitError(message or f"git {arguments[0]} failed in {directory}")
        return output

    def _communicate(
        self, process: "subprocess.Popen[bytes]", stdin: bytes, seconds: float
    ) -> tuple[bytes, bytes]:
        """Return stdout and stderr of a process; end it if it takes longer."""
        try:
            if self._guard is not None:
                self._guard.add(process.pid)
            return process.communicate(stdin, seconds)
        finally:
            process.kill()  # has no effect on one that has ended
            if self._guard is not None:
                self._guard.remove(process.pid)
