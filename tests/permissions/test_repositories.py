"""Commands of git's that only look, in repositories that bring programs or tracked secrets."""

import os
import subprocess
from pathlib import Path

import pytest

from acp_server.permissions.git_checks import find_git_doubt
from acp_server.permissions.ignore_files import IgnoreFiles
from acp_server.permissions.resolved_workspace import ResolvedWorkspace, resolve_workspace

PROGRAMS = "the git configuration of this repository names programs that git would run"
TRACKED_FILE_DOUBT = ".env is tracked by git, and its changes may be shown"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a commit of an ordinary file."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    git(root, "init", "-q")
    git(root, "add", "a.txt")
    return root


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def workspace_of(root: Path) -> ResolvedWorkspace:
    return resolve_workspace([root], root.parent / "own", IgnoreFiles())


@pytest.mark.parametrize("command", ["git status", "git diff", "git log -p", "git show HEAD", "ls"])
def test_an_ordinary_repository_does_not_require_asking(root: Path, command: str) -> None:
    assert find_git_doubt(command, root, workspace_of(root)) == ""


@pytest.mark.parametrize(
    "setting",
    [
        ("diff.external", "./show"),
        ("diff.word.textconv", "./show"),
        ("diff.word.command", "./show"),
        ("filter.big.clean", "./clean"),
        ("filter.big.process", "./clean"),
        ("include.path", "../gitinc"),
        ("gpg.program", "./gpg"),
        ("gpg.ssh.program", "./gpg"),
        ("remote.origin.uploadpack", "./pack"),
        ("remote.origin.vcs", "own"),
        ("core.gitProxy", "./proxy"),
        ("credential.helper", "./help"),
        ("protocol.ext.allow", "always"),
        ("includeIf.gitdir:/.path", "../gitinc"),
    ],
    ids=lambda setting: setting[0],
)
def test_git_settings_that_name_programs_require_asking(
    root: Path, setting: tuple[str, str]
) -> None:
    git(root, "config", *setting)
    assert find_git_doubt("git diff", root, workspace_of(root)) == PROGRAMS
    assert find_git_doubt("git status", root, workspace_of(root)) == PROGRAMS
    assert find_git_doubt("ls", root, workspace_of(root)) == ""


@pytest.mark.parametrize("line", ['[diff "a]b"] textconv = ./show', "[core] [include] path = x"])
def test_a_setting_on_the_line_of_its_section_requires_asking(root: Path, line: str) -> None:
    with (root / ".git/config").open("a") as file:
        file.write(line + "\n")
    git(root, "config", "--list")
    assert find_git_doubt("git diff", root, workspace_of(root)) == PROGRAMS


def test_settings_too_long_to_be_read_require_asking(root: Path) -> None:
    with (root / ".git/config").open("a") as file:
        file.write("# long\n" * 20_000 + "[diff]\n external = ./show\n")
    assert find_git_doubt("git diff", root, workspace_of(root)) == PROGRAMS


def test_git_settings_of_a_common_directory_are_followed(root: Path) -> None:
    (root / "common").mkdir()
    (root / "common/config").write_text("[diff]\n\texternal = ./show\n")
    (root / ".git/commondir").write_text("../common\n")
    assert find_git_doubt("git diff", root, workspace_of(root)) == PROGRAMS


@pytest.mark.parametrize("name", ["sub", "deep/sub"])
@pytest.mark.parametrize("is_absorbed", [False, True])
def test_git_settings_of_a_submodule_are_followed(
    root: Path, name: str, *, is_absorbed: bool
) -> None:
    sub = root / name
    sub.mkdir(parents=True)
    (sub / "b.txt").write_text("two\n")
    git(sub, "init", "-q")
    git(sub, "add", "b.txt")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(sub, *identity, "commit", "-q", "-m", "a file")
    git(root, *identity, "add", name)
    if is_absorbed:
        (root / ".gitmodules").write_text(f'[submodule "{name}"]\n path = {name}\n url = ./x\n')
        git(root, "submodule", "absorbgitdirs")
    assert find_git_doubt("git status", root, workspace_of(root)) == ""
    assert find_git_doubt("git status", sub, workspace_of(root)) == ""
    git(sub, "config", "filter.big.clean", "./clean")
    assert find_git_doubt("git status", root, workspace_of(root)) == PROGRAMS
    git(sub, "config", "--unset", "filter.big.clean")
    git(root, "update-index", "--index-version", "4")
    assert "cannot be checked" in find_git_doubt("git status", root, workspace_of(root))


def test_git_settings_that_name_another_work_tree_require_asking(root: Path) -> None:
    git(root, "config", "core.worktree", "..")
    assert find_git_doubt("git diff", root, workspace_of(root)) == ""
    git(root, "config", "core.worktree", str(root.parent))
    assert "other files" in find_git_doubt("git diff", root, workspace_of(root))


def test_a_git_file_pointing_into_the_workspace_is_followed(root: Path) -> None:
    (root / ".git").rename(root / "dotgit")
    (root / ".git").write_text("gitdir: dotgit\n")
    git(root, "config", "diff.external", "./show")
    assert find_git_doubt("git diff", root, workspace_of(root)) == PROGRAMS


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        ("git diff", TRACKED_FILE_DOUBT),
        ("git show", TRACKED_FILE_DOUBT),
        ("git log -p", TRACKED_FILE_DOUBT),
        ("git log -Skey --all", TRACKED_FILE_DOUBT),
        ("git status -v -v", TRACKED_FILE_DOUBT),
        ("git log", ""),
        ("git status", ""),
        ("git branch", ""),
    ],
)
def test_commands_that_show_changes_may_reveal_a_tracked_secret(
    root: Path, command: str, doubt: str
) -> None:
    (root / ".env").write_text("KEY=1\n")
    git(root, "add", "-f", ".env")
    assert find_git_doubt(command, root, workspace_of(root)) == doubt


def test_an_unreadable_index_is_assumed_to_contain_secrets(root: Path) -> None:
    git(root, "update-index", "--index-version", "4")
    assert find_git_doubt("git diff", root, workspace_of(root)) == TRACKED_FILE_DOUBT


@pytest.mark.parametrize("name", ["index", "config"])
def test_a_named_pipe_in_the_git_directory_does_not_block(root: Path, name: str) -> None:
    (root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(root / ".git" / name)
    assert find_git_doubt("git diff", root, workspace_of(root)) == ""
