"""The facts of a real disk: what is inside, what is protected, and what a command would touch."""

import os
from pathlib import Path

import pytest

from acp_server.permissions.effects import FileTarget, ReadFiles, RunCommandEffect, WriteFiles
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import CommandFacts, FileFacts
from acp_server.permissions.reasons import GIT_OWN_FILES
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.display_paths import target_for
from acp_server.tools.files.paths import resolve_path
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.shell.confinement.limits import SandboxScope
from tests.permissions.secret_workspace import SecretWorkspace, create_secret_workspace
from tests.support.case_table import each_case


@pytest.fixture
def stage(tmp_path: Path) -> SecretWorkspace:
    return create_secret_workspace(tmp_path)


def fact_collector_of(stage: SecretWorkspace, *additional: Path) -> FactCollector:
    return FactCollector((stage.root, *additional), stage.home, stage.config_home)


def target(stage: SecretWorkspace, name: str, *additional: Path) -> FileTarget:
    return target_for(resolve_path(name, SessionWorkspace(stage.root, additional), stage.home))


def facts_on(stage: SecretWorkspace, act: str, *names: str) -> FileFacts:
    targets = tuple(target(stage, name) for name in names)
    facts = fact_collector_of(stage).collect(
        ReadFiles(targets) if act == "read" else WriteFiles(targets)
    )
    assert isinstance(facts, FileFacts)
    return facts


def doubts_on(stage: SecretWorkspace, command: str, workdir: str = ".") -> tuple[str, ...]:
    facts = fact_collector_of(stage).collect(RunCommandEffect(command, target(stage, workdir)))
    assert isinstance(facts, CommandFacts)
    return (*facts.doubts, *map(str, facts.outside))


def test_an_ordinary_workspace_file_has_no_special_facts(stage: SecretWorkspace) -> None:
    file = stage.root / "src/app.py"
    assert facts_on(stage, "read", "src/app.py") == FileFacts(
        "read", (file,), coverable_directory=file.parent
    )


def test_a_link_out_of_the_workspace_counts_as_outside(stage: SecretWorkspace) -> None:
    target_file = stage.outside / "plans.txt"
    assert facts_on(stage, "read", "far.txt") == FileFacts(
        "read", (target_file,), outside=(target_file,), coverable_directory=stage.outside
    )


def test_a_link_to_a_secret_is_protected(stage: SecretWorkspace) -> None:
    facts = facts_on(stage, "read", "harmless.txt")
    assert facts.protected == (stage.root / "harmless.txt",)


def test_a_link_from_outside_is_read_inside_but_written_outside(stage: SecretWorkspace) -> None:
    link = stage.outside / "inward.py"
    assert facts_on(stage, "read", str(link)).outside == ()
    assert facts_on(stage, "write", str(link)).outside == (link,)


def test_an_always_rule_for_a_read_directory_covers_only_that_directory(
    stage: SecretWorkspace,
) -> None:
    assert facts_on(stage, "read", str(stage.outside)).coverable_directory == stage.outside


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("/etc/passwd", "src/app.py"), id="the whole disk"),
        pytest.param(("/passwd",), id="a file at its top"),
        pytest.param(("..",), id="what holds the workspace"),
        pytest.param(("~/.bashrc",), id="the home folder"),
    ],
)
def test_no_always_rule_covers_an_overly_broad_directory(
    stage: SecretWorkspace, names: tuple[str, ...]
) -> None:
    assert facts_on(stage, "read", *names).coverable_directory is None


def test_the_scope_of_several_files_is_their_common_directory(stage: SecretWorkspace) -> None:
    facts = facts_on(stage, "write", "src/app.py", "src/deep/util.py")
    assert (facts.coverable_directory, facts.outside, facts.protected) == (
        stage.root / "src",
        (),
        (),
    )


def test_a_workspace_reached_through_a_link_is_inside(stage: SecretWorkspace) -> None:
    link = stage.base / "alias"
    link.symlink_to(stage.root)
    aliased = SecretWorkspace(stage.base)
    aliased.root = link
    found = facts_on(aliased, "write", "src/app.py")
    assert (found.files, found.outside) == ((stage.root / "src/app.py",), ())
    assert facts_on(aliased, "read", ".env").protected == (link / ".env",)


def test_an_additional_directory_is_inside_and_its_secrets_are_protected(
    stage: SecretWorkspace,
) -> None:
    (stage.outside / ".hermesignore").write_text("plans.txt\n")
    surveyor = fact_collector_of(stage, stage.outside)
    plain_target = target(stage, str(stage.outside / "a.txt"), stage.outside)
    assert surveyor.collect(ReadFiles((plain_target,))) == FileFacts(
        "read", (stage.outside / "a.txt",), coverable_directory=stage.outside
    )
    assert surveyor.is_protected(stage.outside / "plans.txt")


def test_a_workspace_inside_a_git_directory_is_not_itself_protected(stage: SecretWorkspace) -> None:
    surveyor = FactCollector((stage.root / ".git",), stage.home, stage.config_home)
    assert not surveyor.is_protected(stage.root / ".git/hooks/pre-commit")


@each_case(
    ("name", "is_protected"),
    [
        ("private", True),
        ("private/plan.txt", True),
        ("PRIVATE/plan.txt", True),
        ("src/private/x", True),
        ("idea.draft", True),
        ("src/IDEA.Draft", True),
        ("public.draft", False),
        ("src/app.py", False),
        ("agent", True),
        ("agent/config.yaml", True),
        ("AGENT/config.yaml", True),
        ("agent/skills/x/SKILL.md", False),
        ("agent/memories/x.md", False),
        (".", False),
    ],
)
def test_the_ignore_file_and_the_settings_protect_paths(
    stage: SecretWorkspace, name: str, *, is_protected: bool
) -> None:
    assert fact_collector_of(stage).is_protected(stage.root / name) is is_protected


def test_a_changed_ignore_file_takes_effect(stage: SecretWorkspace) -> None:
    surveyor, file = fact_collector_of(stage), stage.root / "src/app.py"
    seen = [surveyor.is_protected(file)]
    for text in ("src/*.py\n", "src/*.md\n", "src/*\n!src/app.py\n", "\ufeffsrc/\r\n", "# src\n"):
        stage.write_file(".hermesignore", text)
        seen.append(surveyor.is_protected(file))
    (stage.root / ".hermesignore").unlink()
    seen.append(surveyor.is_protected(file))
    assert seen == [False, True, False, False, True, False, False]


@pytest.mark.parametrize(
    "text", [b"x\n" * 60_000, b"a\0b\n" * 30_000], ids=["too long", "too long and odd"]
)
def test_an_unparsable_ignore_file_protects_everything(stage: SecretWorkspace, text: bytes) -> None:
    (stage.root / ".hermesignore").write_bytes(text)
    assert fact_collector_of(stage).is_protected(stage.root / "src/app.py")


def test_a_circular_ignore_file_link_protects_everything(stage: SecretWorkspace) -> None:
    (stage.root / ".hermesignore").unlink()
    (stage.root / ".hermesignore").symlink_to(stage.root / "round")
    assert fact_collector_of(stage).is_protected(stage.root / "src/app.py")


def test_a_named_pipe_as_ignore_file_protects_everything_without_blocking(
    stage: SecretWorkspace,
) -> None:
    (stage.root / ".hermesignore").unlink()
    os.mkfifo(stage.root / ".hermesignore")
    assert fact_collector_of(stage).is_protected(stage.root / "src/app.py")


def test_a_path_whose_target_changed_is_reported_as_moved(stage: SecretWorkspace) -> None:
    surveyor, looked_at = fact_collector_of(stage), target(stage, "src/app.py")
    effects = (ReadFiles((looked_at,)), WriteFiles((looked_at,)), RunCommandEffect("ls", looked_at))
    assert [surveyor.has_moved(effect) for effect in effects] == [False] * 3
    (stage.root / "src").rename(stage.root / "old")
    (stage.root / "src").symlink_to(stage.outside)
    assert [surveyor.has_moved(effect) for effect in effects] == [True] * 3


@pytest.mark.parametrize(
    "command",
    ["pytest .env", "pytest --cov=.env", "ruff check harmless.txt", "git add private/plan.txt",
     "pytest ../outside", "pytest /elsewhere", "pytest -c.env",
     "pytest door/test_x.py"],
)  # fmt: skip
def test_no_always_rule_covers_a_command_that_names_a_protected_path(
    stage: SecretWorkspace, command: str
) -> None:
    assert doubts_on(stage, command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q src/app.py::test_x",
        "go test ./...",
        "git commit -m 'a/b'",
        "git checkout my/branch",
    ],
)
def test_an_always_rule_covers_a_command_that_stays_inside(
    stage: SecretWorkspace, command: str
) -> None:
    assert doubts_on(stage, command) == ()


@pytest.mark.parametrize("text", ["ls\n", "pytest\n", "y\n"])
def test_input_to_a_running_command_is_doubtful(stage: SecretWorkspace, text: str) -> None:
    facts = fact_collector_of(stage).collect(
        RunCommandEffect(text, target(stage, "."), is_input=True)
    )
    assert isinstance(facts, CommandFacts)
    assert facts.doubts == ("This is sent to a running command, which could do anything with it",)


def test_a_command_run_outside_the_workspace_is_doubtful(stage: SecretWorkspace) -> None:
    assert doubts_on(stage, "pytest", "door") == ("This runs outside the workspace",)


def test_a_directory_laid_out_as_a_repository_is_doubtful(stage: SecretWorkspace) -> None:
    stage.write_file("src/HEAD", "ref: refs/heads/main\n")
    doubts = (GIT_OWN_FILES,)
    found = [doubts_on(stage, "git status", folder) for folder in (".", "src", "src/deep")]
    assert found == [(), doubts, doubts]


@each_case(
    ("address", "is_told"),
    [
        ("https://example.org/x", False),
        ("git@example.org:me/x", False),
        ("ssh://git@example.org/x", False),
        ("https://token123@example.org/x", True),
        ("https://me:word@example.org/x", True),
        ("ftp://me:word@example.org/x", True),
    ],
)
@each_case("command", ["git remote -v", "git config --get remote.origin.url",
    "git 're'mote -v | cat", "grep -r x ."])  # fmt: skip
def test_a_url_with_a_password_is_a_secret(
    tmp_path: Path, address: str, command: str, *, is_told: bool
) -> None:
    stage = SecretWorkspace(tmp_path)
    stage.write_file(".git/config", f'[remote "origin"]\n\turl = {address}\n')
    assert bool(doubts_on(stage, command)) is is_told


def test_a_profile_protects_the_home_that_it_belongs_to(tmp_path: Path) -> None:
    home = tmp_path / "home"
    profile = home / "profiles" / "work"
    for name in ("skills", "memories"):
        (profile / name).mkdir(parents=True)
    workspace = FactCollector((tmp_path,), tmp_path, profile)
    closed = (
        home / "auth.json",
        home / "acp" / "trust.json",
        home / "profiles" / "play" / "skills",
    )
    assert all(map(workspace.is_protected, (*closed, profile / "config.yaml")))
    opened = (profile / "skills" / "a.md", home / "notes.txt", tmp_path / "project" / "a.py")
    assert not any(map(workspace.is_protected, opened))


def test_commands_of_a_profile_do_not_see_the_home_that_it_belongs_to(tmp_path: Path) -> None:
    home = tmp_path / "home"
    profile = home / "profiles" / "work"
    (profile / "skills").mkdir(parents=True)
    (home / "auth.json").write_text("{}")
    scope = SandboxScope((tmp_path / "project",), SandboxConfig(), tmp_path, profile, {})
    limits = scope.resolve_limits()
    assert {home / "auth.json", home / "profiles", profile} <= set(limits.hidden)
    assert profile / "skills" in limits.opened
