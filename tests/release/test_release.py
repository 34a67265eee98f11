"""A release: versions, notes, and builds that have the same bytes anywhere."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acp_server.version import __version__

ROOT = Path(__file__).parents[2]
FILES = (
    ".ci/release.py",
    "acp_server/version.py",
    "CHANGELOG.md",
    "editors/vscode/CHANGELOG.md",
    "editors/vscode/package.json",
    "editors/vscode/package-lock.json",
    "editors/zed/registry/hermes-acp-server/agent.json",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the files that name the version."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    git(tmp_path, "init", "--quiet")
    return tmp_path


def git(tree: Path, *words: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@localhost")
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout


def commit(tree: Path) -> None:
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "A state")


def release(tree: Path, *words: str) -> tuple[int, str]:
    """Run the release command; return its exit code and stderr."""
    command = [sys.executable, ".ci/release.py", *words]
    done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    return done.returncode, done.stderr


def describe(tree: Path, version: str) -> None:
    """Write a section on a version into both change logs, as maintainers do."""
    for name in ("editors/vscode/CHANGELOG.md", "CHANGELOG.md"):
        path = tree / name
        title = version if "vscode" in name else "Unreleased"
        path.write_text(f"# Changelog\n\n## {title}\n\n- All new.\n", encoding="utf-8")


def test_prepare_writes_the_version_wherever_it_stands(tree: Path) -> None:
    describe(tree, "7.8.9")
    assert release(tree, "prepare", "7.8.9")[0] == 0
    texts = {name: (tree / name).read_text(encoding="utf-8") for name in FILES[1:]}
    assert '__version__ = "7.8.9"' in texts["acp_server/version.py"]
    lock = json.loads(texts["editors/vscode/package-lock.json"])
    assert lock["version"] == lock["packages"][""]["version"] == "7.8.9"
    assert json.loads(texts["editors/vscode/package.json"])["version"] == "7.8.9"
    entry = json.loads(texts["editors/zed/registry/hermes-acp-server/agent.json"])
    assert (entry["version"], entry["distribution"]["uvx"]["package"]) == (
        "7.8.9",
        "hermes-acp-server==7.8.9",
    )


def test_prepare_dates_what_was_unreleased(tree: Path) -> None:
    describe(tree, "7.8.9")
    release(tree, "prepare", "7.8.9")
    heading = (tree / "CHANGELOG.md").read_text(encoding="utf-8").split("\n- All new.")[0]
    unreleased, _, dated = heading.partition("## Unreleased")[2].partition("## 7.8.9 - ")
    assert unreleased.strip() == ""
    assert len(dated.strip()) == len("2020-01-01")


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("1.2", "is no version"),
        ("v1.2.3", "is no version"),
        ("9.9.9", "editors/vscode/CHANGELOG.md has no section for 9.9.9"),
    ],
)
def test_prepare_refuses_with_one_line(tree: Path, version: str, reason: str) -> None:
    before = {name: (tree / name).read_bytes() for name in FILES}
    code, message = release(tree, "prepare", version)
    assert (code, len(message.splitlines())) == (1, 1)
    assert reason in message
    assert {name: (tree / name).read_bytes() for name in FILES} == before


def test_build_refuses_a_version_that_the_change_log_does_not_describe(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- Much.\n")
    commit(tree)
    code, message = release(tree, "build")
    assert code == 1
    assert message.startswith(f"error: CHANGELOG.md has no section for {__version__}: run `prepare")
    assert not (tree / "dist").exists()


def test_build_refuses_copies_of_the_version_that_differ(tree: Path) -> None:
    manifest = tree / "editors/vscode/package.json"
    manifest.write_text(manifest.read_text().replace(f'"{__version__}"', '"0.0.7"'))
    commit(tree)
    code, message = release(tree, "build")
    assert code == 1
    assert "editors/vscode/package.json does not name version" in message


def test_build_keeps_what_is_in_its_directory(tree: Path) -> None:
    (tree / "dist" / "release").mkdir(parents=True)
    (tree / "dist" / "release" / "old.whl").write_text("old")
    code, message = release(tree, "build")
    assert code == 1
    assert "is not empty" in message


def test_check_notices_a_file_that_was_changed(tree: Path) -> None:
    built = tree / "dist" / "release"
    built.mkdir(parents=True)
    (built / "a.whl").write_bytes(b"changed")
    (built / "SHA256SUMS").write_text(f"{hashlib.sha256(b'built').hexdigest()}  a.whl\n")
    code, message = release(tree, "check")
    assert code == 1
    assert "SHA256SUMS does not list what is in" in message


@pytest.mark.full
def test_two_builds_have_the_same_bytes_and_work(tmp_path: Path) -> None:
    """The short forms are above; this one installs packages for some minutes."""
    prepared, elsewhere = tmp_path / "prepared", tmp_path / "else" / "where"
    git(tmp_path, "clone", "--quiet", str(ROOT), str(prepared))
    assert release(prepared, "prepare", __version__)[0] == 0
    git(prepared, "commit", "--quiet", "--all", "--message", "A release")
    git(tmp_path, "clone", "--quiet", str(prepared), str(elsewhere))
    sums: list[str] = []
    for clone, umask in ((prepared, "022"), (elsewhere, "077")):
        command = f"umask {umask}; exec {sys.executable} .ci/release.py build --output built"
        subprocess.run(["sh", "-c", command], cwd=clone, check=True)
        sums.append((clone / "built" / "SHA256SUMS").read_text())
    assert sums[0] == sums[1]
    assert release(prepared, "check", "built")[0] == 0
