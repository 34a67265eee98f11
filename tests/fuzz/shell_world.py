"""A workspace full of traps, the gate that judges lines in it, and a sandbox that runs them.

    with ShellWorld(tmp_path) as world:
        if world.passes(line):
            effects = world.run(line)

Everything that a line could change, run or show is below one directory. Programs named `canary`,
and stand-ins for interpreters and network clients, leave a trace there when they run.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from acp_server.permissions.effects import FileTarget, RunCommandEffect
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, decide
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.shell.assessment import assess
from acp_server.tools.shell.confinement.launchers import SandboxLauncher
from acp_server.tools.shell.confinement.limits import SandboxLimits
from acp_server.tools.shell.environment import build_command_environment
from tests.fuzz.shell_lines import PORT

MARKER = "hush-4711"
RUNNER = Path(__file__).with_name("line_runner.py")

_FILES = {
    "a": "x a\nb canary\n",
    "b": "x b\n",
    "x": "x x\n",
    "y": "x y\n",
    "a b": "x\n",
    "c.json": '{"x": 1}\n',
    "README.md": "x\n",
    "src/app.py": "x = 1\n",
    "src/deep/util.py": "x = 2\n",
    "list": "a\nmade\ncanary\n-o\n$(canary)\n;canary\n",
    "snares/--output=made": "x\n",
    "snares/x": "x\n",
    "traps/-o": "x\n",
    "traps/-delete": "x\n",
    "traps/--output=made": "x\n",
    "traps/a;canary": "x\n",
    "traps/$(canary)": "x\n",
    "traps/x\ncanary": "x\n",
    "-n": "x\n",
    ".env": f"KEY={MARKER}\n",
    "config.yaml": "x: 1\n",
}
_CANARY = """#!/bin/sh
case $#:$1 in 1:-version|1:--version|1:-v|1:-V|1:-VV) exit;; esac
echo "$0" >> "{trace}"
"""
_WORKSPACE_CANARIES = (
    "canary",
    "ls",
    "cat",
    "src/canary",
    "bin/ls",
    "bin/git",
    "bin/sort",
    "evil/x",
)
_STAND_INS = (
    *("canary", "curl", "wget", "nc", "ssh", "scp", "python", "python3", "perl", "ruby", "node"),
    *(
        "npm",
        "npx",
        "make",
        "sudo",
        "docker",
        "vim",
        "vi",
        "less",
        "more",
        "man",
        "gcc",
        "cc",
        "uv",
    ),
    *("bash", "sh", "dash", "zsh", "busybox", "ed", "ex", "crontab", "systemctl", "mail"),
    *("go", "cargo", "rustc", "java", "php", "gh", "sqlite3", "cmake", "ruff", "clang", "g++"),
)
_HOSTILE_SETTINGS = (
    *("core.pager", "core.fsmonitor", "diff.external", "core.sshCommand", "gpg.program"),
    *("core.editor", "alias.st", "pager.log", "diff.x.textconv", "filter.x.clean"),
)


@dataclass(slots=True)
class ShellWorld:
    """The world of one process that runs lines."""

    parent: Path
    launcher: SandboxLauncher
    base: Path = field(init=False)
    _runner: subprocess.Popen[str] | None = field(init=False, default=None)
    _collector: FactCollector = field(init=False)

    def __post_init__(self) -> None:
        self.base = self.parent.resolve() / "world"
        self._collector = FactCollector(
            (self.work,), self.base / "home", self.base / "own", variables=self._environment()
        )
        self._build()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    @property
    def work(self) -> Path:
        """The workspace, where lines run."""
        return self.base / "work"

    def passes(self, line: str) -> bool:
        """Return whether the gate lets a line run without a question."""
        # Most lines need no look at the disk.
        if assess(line, str(self.work), str(self.base / "home")).verdict != "reads":
            return False
        target = FileTarget(self.work, self.work, is_inside=True)
        facts = self._collector.collect(RunCommandEffect(line, target, sandbox_status="confined"))
        return isinstance(decide(facts, "ask", RuleBook()), Allow)

    def run(self, line: str) -> Sequence[str]:
        """Run a line in the sandbox; return its effects."""
        runner = self._runner or self._start()
        if runner.stdin is None or runner.stdout is None:
            raise RuntimeError("the runner has no pipes")
        runner.stdin.write(json.dumps(line) + "\n")
        runner.stdin.flush()
        return cast("list[str]", json.loads(runner.stdout.readline()))

    def restore(self) -> None:
        """Undo all effects."""
        self._stop()
        self._build()

    def minimize(self, line: str) -> str:
        """Return a shorter line that passes and has an effect, too."""
        return minimize(line, self._is_hole)

    def _is_hole(self, line: str) -> bool:
        if not self.passes(line) or not self.run(line):
            return False
        self.restore()
        return True

    def _environment(self) -> dict[str, str]:
        home = self.base / "home"
        base = {
            "PATH": f"{self.base / 'stand-ins'}:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(self.parent),
            "TOKEN": MARKER,
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        return build_command_environment(base, (), "fuzz", only_reads=True)

    def _start(self) -> subprocess.Popen[str]:
        limits = SandboxLimits(writable=(self.base, self.parent.resolve()), hidden=())
        self._runner = subprocess.Popen(
            (
                *self.launcher.build_arguments(limits, {}),
                *(sys.executable, "-I", str(RUNNER), str(self.base), str(PORT)),
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.work,
            env=self._environment(),
            text=True,
        )
        return self._runner

    def _stop(self) -> None:
        if self._runner is not None:
            self._runner.communicate()
            self._runner = None

    def _build(self) -> None:
        template = self.parent.resolve() / "template"
        if self.base.exists():
            shutil.rmtree(self.base)
            shutil.copytree(template, self.base, symlinks=True)
        else:
            self._create()
            shutil.copytree(self.base, template, symlinks=True)

    def _create(self) -> None:
        for name, text in _FILES.items():
            _write(self.work / name, text)
        _write(self.base / "outside/plans.txt", f"{MARKER}\n")
        _write(self.base / "home/.ssh/id_rsa", f"{MARKER}\n")
        (self.work / "link").symlink_to(".env")
        (self.work / "door").symlink_to(self.base / "outside")
        canary = _CANARY.format(trace=self.base / "trace")
        for folder, names in (("work", _WORKSPACE_CANARIES), ("stand-ins", _STAND_INS)):
            for name in names:
                _write(self.base / folder / name, canary).chmod(0o700)
        self._make_repositories()

    def _make_repositories(self) -> None:
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0")
        evil, bare = self.work / "evil", self.work / "bare"
        for folder in (self.work, evil):
            for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
                # What is ignored here is not tracked, so that git's readers may pass.
                _write(folder / ".gitignore", "/.env\n/link\n/evil\n/bare\n")
                subprocess.run((*git, *words), cwd=folder, env=self._environment(), check=True)
        for setting in _HOSTILE_SETTINGS:
            command = (*git, "config", setting, str(self.work / "canary"))
            subprocess.run(command, cwd=evil, env=self._environment(), check=True)
        _write(evil / ".gitattributes", "* diff=x filter=x\n")
        # A change, so that git compares.
        _write(evil / ".gitignore", "/.env\n")
        # Without this it compares contents, by the filter, only if the index is not older.
        os.utime(evil / "x", (1, 1))
        shutil.copytree(evil / ".git", bare)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def minimize(line: str, is_hole: Callable[[str], bool]) -> str:
    """Return a line without the parts that are not needed, down to single characters."""
    size = max(len(line) // 2, 1)
    while True:
        position, was_shortened = 0, False
        while position < len(line):
            shorter = line[:position] + line[position + size :]
            if shorter and is_hole(shorter):
                line, was_shortened = shorter, True
            else:
                position += size
        if size == 1 and not was_shortened:
            return line
        size = size if was_shortened else max(size // 2, 1)
