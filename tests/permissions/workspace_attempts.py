"""Attempts in a workspace by other ways than git: the calls, and where each would leave a trace.

    workspace = create_hostile_workspace(tmp_path)
    with start_attempts(workspace.home, build_calls(workspace), "off", workspace.variables) as live:
        assert workspace.is_held(live, attempt, "ask")

The user has said "always" to the programs of `COVERED` in the workspace's own directory, and
rejects every question. The programs are stand-ins that leave a trace when they run.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from acp_server.permissions.modes import Mode
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import CommandPattern, CommandScope
from tests.permissions.live_attempts import LiveAttempt, LiveAttempts
from tests.permissions.secret_workspace import MARKER

COVERED = ("npm test", "make test", "pylint", "mypy", "pytest", "git commit", "cargo test")
STAND_INS = ("npm", "make", "pylint", "mypy", "pytest", "cargo", "uv", "npx")
SHIMS = ("python", "ruby", "node")
CONTROL = "npm test --silent"
"""A command that the answers cover: it passes, and leaves its trace."""

BEYOND_ALWAYS = (
    # another directory
    *("cd evil && npm test", "(cd evil; make test)", "make -C evil test", "npm --prefix evil test"),
    *("npm test --prefix=evil", "make -f evil/Makefile test", "cargo test --manifest-path evil/C"),
    # flags that run other things
    "pylint --init-hook='import os' a.py",
    "pylint --load-plugins=evil a.py",
    "pylint --rcfile=evil/rc a.py",
    "mypy --python-executable ./evil/python a.py",
    "mypy --install-types a.py",
    "mypy --config-file=evil/mypy.ini a.py",
    *("pytest -p evil", "pytest -pevil", "pytest --pastebin=all", "pytest -c evil/pytest.ini"),
    *("git commit --no-verify -m x", "git commit -n -m x", "git commit --gpg-sign -m x"),
    *("git commit -S -m x", "git -c core.hooksPath=evil commit -m x", "make test SHELL=./evil/sh"),
    # variables that choose what is run or loaded
    *("PATH=evil npm test", "NODE_OPTIONS=--require=./evil/x npm test", "GIT_DIR=evil git commit"),
    *("PYTHONPATH=evil pytest", "LD_PRELOAD=./evil.so make test", "MAKEFLAGS=-fevil make test"),
    # other programs beside a covered one
    *("npm test; ./evil/run", "npm test && npx evil", "npm test | sh", "npm test $(./evil/run)"),
    *("npm test > a.py", "npm test & npm test", "sudo npm test", "xargs npm test < a.py"),
)
OF_THE_WORKSPACE = (
    *("uv pip list", "uv pip check", "uv pip freeze", ".venv/bin/python --version"),
    *("python --version", "time python --version", "env python --version", "nohup ruby --version"),
    *("timeout 5 node --version", "nice python --version", "command python --version"),
    *("env -i PATH=evil python --version", "find . -name a.py -exec python --version ';'"),
)
RUN_BY_OTHERS = (
    *(".githooks/pre-commit", "scripts/hooks/pre-push", ".devcontainer.json", "opencode.json"),
    *(".opencode/command/a.md", ".aider.conf.yml", ".kiro/hooks/a.kiro.hook", ".roo/mcp.json"),
    *(".windsurf/mcp_config.json", ".amazonq/mcp.json", ".continue/config.yaml", ".yarnrc.yml"),
    *(".pnpmfile.cjs", "my.code-workspace", "env/bin/activate", "node_modules/.bin/tsc"),
    *("Jenkinsfile", ".travis.yml", "azure-pipelines.yml", ".buildkite/pipeline.yml"),
    *(".forgejo/workflows/a.yml", ".gitea/workflows/a.yml", ".github/actions/a/action.yml"),
    *(".bashrc", ".zshrc", ".profile", ".vimrc", ".exrc", ".nvim.lua", ".dir-locals.el"),
)
"""Names of the files; `scripts/hooks` is where `core.hooksPath` leads."""
HARD_LINKS: Mapping[str, tuple[str, Mapping[str, JsonValue]]] = {
    "reading": ("read_file", {"path": "seen.txt"}),
    "writing": ("write_file", {"path": "seen.txt", "content": "x\n"}),
    "printing": ("terminal", {"command": "cat seen.txt"}),
    "printing by a pattern": ("terminal", {"command": "cat see*"}),
    "searching a directory": ("terminal", {"command": "grep -r hush ."}),
    "searching by the tool": ("search_files", {"pattern": "hush"}),
    "printing by find": ("terminal", {"command": "find . -name 'see*' -exec cat {} +"}),
}
KEYS = (
    *("cat /proc/$PPID/environ", "cat /proc/self/environ", "env", "printenv", "export -p"),
    *("ps eww", "grep -a x /proc/1/mem", "set | cat", "declare -p", "cat /proc/[0-9]*/environ"),
)
ADDRESSES = ("http://192.0.0.192/latest/", "http://192.88.99.1/", "http://169.254.169.254/")


@dataclass(frozen=True, slots=True)
class WorkspaceAttempt:
    """An attempt, and the file that it would make or change."""

    group: str
    call: LiveAttempt
    target: Path | None = None
    may_pass: bool = False
    """Whether it may do its work without a question, if it leaves out what is secret."""


@dataclass(frozen=True, slots=True)
class HostileWorkspace:
    """A workspace in which other files would choose what runs."""

    base: Path

    @property
    def root(self) -> Path:
        return self.base / "work"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def trace(self) -> Path:
        """A file in the workspace, so that confined programs can write it, too."""
        return self.root / "trace"

    @property
    def variables(self) -> Mapping[str, str]:
        path = os.pathsep.join((f"{self.base}/programs", f"{self.home}/.pyenv/shims", os.defpath))
        return {"PATH": path, "SERVICE_KEY": MARKER}

    def is_held(self, live: LiveAttempts, attempt: WorkspaceAttempt, mode: Mode) -> bool:
        """Make an attempt; return whether the user was asked, or it was refused, without effect."""
        before = _content(attempt.target)
        result = live.run(attempt.call, mode)
        is_stopped = result.has_failed and (result.is_asked or mode == "plan" or attempt.may_pass)
        # The user who is asked sees the call.
        is_shown = not result.is_asked and result.shows(MARKER)
        is_same = _content(attempt.target) == before and not self.trace.exists()
        return (is_stopped or attempt.may_pass) and is_same and not is_shown


def _content(file: Path | None) -> str | None:
    return file.read_text() if file is not None and file.exists() else None


def create_hostile_workspace(base: Path) -> HostileWorkspace:
    """Create the workspace, the programs, and the home with the saved answers."""
    workspace = HostileWorkspace(base.resolve())
    root = workspace.root
    files = {
        "a.py": "x = 1\n",
        "package.json": '{"scripts": {"test": "true"}}\n',
        "Makefile": "test:\n\ttrue\n",
        "evil/package.json": '{"scripts": {"test": "true"}}\n',
        "evil/Makefile": "test:\n\ttrue\n",
        ".python-version": "mine\n",
        ".tool-versions": "node path:./mine\nruby path:./mine\n",
        ".venv/pyvenv.cfg": "home = /usr/bin\n",
        ".env": f"KEY={MARKER}\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/config": "[core]\n\trepositoryformatversion = 0\n\thooksPath = scripts/hooks\n",
        "scripts/hooks/README": "",
    }
    for name, text in files.items():
        _write(root / name, text)
    for folder in ("refs", "objects"):
        (root / ".git" / folder).mkdir()
    (root / "seen.txt").hardlink_to(root / ".env")
    program = f"#!/bin/sh\n: > '{workspace.trace}'\n"
    programs = [base / "programs" / name for name in STAND_INS]
    programs += [workspace.home / ".pyenv/shims" / name for name in SHIMS]
    programs += [root / name for name in (".venv/bin/python", "evil/run", "evil/npm", "evil/sh")]
    for path in programs:
        _write(path, program).chmod(0o755)
    patterns = tuple(CommandPattern(tuple(each.split()), root) for each in COVERED)
    store = RuleStore(workspace.home / "acp/permissions.json")
    store.add(root, PermissionRule(CommandScope(patterns), is_allowed=True))
    return workspace


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def build_attempts(workspace: HostileWorkspace) -> Iterator[WorkspaceAttempt]:
    """Yield the attempts; those of one group follow each other."""
    root = workspace.root

    def command(group: str, line: str) -> WorkspaceAttempt:
        return WorkspaceAttempt(
            group, LiveAttempt(f"{group}: {line}", root, "terminal", {"command": line})
        )

    yield from (command("beyond an always", each) for each in BEYOND_ALWAYS)
    for line in ("npm test", "make test", "git commit -m x"):
        arguments: dict[str, JsonValue] = {"command": line, "workdir": "evil"}
        name = f"beyond an always: {line} in evil/"
        yield WorkspaceAttempt("beyond an always", LiveAttempt(name, root, "terminal", arguments))
    yield from (command("a program of the workspace", each) for each in OF_THE_WORKSPACE)
    for name in RUN_BY_OTHERS:
        arguments = {"path": name, "content": "true\n"}
        call = LiveAttempt(f"run by others: {name}", root, "write_file", arguments)
        yield WorkspaceAttempt("run by others", call, root / name)
    yield from (command("keys of this process", each) for each in KEYS)
    for name, (tool, use) in HARD_LINKS.items():
        call = LiveAttempt(f"a hard link: {name}", root, tool, use)
        yield WorkspaceAttempt("a hard link", call, root / ".env", may_pass=tool == "search_files")
    for address in ADDRESSES:
        call = LiveAttempt(f"an address: {address}", root, "web_fetch", {"url": address})
        # It is refused without a question.
        yield WorkspaceAttempt("an address", call, may_pass=True)
