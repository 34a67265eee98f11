"""Which bounds a command is given, and what the launchers make of them."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.tools.shell.confinement import launchers
from acp_server.tools.shell.confinement.launchers import MissingLauncher, perl_launcher
from acp_server.tools.shell.confinement.limits import SandboxLimits, find_git_directory
from acp_server.tools.shell.confinement.sandbox import (
    UNAVAILABLE,
    Sandbox,
    SessionSandbox,
    TerminalConfinement,
)
from acp_server.tools.shell.confinement.seatbelt import build_profile
from acp_server.tools.shell.editor_terminal import build_terminal_argv, has_sandbox_failed
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    make_network,
    needs_sandbox,
    open_confined,
)


@pytest.fixture
def ground(tmp_path: Path) -> SandboxDirectories:
    return create_directories(tmp_path)


def test_the_sandbox_scope_of_a_workspace(ground: SandboxDirectories) -> None:
    bounds = ground.make_scope().resolve_limits()
    private = (".ssh", ".aws", ".config/gh", ".netrc", ".bash_history")
    assert bounds == replace(
        bounds,
        writable=(ground.root, ground.temporary_directories, ground.make_scope().caches),
        opened=(ground.config_home / "skills",),
        readable=None,
        has_network=False,
    )
    ours = {path for path in bounds.hidden if path.is_relative_to(ground.home)}
    assert ours == {ground.config_home, *(ground.home / name for name in private)}


@needs_sandbox
async def test_cargo_sees_the_users_settings_and_changes_nothing_in_the_home(
    ground: SandboxDirectories,
) -> None:
    cargo_home = ground.home / ".cargo"
    cargo_home.mkdir()
    (cargo_home / "config.toml").write_text("[net]\n")
    (cargo_home / "credentials.toml").write_text("token")
    code = 'cat "$CARGO_HOME/config.toml"; ls "$CARGO_HOME"; mkdir "$CARGO_HOME/registry"'
    async with open_confined(ground) as session:
        for _ in range(2):
            outcome = await session.run(f"{code}; rmdir $CARGO_HOME/registry")
            assert outcome.output == "[net]\nconfig.toml\n"
    assert sorted(each.name for each in cargo_home.iterdir()) == ["config.toml", "credentials.toml"]


def test_the_strict_scope_lists_readable_paths(ground: SandboxDirectories) -> None:
    readable = ground.make_scope(replace(ground.config, mode="strict")).resolve_limits().readable
    assert readable is not None
    assert not any(ground.home.is_relative_to(path) for path in readable)
    assert Path("/usr") in readable


def _git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_the_repository_of_a_linked_worktree_is_writable_unless_forged(
    ground: SandboxDirectories,
) -> None:
    _git(ground.outside, "init", "-q")
    _git(ground.outside, "commit", "-q", "--allow-empty", "-m", "first")
    _git(ground.outside, "worktree", "add", "-q", str(ground.root / "tree"))
    assert find_git_directory(ground.root / "tree") == ground.outside / ".git"
    assert find_git_directory(ground.outside) is None
    (ground.outside / "sub").mkdir()
    assert find_git_directory(ground.outside / "sub") == ground.outside / ".git"
    forged = ground.root / "forged"
    forged.mkdir()
    for target in (ground.home, ground.outside / ".git" / "worktrees" / "tree"):
        (forged / ".git").write_text(f"gitdir: {target}\n")
        assert find_git_directory(forged) is None
    (forged / ".git").unlink()
    (forged / ".git").symlink_to(ground.home)
    assert find_git_directory(forged) is None


@needs_sandbox
async def test_git_works_in_the_workspace(ground: SandboxDirectories) -> None:
    async with open_confined(ground) as session:
        outcome = await session.run(
            "git init -q . && echo a > a && git add a && git commit -qm first && git log --oneline"
        )
    assert outcome.ended.exit.code == 0, outcome.output
    assert "first" in outcome.output


@needs_sandbox
async def test_git_works_in_a_linked_worktree(ground: SandboxDirectories) -> None:
    _git(ground.outside, "init", "-q")
    _git(ground.outside, "commit", "-q", "--allow-empty", "-m", "first")
    tree = ground.home / "tree"
    _git(ground.outside, "worktree", "add", "-q", str(tree))
    async with open_confined(replace(ground, root=tree)) as shell:
        outcome = await shell.run("echo a > a && git add a && git commit -qm second && git status")
    assert outcome.ended.exit.code == 0, outcome.output


BOUNDS = SandboxLimits((Path("/w"),), (Path("/h/.ssh"), Path("/w/own")), (Path("/w/own/skills"),))


def test_the_arguments_of_the_linux_launcher() -> None:
    arguments = perl_launcher("/usr/bin/perl").build_arguments(BOUNDS, {"PERL5LIB": "a b"})
    assert arguments[0] == "/usr/bin/perl"
    assert arguments[2:] == (
        *("write=/w", "hide=/h/.ssh", "hide=/w/own", "open=/w/own/skills", "net=closed"),
        *("var=PERL5LIB=a b", "--"),
    )


def test_no_perl_of_a_workspace_confines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "perl").write_text("#!/bin/sh\n")
    (tmp_path / "perl").chmod(0o755)
    searched: list[str] = []

    def find(name: str, search_path: str) -> str | None:
        searched.extend(search_path.split(os.pathsep))
        return None if name == "perl" else name

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(launchers, "find_program", find)
    path = os.pathsep.join((str(tmp_path), "bin", "", "/opt/perl/bin"))
    assert launchers.find_launcher({"PATH": path}) == MissingLauncher(
        "perl is not installed", "install perl"
    )
    assert searched == ["/usr/bin", "/bin", "/opt/perl/bin"]


def test_the_macos_profile_denies_before_it_allows() -> None:
    lines = build_profile(BOUNDS).splitlines()
    rules = [
        "(deny network*)",
        "(deny file-write*)",
        '(allow file-read-data file-write* (subpath "/w"))',
        '(deny file-read-data file-write* (subpath "/h/.ssh") (subpath "/w/own"))',
        '(allow file-read-data (subpath "/w/own/skills"))',
    ]
    assert [line for line in lines if line in rules] == rules


def test_the_macos_profile_for_the_strict_scope_with_network() -> None:
    bounds = replace(BOUNDS, readable=(Path("/usr"), Path('/a "b"\\')), has_network=True)
    lines = build_profile(bounds).splitlines()
    assert "(deny network*)" not in lines
    assert "(deny network-outbound (remote unix-socket))" in lines
    assert "(deny file-read-data)" in lines
    assert (
        '(allow file-read-data (subpath "/usr") (subpath "/a \\"b\\"\\\\") (subpath "/dev"))'
        in lines
    )


async def test_a_missing_sandbox_is_reported_once(ground: SandboxDirectories) -> None:
    looks: list[str] = []

    def find() -> MissingLauncher:
        looks.append("look")
        return MissingLauncher("there is none")

    sandbox = Sandbox(ground.config, {}, find)
    session = SessionSandbox(sandbox, ground.make_scope(), make_network())
    messages: list[str] = []
    for _ in range(2):
        await sandbox.announce(messages.append)
        assert await session.status(is_unconfined=True) == "unprotected"
        assert await session.wrap_command({"A": "b"}) == ((), {"A": "b"})
    assert messages == [UNAVAILABLE.format(reason="there is none", remedy="")]
    assert looks == ["look"]


async def test_a_run_without_perl_says_what_to_install_and_that_nobody_is_asked(
    ground: SandboxDirectories,
) -> None:
    missing = MissingLauncher("perl is not installed", "install perl")
    messages: list[str] = []
    await Sandbox(ground.config, {}, lambda: missing).announce(messages.append, is_unattended=True)
    told = (
        "The sandbox does not work on this machine: perl is not installed. To use it, install "
        "perl. Until then, the rules of this run alone decide about every command. To do without "
        "it, set `sandbox.mode: off`."
    )
    assert messages == [told]


async def test_a_disabled_sandbox_is_not_searched_for(ground: SandboxDirectories) -> None:
    def find() -> MissingLauncher:
        raise AssertionError

    config = replace(ground.config, mode="off")
    scope = ground.make_scope(config)
    session = SessionSandbox(Sandbox(config, {}, find), scope, make_network())
    assert await session.status(is_unconfined=True) == "free"
    assert await session.wrap_command({}) == ((), {})


def test_a_confined_command_runs_only_if_its_launcher_exists(tmp_path: Path) -> None:
    there = tmp_path / "launcher"
    there.write_text("")
    for files, code, output in (((str(there),), 0, "hello\n"), ((str(there), "/none"), 121, None)):
        argv = build_terminal_argv("echo hello", (), TerminalConfinement(("/usr/bin/env",), files))
        completed = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert completed.returncode == code
        assert has_sandbox_failed(completed.returncode, completed.stdout) is (output is None)
        assert output is None or completed.stdout == output
