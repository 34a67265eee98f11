"""Clone a git repository as a directory: one commit, no hooks, no submodules, no prompts.

URL and ref come from the user; both are validated, so neither can be an option of git.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import fullmatch

from skills_store.programs import find_program
from skills_store.sources.errors import CloneError
from skills_store.sources.locations import RepositorySource

TIMEOUT_SECONDS = 120.0
_SHOWN_CHARACTERS = 300

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "submodule.recurse=false",
    # ext:: runs any command; the list of protocols below is an allow list.
    "protocol.ext.allow=never",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "fetch.fsckObjects=true",
    "transfer.fsckObjects=true",
    "gc.auto=0",
    "maintenance.auto=false",
)
_VARIABLES = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GCM_INTERACTIVE": "never",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oClearAllForwardings=yes",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    "LC_ALL": "C",
}
_REDIRECTING_VARIABLES = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TEMPLATE_DIR"}
)
"""Variables that would make git work on another repository."""


@dataclass(frozen=True, slots=True)
class GitCloner:
    """Runs git with the caller's environment."""

    environment: Mapping[str, str]
    program: str = "git"
    timeout_seconds: float = TIMEOUT_SECONDS

    def clone(self, source: RepositorySource, folder: Path) -> str:
        """Clone one commit into a directory and return its id. Blocks.

        Raises:
            CloneError: It failed or timed out; the directory may be incomplete.
        """
        if fullmatch(r"[0-9a-f]{40}", source.ref):  # a commit, which `git clone` does not support
            self._run(source, ["init", "--quiet", "--template=", "--", str(folder)])
            self._run(
                source,
                ["-C", str(folder), "fetch", "--depth", "1", "--no-tags", "--no-recurse-submodules",
                 "--quiet", "--", source.url, source.ref],
            )  # fmt: skip
            self._run(source, ["-C", str(folder), "checkout", "--quiet", "--detach", "FETCH_HEAD"])
        else:
            branch = ["--branch", source.ref] if source.ref else []
            self._run(
                source,
                ["clone", "--depth", "1", "--single-branch", "--no-tags", "--no-recurse-submodules",
                 "--template=", "--quiet", *branch, "--", source.url, str(folder)],
            )  # fmt: skip
        return self._run(source, ["-C", str(folder), "rev-parse", "HEAD"]).strip()

    def _run(self, source: RepositorySource, arguments: Sequence[str]) -> str:
        program = find_program(self.program, self.environment.get("PATH"))
        if program is None:
            raise CloneError(source.url, f"{self.program} was not found on PATH; install it first")
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        inherited = {
            n: value for n, value in self.environment.items() if n not in _REDIRECTING_VARIABLES
        }
        try:
            process = subprocess.Popen(  # noqa: S603  # a list, no shell; the arguments are validated
                [program, *settings, *arguments],
                cwd=Path(os.sep),  # a repository in the working directory would add its config
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**inherited, **_VARIABLES},
                start_new_session=True,  # no terminal for prompts, and one process group to kill
            )
        except OSError as error:
            raise CloneError(source.url, f"{self.program} cannot be started: {error}") from error
        with process:
            try:
                output, error_output = process.communicate(timeout=self.timeout_seconds)
            except subprocess.TimeoutExpired:
                if sys.platform == "win32":
                    process.kill()
                else:  # with its child processes
                    os.killpg(process.pid, signal.SIGKILL)
                reason = f"it took longer than {self.timeout_seconds:.0f} seconds"
                raise CloneError(source.url, reason) from None
        if process.returncode:
            raise CloneError(source.url, _failure_reason(error_output))
        return output.decode(errors="replace")


def _failure_reason(error_output: bytes) -> str:
    lines = error_output.decode(errors="replace").strip().splitlines()
    fatal_line = next((line for line in lines if line.startswith("fatal:")), "")
    words = fatal_line.removeprefix("fatal:").strip() or (
        lines[-1] if lines else "git gave no reason"
    )
    return "".join(c if c.isprintable() else "?" for c in words)[:_SHOWN_CHARACTERS].rstrip(".")
