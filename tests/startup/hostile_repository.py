"""A repository whose files try to run inside our interpreter: each leaves a canary if it does."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.command_line import environment
from tests.headless.run.repositories import create_repository
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

CANARY = """\
import os
with open({path!r}, "a") as canary:
    print("by", __name__, file=canary)
raise ImportError("this file is not to be imported")
"""
PROGRAM = '#!/bin/sh\necho "by $0 $*" >> {path}\nexit 9\n'
STANDARD_MODULES = ("json", "collections", "logging", "sitecustomize", "usercustomize")
PACKAGES = ("anthropic", "anyio", "pydantic", "click", "jsonrpcserver", "mcp", "yaml", "keyring")
PROGRAMS = ("git", "rg", "perl", "bash", "python", "python3", "node")
SCRIPT = """\
prompt: *
call: search_files
  pattern: needle
call: terminal
  command: echo done
step:
say: Done.
"""


@dataclass(frozen=True, slots=True)
class HostileRepository:
    """A committed workspace, a home outside of it, and where canaries go."""

    workspace: Path
    home: Path
    canaries: Path
    scratch: Path
    """Where temporary files go: not in the home, which no task may read."""

    @property
    def script(self) -> Path:
        """A model's script that searches and runs a command."""
        return self.home / "script.script"

    def run(
        self, command: Sequence[str], *, stdin: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the workspace."""
        return subprocess.run(
            command,
            cwd=self.workspace,
            env=environment(self.home, HOME=str(self.home), TMPDIR=str(self.scratch), **variables),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_TIMEOUT_SECONDS,
            check=False,
        )

    def imported(self) -> dict[str, str]:
        """Return the files that ran, with what they wrote."""
        return {path.name: path.read_text() for path in sorted(self.canaries.iterdir())}

    def task_list(self) -> Path:
        """Return a list of one task."""
        path = self.home / "tasks.jsonl"
        path.write_text(json.dumps({"id": "one", "prompt": "Look around"}) + "\n")
        return path


def hostile_repository(folder: Path) -> HostileRepository:
    """Make a repository with modules, packages, start-up files and programs that leave canaries."""
    canaries, home, scratch = folder / "canaries", folder / "home", folder / "scratch"
    for each in (canaries, home, scratch):
        each.mkdir()

    def python(name: str) -> bytes:
        return CANARY.format(path=str(canaries / name)).encode()

    files = {f"{name}.py": python(name) for name in (*STANDARD_MODULES, *PACKAGES)}
    files["pyvenv.cfg"] = f"home = {folder}\ninclude-system-site-packages = true\n".encode()
    files["evil.pth"] = (
        f"import pathlib; pathlib.Path({str(canaries / 'pth')!r}).touch()\n".encode()
    )
    files["needle.txt"] = b"needle\n"
    workspace = create_repository(folder / "workspace", files)
    for package in ("acp_server", "prompt_engine", "skills_store"):
        (workspace / package).mkdir()
        (workspace / package / "__init__.py").write_bytes(python(package))
    for name in PROGRAMS:
        program = workspace / name
        program.write_text(PROGRAM.format(path=canaries / f"program-{name}"))
        program.chmod(0o755)
    repository = HostileRepository(workspace, home, canaries, scratch)
    repository.script.write_text(SCRIPT)
    return repository


def hostile_path() -> str:
    """Return a search path on which the working directory comes first, in both spellings."""
    return os.pathsep.join(("", ".", os.defpath))
