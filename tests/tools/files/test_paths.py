"""What a name means, and where it leads."""

from pathlib import Path

import pytest

from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.files.errors import InvalidPathError
from acp_server.tools.files.paths import ResolvedPath, lexical_path, lock_key, resolve_path
from tests.support.case_table import each_case
from tests.support.user_texts import HAS_NUL_CHARACTER, ON_ANOTHER_MACHINE, PATH_IS_EMPTY

HOME = Path("/home/me")
WORKSPACE = SessionWorkspace(Path("/code"))


@each_case(
    ("given", "path"),
    [
        ("a.py", "/code/a.py"),
        ("./b/../a.py", "/code/a.py"),
        ("../a.py", "/a.py"),
        ("../../../a.py", "/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("//etc/hosts", "/etc/hosts"),
        ("src/", "/code/src"),
        (".", "/code"),
        ("~", "/home/me"),
        ("~/a.py", "/home/me/a.py"),
        ("~//etc/a.py", "/home/me/etc/a.py"),
        ("~a.py", "/code/~a.py"),
        (" a.py", "/code/ a.py"),
        ("file:///etc/a%20b.py", "/etc/a b.py"),
        ("file://localhost/etc/a.py", "/etc/a.py"),
        ("file:/etc/a.py#L10-20", "/etc/a.py"),
        ("FILE:///etc/%C3%A4", "/etc/ä"),
        ("file.py", "/code/file.py"),
        ("file:x", "/code/file:x"),
    ],
)
def test_a_path_is_made_absolute(given: str, path: str) -> None:
    assert lexical_path(given, WORKSPACE, HOME) == Path(path)


@each_case(
    ("given", "reason"),
    [
        ("", PATH_IS_EMPTY),
        (" \n", PATH_IS_EMPTY),
        ("a\0b", f"the path 'a\\x00b' {HAS_NUL_CHARACTER}"),
        ("file:///a%00b", f"the path '/a\\x00b' {HAS_NUL_CHARACTER}"),
        ("a/" + "b" * 256, "a name in the path is longer than 255 bytes"),
        ("ä" * 128, "a name in the path is longer than 255 bytes"),
        ("\ud800", "the path '\\ud800' has half a character in it"),
        ("file://host/a", f"'file://host/a' {ON_ANOTHER_MACHINE}; only local files can be used"),
        ("file://[/a", "'file://[/a' is not a file URI: Invalid IPv6 URL"),
    ],
)
def test_an_invalid_path_is_refused(given: str, reason: str) -> None:
    with pytest.raises(InvalidPathError) as caught:
        lexical_path(given, WORKSPACE, HOME)
    assert caught.value.reason == reason


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with links, beside a folder that is not in it."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "sub" / "a.py").touch()
    (root / "near").symlink_to("sub")
    (root / "far").symlink_to(tmp_path / "outside")
    (root / "dangling").symlink_to("sub/later.py")
    (root / "fleeing").symlink_to("../outside/later.py")
    (root / "circle").symlink_to("circle")
    return root


@pytest.mark.parametrize(
    ("given", "real", "where"),
    [
        ("sub/a.py", "root/sub/a.py", "inside"),
        ("near/a.py", "root/sub/a.py", "inside"),
        ("near/new/b.py", "root/sub/new/b.py", "inside"),
        ("far/b.py", "outside/b.py", "outside"),
        ("dangling", "root/sub/later.py", "inside"),
        ("fleeing", "outside/later.py", "outside"),
        ("../outside/x", "outside/x", "outside"),
        ("../root2/x", "root2/x", "outside"),
        ("circle", "root/circle", "inside"),
        (".", "root", "inside"),
    ],
)
def test_a_path_knows_its_link_target(root: Path, given: str, real: str, where: str) -> None:
    workspace = SessionWorkspace(root)
    top = root.parent
    path = lexical_path(given, workspace, HOME)
    stands = path if path.is_symlink() and path != top / real else None
    expected = ResolvedPath(given, path, top / real, where == "inside", stands)
    assert resolve_path(given, workspace, HOME) == expected


def test_a_path_in_an_additional_root_is_inside(root: Path) -> None:
    workspace = SessionWorkspace(root, (root.parent / "outside",))
    assert resolve_path("far/b.py", workspace, HOME).is_in_workspace


def test_a_linked_root_contains_the_files_of_its_target(root: Path) -> None:
    assert resolve_path("a.py", SessionWorkspace(root / "near"), HOME).is_in_workspace
    assert resolve_path(
        str(root / "sub" / "new"), SessionWorkspace(root / "near"), HOME
    ).is_in_workspace
    assert not resolve_path("../x", SessionWorkspace(root / "near"), HOME).is_in_workspace


def test_a_missing_root_contains_its_future_files(tmp_path: Path) -> None:
    assert resolve_path("a.py", SessionWorkspace(tmp_path / "later"), HOME).is_in_workspace


def test_a_root_with_another_spelling_is_the_same_root(root: Path) -> None:
    other = root.with_name("ROOT")
    if not other.exists():
        pytest.skip("this file system tells upper case from lower case")
    assert resolve_path(str(other / "sub" / "new.py"), SessionWorkspace(root), HOME).is_in_workspace


def test_spellings_that_may_be_the_same_file_share_one_lock() -> None:
    assert lock_key(Path("/code/\u00c4.txt")) == lock_key(Path("/code/a\u0308.TXT"))
    assert lock_key(Path("/code/a.txt")) != lock_key(Path("/code/b.txt"))
