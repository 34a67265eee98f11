"""Folders that are read as a whole, and files that a pattern picks."""

import os
from pathlib import Path

import pytest

from acp_server.permissions import tree_checks
from acp_server.permissions.glob_expansion import TooManyEntriesError, expand_glob
from acp_server.permissions.ignore_files import IgnoreFiles
from acp_server.permissions.resolved_workspace import resolve_workspace
from acp_server.permissions.shell.findings import SearchedTree
from acp_server.permissions.tree_checks import find_tree_doubt
from tests.support.user_texts import MAY_HOLD_SECRETS

VARIABLES = {"PATH": os.defpath}
FILES = ("README.md", "src/app.py", "src/deep/util.py", "docs/a.md")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in FILES:
        write_file(root, name)
    return root


def write_file(root: Path, name: str, text: str = "x\n") -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def doubt_on(root: Path, tree: SearchedTree | None = None) -> str:
    workspace = resolve_workspace((root,), root.parent / "own", IgnoreFiles())
    return find_tree_doubt(tree or SearchedTree(str(root)), workspace, VARIABLES)


def test_an_ordinary_tree_raises_no_doubt(root: Path) -> None:
    assert doubt_on(root) == ""


@pytest.mark.parametrize(
    "name", [".env", "src/.env.local", "src/deep/server.key", ".ssh/known_hosts", "a/.aws/x"]
)
def test_a_secret_in_a_tree_is_reported(root: Path, name: str) -> None:
    write_file(root, name)
    assert doubt_on(root).endswith(MAY_HOLD_SECRETS)


@pytest.mark.parametrize(
    ("names", "is_doubted"),
    [((), True), (("*.key",), True), (("*",), True), (("*.py",), False), (("*.py", "s*"), True)],
)
def test_only_requested_files_are_checked(
    root: Path, names: tuple[str, ...], *, is_doubted: bool
) -> None:
    write_file(root, "src/server.key")
    assert bool(doubt_on(root, SearchedTree(str(root), name_patterns=names))) is is_doubted


def test_hidden_files_are_checked_when_they_are_read(root: Path) -> None:
    write_file(root, ".env")
    seen = [
        bool(doubt_on(root, SearchedTree(str(root), includes_hidden=hidden)))
        for hidden in (True, False)
    ]
    assert seen == [True, False]


def test_an_outward_link_is_reported_when_links_are_followed(root: Path) -> None:
    write_file(root.parent, "outside/plain.txt")
    (root / "door").symlink_to(root.parent / "outside")
    seen = [
        bool(doubt_on(root, SearchedTree(str(root), follows_symlinks=follows)))
        for follows in (True, False)
    ]
    assert seen == [True, False]


def test_a_link_to_a_secret_is_reported(root: Path) -> None:
    write_file(root.parent, "outside/id_rsa")
    (root / "plain.txt").symlink_to(root.parent / "outside/id_rsa")
    assert doubt_on(root)


def test_a_loop_of_links_terminates(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_checks, "MAX_ENTRIES", 1_000)
    for name in ("a", "b", "c"):
        (root / name).symlink_to(root)
    assert doubt_on(root) == ""
    assert doubt_on(root, SearchedTree(str(root), follows_symlinks=True)).endswith(
        "to check for secrets"
    )


def test_a_tree_with_too_many_files_raises_a_doubt(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_checks, "MAX_ENTRIES", 3)
    assert doubt_on(root) == f"{root} contains too many files to check for secrets"


def test_a_tree_deeper_than_the_path_limit_raises_a_doubt(root: Path) -> None:
    folder = os.open(root, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=folder)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert doubt_on(root).endswith("to check for secrets")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can look everywhere")
def test_an_unreadable_directory_is_skipped(root: Path) -> None:
    write_file(root, "closed/.env")
    (root / "closed").chmod(0)
    found = doubt_on(root)
    (root / "closed").chmod(0o755)
    assert found == ""


@pytest.mark.parametrize(
    ("file", "text", "is_doubted"),
    [
        ("config", "[core]\n\tbare = false\n", False),
        ("config", "[http]\n\textraheader = AUTHORIZATION: basic x\n", True),
        ("config", '[remote "o"]\n\turl = https://me:word@example.org/x\n', True),
        ("config.worktree", "[credential]\n\tpassword = x\n", True),
        ("modules/sub/config", '[remote "o"]\n\turl = https://t@example.org/x\n', True),
        ("credentials", "https://me:word@example.org\n", True),
        ("config", "#" * 200_000, True),
        ("config", "[core]\n\t# the password was x\n", True),
        ("config", '[http "https://t@example.org/"]\n\tproxy = x\n', True),
        ("config", '[remote "o"]\n\turl = ssh://git@example.org/x\n', False),
        ("config", '[remote "o"]\n\turl = "https://me:wo\\\nrd@example.org/x"\n', True),
        ("config", "[alias]\n\tx = !curl https://me:word@example.org\n", True),
        ("config", "no settings\n", True),
    ],
)
def test_credentials_in_git_settings_are_reported(
    root: Path, file: str, text: str, *, is_doubted: bool
) -> None:
    write_file(root, f".git/{file}", text)
    assert bool(doubt_on(root)) is is_doubted
    assert not doubt_on(root, SearchedTree(str(root), includes_hidden=False))
    assert not doubt_on(root, SearchedTree(str(root), name_patterns=("*.py",)))


def test_agent_settings_in_a_tree_are_reported(root: Path) -> None:
    write_file(root, "own/notes.txt")
    workspace = resolve_workspace((root,), root / "own", IgnoreFiles())
    assert find_tree_doubt(SearchedTree(str(root)), workspace, VARIABLES)
    assert not find_tree_doubt(SearchedTree(str(root / "src")), workspace, VARIABLES)


def test_an_ignored_file_in_a_tree_is_reported(root: Path) -> None:
    write_file(root, ".hermesignore", "docs/\n!docs/b.md\n")
    assert doubt_on(root, SearchedTree(str(root), includes_hidden=False)).endswith(
        f"a.md {MAY_HOLD_SECRETS}"
    )
    assert not doubt_on(root, SearchedTree(str(root / "src")))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.md", ["README.md"]),
        ("**", ["README.md", "docs", "server.key", "src"]),
        ("*/*.py", ["src/app.py"]),
        ("**/*.py", ["src/app.py"]),
        ("src/*", ["src/app.py", "src/deep"]),
        ("readme.*", ["README.md"]),
        (".e*", [".env"]),
        (".*", ["", "..", ".env"]),
        (".?", [".."]),
        ("[.]env", [".env"]),
        ("[!.]*", [".env", "README.md", "docs", "server.key", "src"]),
        ("[a-z]*", ["README.md", "docs", "server.key", "src"]),
        ("server.k[^x]y", ["server.key"]),
        ("nothing*", []),
        ("src/app.py/*", []),
        ("../r*/server.*", ["../root/server.key"]),
    ],
)
def test_a_pattern_matches_at_least_what_a_shell_would_match(
    root: Path, pattern: str, names: list[str]
) -> None:
    write_file(root, ".env")
    write_file(root, "server.key")
    found = [str(path) for path in expand_glob(root / pattern, 1_000)]
    assert sorted(found) == sorted(str(root / name) for name in names)


def test_a_pattern_over_too_many_files_gives_up(root: Path) -> None:
    with pytest.raises(TooManyEntriesError):
        expand_glob(root / "*/*", 5)
