"""What a source is, archives that are refused, and clones without questions."""

import gzip
import io
import os
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_store.sources import archives
from skills_store.sources.errors import ArchiveRefusedError, CloneError, SourceError
from skills_store.sources.locations import (
    ArchiveSource,
    FolderSource,
    RepositorySource,
    SkillSource,
    is_listed_source,
    parse_source,
)
from skills_store.sources.repositories import GitCloner
from tests.support.case_table import each_case

ENVIRONMENT = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("https://h.example/o/n", RepositorySource("https://h.example/o/n")),
        ("https://h.example/o/n.git@v1.2", RepositorySource("https://h.example/o/n.git", "v1.2")),
        (
            "https://h.example/o/n@feature/x#skills/a",
            RepositorySource("https://h.example/o/n", "feature/x", "skills/a"),
        ),
        ("git@h.example:o/n.git#a", RepositorySource("git@h.example:o/n.git", "", "a")),
        (
            f"ssh://git@h.example/o/n@{SHA}",
            RepositorySource("ssh://git@h.example/o/n", SHA),
        ),
        ("file:///srv/n", RepositorySource("file:///srv/n")),
    ],
    ids=["plain", "tag", "branch and folder", "scp", "commit", "file"],
)
def test_a_source_address_is_parsed(text: str, source: SkillSource) -> None:
    assert parse_source(text) == source


@each_case(
    "text",
    [
        *("", "-uevil", "--upload-pack=x", "http://h.example/o/n", "git://h.example/o/n"),
        *("ext::sh -c id", "https://u:p@h.example/o/n", "https://token@h.example/o/n"),
        *("https://h.example/o/n@--exec", "https://h.example/o/n@a..b", "https://h.example"),
        *("https://h.example/o/n#../x", "https://h.example/o/n#/x", "./not-there", "a\0b"),
    ],
)
def test_an_invalid_source_is_refused(text: str) -> None:
    with pytest.raises(SourceError):
        parse_source(text)


def test_paths_are_directories_or_archives(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"")
    (tmp_path / "a.rar").write_bytes(b"")
    assert parse_source(str(tmp_path)) == FolderSource(tmp_path.resolve())
    assert parse_source(f"{tmp_path}/a.tar.gz") == ArchiveSource(tmp_path.resolve() / "a.tar.gz")
    with pytest.raises(SourceError, match="neither a directory"):
        parse_source(f"{tmp_path}/a.rar")


def test_a_source_is_matched_by_its_owner_and_not_by_a_name_prefix() -> None:
    named = ["https://h.example/good"]
    assert is_listed_source("https://h.example/good/n.git@v1#a", named)
    assert not is_listed_source("https://h.example/goodness/n", named)
    assert not is_listed_source("https://h.example/good/../evil/n", named)
    assert not is_listed_source("https://h.example/o/n", [""])


def zipped(path: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in entries:
            packed.writestr(name, data)
    return path


def tarred(path: Path, *entries: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for item, data in entries:
            item.size = len(data)
            packed.addfile(item, io.BytesIO(data))
    return path


def linked(kind: bytes) -> tarfile.TarInfo:
    item = tarfile.TarInfo("a")
    item.type, item.linkname = kind, "/etc/passwd"
    return item


def zip_link() -> zipfile.ZipInfo:
    item = zipfile.ZipInfo("a")
    item.external_attr = (stat.S_IFLNK | 0o777) << 16
    return item


@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".tgz"])
def test_an_archive_is_unpacked_with_executable_bits(tmp_path: Path, ending: str) -> None:
    if ending == ".zip":
        program = zipfile.ZipInfo("s/a.sh")
        program.external_attr = (stat.S_IFREG | 0o755) << 16
        archive = zipped(tmp_path / "a.zip", ("s/", b""), ("s/SKILL.md", b"m"), (program, b"p"))
    else:
        item = tarfile.TarInfo("./s/a.sh")
        item.mode = 0o4755
        archive = tarred(
            tmp_path / f"a{ending}", (tarfile.TarInfo("s/SKILL.md"), b"m"), (item, b"p")
        )
    folder = tmp_path / "out"
    folder.mkdir()
    archives.unpack(archive, folder)
    contents = {
        path.relative_to(folder).as_posix(): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert contents == {"s/SKILL.md": (b"m", 0o644), "s/a.sh": (b"p", 0o755)}


LEADING_OUT: dict[str, Callable[[Path], Path]] = {
    "zip up": lambda path: zipped(path / "a.zip", ("../a", b"")),
    "zip absolute": lambda path: zipped(path / "a.zip", ("/a", b"")),
    "zip drive": lambda path: zipped(path / "a.zip", ("c:a", b"")),
    "zip backslash": lambda path: zipped(path / "a.zip", ("a\\..\\b", b"")),
    "zip same name": lambda path: zipped(path / "a.zip", ("A", b""), ("a", b"")),
    "zip link": lambda path: zipped(path / "a.zip", (zip_link(), b"/etc/passwd")),
    "tar up": lambda path: tarred(path / "a.tgz", (tarfile.TarInfo("../a"), b"")),
    "tar link": lambda path: tarred(path / "a.tgz", (linked(tarfile.SYMTYPE), b"")),
    "tar hard link": lambda path: tarred(path / "a.tgz", (linked(tarfile.LNKTYPE), b"")),
    "tar pipe": lambda path: tarred(path / "a.tgz", (linked(tarfile.FIFOTYPE), b"")),
}


@pytest.mark.parametrize("make", LEADING_OUT.values(), ids=LEADING_OUT)
def test_an_archive_that_escapes_its_directory_is_refused(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    folder = tmp_path / "deep" / "out"
    folder.mkdir(parents=True)
    with pytest.raises(ArchiveRefusedError):
        archives.unpack(make(tmp_path), folder)
    assert not (tmp_path / "deep" / "a").exists()


def test_a_decompression_bomb_is_refused_during_unpacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_BYTES", 100_000)
    bomb = b"\0" * 200_000
    for archive in (
        zipped(tmp_path / "a.zip", ("a", bomb)),
        tarred(tmp_path / "a.tgz", (tarfile.TarInfo("a"), bomb)),
    ):
        folder = tmp_path / archive.suffix
        folder.mkdir()
        with pytest.raises(ArchiveRefusedError, match="more than 100000 bytes"):
            archives.unpack(archive, folder)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", b"PK\x03\x04 nothing"),
        ("a.tgz", b"nothing"),
        ("a.tgz", gzip.compress(b"x" * 99)[:-9]),
    ],
    ids=["zip", "no gzip", "cut off"],
)
def test_a_broken_archive_is_refused(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(ArchiveRefusedError, match="cannot be unpacked"):
        archives.unpack(tmp_path / name, folder)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "skills/a").mkdir(parents=True)
    (folder / "skills/a/SKILL.md").write_text("one")
    run = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True, env=ENVIRONMENT)
    for word in ("one", "two"):
        (folder / "skills/a/SKILL.md").write_text(word)
        subprocess.run([*run, "add", "-A"], check=True, env=ENVIRONMENT)
        subprocess.run([*run, "commit", "-qm", word], check=True, env=ENVIRONMENT)
        subprocess.run([*run, "tag", word], check=True, env=ENVIRONMENT)
    return folder


@pytest.mark.parametrize("ref", ["", "main", "one", "commit"])
def test_a_repository_is_cloned_at_a_ref(tmp_path: Path, repository: Path, ref: str) -> None:
    named = ["git", "-C", str(repository), "rev-parse"]
    expected = "one" if ref in {"one", "commit"} else "two"
    commit = subprocess.check_output([*named, expected], env=ENVIRONMENT, text=True).strip()
    source = RepositorySource(f"file://{repository}", commit if ref == "commit" else ref)
    got = GitCloner(ENVIRONMENT).clone(source, tmp_path / "clone")
    assert (got, (tmp_path / "clone/skills/a/SKILL.md").read_text()) == (commit, expected)


@pytest.mark.parametrize(
    ("url", "ref", "shown"),
    [
        ("file:///not/there", "", "repository|does not exist"),
        ("ext::sh -c 'touch done' x", "", "not allowed"),
        ("http://127.0.0.1:9/a", "", "not allowed"),
        ("repository", "none", "none"),
    ],
    ids=["nowhere", "a program as transport", "no encryption", "no such ref"],
)
def test_git_errors_are_reported(
    tmp_path: Path, repository: Path, url: str, ref: str, shown: str
) -> None:
    address = f"file://{repository}" if url == "repository" else url
    with pytest.raises(CloneError, match=shown):
        GitCloner(ENVIRONMENT).clone(RepositorySource(address, ref), tmp_path / "clone")


def test_a_hanging_clone_is_killed_with_its_child_processes(tmp_path: Path) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nsleep 60 & wait\n")
    program.chmod(0o755)
    git = GitCloner(ENVIRONMENT, str(program), timeout_seconds=0.2)
    with pytest.raises(CloneError, match="longer than"):
        git.clone(RepositorySource("file:///a"), tmp_path / "clone")


def test_the_users_git_hooks_and_monitors_do_not_run(tmp_path: Path, repository: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (hooks / "post-checkout").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    git = GitCloner({**ENVIRONMENT, "HOME": str(tmp_path)})
    git.clone(RepositorySource(f"file://{repository}"), tmp_path / "clone")
    assert not (tmp_path / "ran").exists()
