"""Commands of git's that only look, in repositories that bring programs or tracked secrets."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from acp_server.permissions import reasons
from acp_server.permissions.git_checks import find_git_doubt
from acp_server.permissions.ignore_files import IgnoreFiles
from acp_server.permissions.resolved_workspace import ResolvedWorkspace, resolve_workspace
from acp_server.permissions.shell.assessment import assess

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org")
PROGRAMS = reasons.GIT_PROGRAMS
LEADS_ELSEWHERE = reasons.GIT_LEADS_ELSEWHERE
TRACKED_FILE_DOUBT = reasons.tracked(".env")


@pytest.fixture(scope="module")
def repository_to_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with an ordinary file in its index; a copy costs less than two runs of git."""
    root = tmp_path_factory.mktemp("repository")
    (root / "a.txt").write_text("one\n")
    git(root, "init", "-q")
    git(root, "add", "a.txt")
    return root


@pytest.fixture
def root(tmp_path: Path, repository_to_copy: Path) -> Path:
    """A repository of the test's own."""
    return shutil.copytree(repository_to_copy, tmp_path / "root")


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def workspace_of(root: Path) -> ResolvedWorkspace:
    return resolve_workspace([root], root.parent / "own", IgnoreFiles())


def doubt_on(command: str, folder: Path) -> str:
    assessment = assess(command, str(folder))
    return find_git_doubt(assessment, folder, workspace_of(folder), {"PATH": os.defpath})


@pytest.mark.parametrize("command", ["git status", "git diff", "git log -p", "git show HEAD", "ls"])
def test_an_ordinary_repository_does_not_require_asking(root: Path, command: str) -> None:
    assert doubt_on(command, root) == ""


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
        ("gc.recentObjectsHook", "./hook"),
        ("includeIf.gitdir:/.path", "../gitinc"),
    ],
    ids=lambda setting: setting[0],
)
def test_git_settings_that_name_programs_require_asking(
    root: Path, setting: tuple[str, str]
) -> None:
    git(root, "config", *setting)
    assert doubt_on("git diff", root) == PROGRAMS
    assert doubt_on("git status", root) == PROGRAMS
    assert doubt_on("ls", root) == ""


@pytest.mark.parametrize("line", ['[diff "a]b"] textconv = ./show', "[core] [include] path = x"])
def test_a_setting_on_the_line_of_its_section_requires_asking(root: Path, line: str) -> None:
    with (root / ".git/config").open("a") as file:
        file.write(line + "\n")
    git(root, "config", "--list")
    assert doubt_on("git diff", root) == PROGRAMS


def test_settings_too_long_to_be_read_require_asking(root: Path) -> None:
    with (root / ".git/config").open("a") as file:
        file.write("# long\n" * 20_000 + "[diff]\n external = ./show\n")
    assert doubt_on("git diff", root) == PROGRAMS


def test_git_settings_of_a_common_directory_are_followed(root: Path) -> None:
    shutil.copytree(root / ".git", root / "common")
    with (root / "common/config").open("a") as file:
        file.write("[diff]\n\texternal = ./show\n")
    (root / ".git/commondir").write_text("../common\n")
    assert doubt_on("git diff", root) == PROGRAMS


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
    git(sub, *IDENTITY, "commit", "-q", "-m", "a file")
    git(root, *IDENTITY, "add", name)
    if is_absorbed:
        (root / ".gitmodules").write_text(f'[submodule "{name}"]\n path = {name}\n url = ./x\n')
        git(root, "submodule", "absorbgitdirs")
    assert doubt_on("git status", root) == ""
    assert doubt_on("git status", sub) == ""
    git(sub, "config", "filter.big.clean", "./clean")
    assert doubt_on("git status", root) == PROGRAMS
    git(sub, "config", "--unset", "filter.big.clean")
    git(root, "update-index", "--index-version", "4")
    assert doubt_on("git status", root) == ""


def test_git_settings_that_name_another_work_tree_require_asking(root: Path) -> None:
    git(root, "config", "core.worktree", "..")
    assert doubt_on("git diff", root) == ""
    git(root, "config", "core.worktree", str(root.parent))
    assert "other files" in doubt_on("git diff", root)


def test_a_git_file_pointing_into_the_workspace_is_followed(root: Path) -> None:
    (root / ".git").rename(root / "dotgit")
    (root / ".git").write_text("gitdir: dotgit\n")
    git(root, "config", "diff.external", "./show")
    assert doubt_on("git diff", root) == PROGRAMS


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        ("git diff", ""),
        ("git diff --cached", ""),
        ("git diff HEAD~1", TRACKED_FILE_DOUBT),
        ("git show", TRACKED_FILE_DOUBT),
        ("git log -p", TRACKED_FILE_DOUBT),
        ("git log -SKEY --all", TRACKED_FILE_DOUBT),
        ("git status -v -v", ""),
        ("git log", ""),
        ("git status", ""),
        ("git branch", ""),
    ],
)
def test_commands_that_show_changes_may_reveal_a_tracked_secret(
    root: Path, command: str, doubt: str
) -> None:
    git(root, *IDENTITY, "commit", "-q", "-m", "without it")
    (root / ".env").write_text("KEY=1\n")
    git(root, "add", "-f", ".env")
    git(root, *IDENTITY, "commit", "-q", "-m", "all")
    assert doubt_on(command, root) == doubt


@pytest.mark.parametrize(
    ("command", "is_asked"),
    [
        ("git diff", (False, True)),
        ("git diff --cached", (True, False)),
        ("git diff HEAD", (True, True)),
        ("git diff a.txt", (False, False)),
        ("git diff -- a.txt", (False, False)),
        ("git diff -- .env", (False, True)),
        ("git diff --stat", (False, False)),
        ("git status -v", (True, True)),
        ("git status", (False, False)),
    ],
)
def test_a_difference_is_judged_by_the_files_that_it_shows(
    root: Path, command: str, is_asked: tuple[bool, bool]
) -> None:
    (root / ".env").write_text("KEY=1\n")
    git(root, "add", "-f", ".env")
    git(root, *IDENTITY, "commit", "-q", "-m", "all")
    (root / "a.txt").write_text("changed\n")
    assert doubt_on(command, root) == ""
    (root / ".env").write_text("KEY=2\n")
    is_asked_unstaged = doubt_on(command, root) == TRACKED_FILE_DOUBT
    git(root, "add", "-f", ".env")
    is_asked_staged = doubt_on(command, root) == TRACKED_FILE_DOUBT
    assert (is_asked_staged, is_asked_unstaged) == is_asked


def test_compressed_names_in_the_index_are_read(root: Path) -> None:
    (root / ".env").write_text("KEY=1\n")
    git(root, "add", "-f", ".env")
    git(root, "update-index", "--index-version", "4")
    (root / ".env").write_text("KEY=2\n")
    assert doubt_on("git diff", root) == TRACKED_FILE_DOUBT


@pytest.mark.parametrize("name", ["index", "config"])
def test_a_named_pipe_in_the_git_directory_does_not_block(root: Path, name: str) -> None:
    (root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(root / ".git" / name)
    assert "cannot be checked" in doubt_on("git diff", root)


def test_a_linked_work_tree_does_not_require_asking(root: Path) -> None:
    git(root, *IDENTITY, "commit", "-q", "-m", "first")
    tree = root.parent / "tree"
    git(root, "worktree", "add", "-q", str(tree))
    assert doubt_on("git log -p", tree) == ""
    # Another directory with the same pointer is not the one that git knows.
    copy = root.parent / "copy"
    shutil.copytree(tree, copy)
    assert doubt_on("git log -p", copy) == LEADS_ELSEWHERE


def test_a_submodule_that_is_opened_alone_does_not_require_asking(root: Path) -> None:
    git(root, *IDENTITY, "commit", "-q", "-m", "first")
    inner = root / "inner"
    allowed = ("-c", "protocol.file.allow=always")
    git(root, *allowed, "submodule", "--quiet", "add", str(root), "inner")
    assert (inner / ".git").is_file()
    assert doubt_on("git log -p", inner) == ""


def test_a_directory_of_a_repository_does_not_require_asking(root: Path) -> None:
    (root / "part").mkdir()
    assert doubt_on("git status", root / "part") == ""


@pytest.mark.parametrize(
    ("link", "target", "doubt"),
    [
        (".git/hooks/pre-commit", "/etc/hostname", ""),
        (".git/info/exclude", "../../a.txt", ""),
        (".git/ORIG_HEAD", "HEAD", ""),
        (".git/info/exclude", "../../.env", "elsewhere, which `git` would read"),
        (".git/info/exclude", "/etc/hostname", "elsewhere, which `git` would read"),
        (".git/objects/ab", "/etc", "elsewhere, which `git` would read"),
        (".git/objects/pack", "/etc", "elsewhere, which `git` would read"),
        (".git/refs", "/etc", "elsewhere, which `git` would read"),
        (".git/logs", "/etc", "elsewhere, which `git` would read"),
    ],
)
def test_a_link_in_a_git_directory_is_followed(
    root: Path, link: str, target: str, doubt: str
) -> None:
    path = root / link
    if path.is_dir():
        shutil.copytree(path, root / "refs")
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    found = doubt_on("git check-ignore x", root)
    # Without references it is no repository any more.
    assert found.endswith(doubt)
    assert bool(found) == bool(doubt)


@pytest.mark.parametrize(
    ("key", "value", "is_harmless"),
    [
        ("blame.ignoreRevsFile", ".git-blame-ignore-revs", True),
        ("core.excludesFile", "a.txt", True),
        ("core.attributesFile", "link", False),
        ("core.excludesFile", "~/.gitignore", False),
        ("core.excludesFile", ".env", False),
        ("blame.ignoreRevsFile", "/etc/hostname", False),
    ],
)
def test_files_that_settings_name_must_be_readable(
    root: Path, key: str, value: str, *, is_harmless: bool
) -> None:
    (root / "link").symlink_to("/etc/hostname")
    git(root, "config", key, value)
    assert (doubt_on("git status", root) == "") is is_harmless


@pytest.mark.parametrize(
    ("line", "is_harmless"),
    [("# none", True), ("../../spare", True), ("/etc", False), ('"/etc"', False), ("a\0b", False)],
)
def test_borrowed_objects_must_be_in_the_workspace(
    root: Path, line: str, *, is_harmless: bool
) -> None:
    (root / "spare").mkdir()
    (root / ".git/objects/info/alternates").write_text(f"{line}\n")
    assert (doubt_on("git log", root) == "") is is_harmless
