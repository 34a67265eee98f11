"""A folder becomes a link right before any of the calls to the system that a change consists of."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from acp_server.checkpoints.files import (
    FileImage,
    read_file_image,
    remove_empty_directory,
    replace_file,
)
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.files import disk
from acp_server.tools.files.errors import FileChangedError, FileError
from acp_server.tools.files.paths import ResolvedPath, resolve_path
from acp_server.tools.files.snapshot import bytes_digest
from tests.support.system_calls import run_before_call

OLD = b"harmless\n"
FAR = b"far away\n"
DIGEST = bytes_digest(OLD)


@dataclass(frozen=True, slots=True)
class Site:
    """A workspace with a folder in it, and one outside that has the same names."""

    root: Path
    outside: Path

    def path(self, name: str) -> ResolvedPath:
        return resolve_path(name, SessionWorkspace(self.root), self.root)

    def swap(self) -> None:
        (self.root / "door").rename(self.root / "was")
        (self.root / "door").symlink_to(self.outside)


def make_site(base: Path) -> Site:
    site = Site(base / "root", base / "outside")
    for folder, data in ((site.root / "door", OLD), (site.outside, FAR)):
        (folder / "empty").mkdir(parents=True)
        for name in ("a.txt", "b.txt", "deep/c.txt"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        (folder / "link").symlink_to(folder / "a.txt")
        (folder / "twin").hardlink_to(folder / "b.txt")
    (site.root / "here.txt").write_bytes(OLD)
    return site


Work = Callable[[], object]
STATE = FileImage("file", OLD, 0o644).version
ACTS: dict[str, Callable[[Site], Work]] = {
    "read": lambda s: bound(disk.read_text_file, s.path("door/a.txt")),
    "list": lambda s: bound(disk.read_text_file, s.path("door/deep")),
    "replace": lambda s: bound(disk.replace, s.path("door/a.txt"), b"x", DIGEST),
    "replace one of two names": lambda s: bound(disk.replace, s.path("door/b.txt"), b"x", DIGEST),
    "make": lambda s: bound(disk.replace, s.path("door/new.txt"), b"x", None),
    "make below": lambda s: bound(disk.replace, s.path("door/x/y/new.txt"), b"x", None),
    "remove": lambda s: bound(disk.remove, s.path("door/a.txt"), DIGEST),
    "remove a link": lambda s: bound(disk.remove, s.path("door/link"), DIGEST),
    "move in": lambda s: bound(disk.rename, s.path("here.txt"), s.path("door/in.txt"), DIGEST),
    "move out": lambda s: bound(disk.rename, s.path("door/a.txt"), s.path("out.txt"), DIGEST),
    "look": lambda s: bound(read_file_image, s.root / "door/a.txt"),
    "put": lambda s: bound(
        replace_file, s.root / "door/a.txt", FileImage("file", b"x", 0o600), STATE
    ),
    "put two": lambda s: bound(
        replace_file, s.root / "door/b.txt", FileImage("file", b"x", 0o600), STATE
    ),
    "put a link": lambda s: bound(
        replace_file, s.root / "door/l", FileImage("link", b"a.txt"), None
    ),
    "put below": lambda s: bound(
        replace_file, s.root / "door/x/y", FileImage("file", b"x", 0o600), None
    ),
    "take away": lambda s: bound(replace_file, s.root / "door/a.txt", None, STATE),
    "remove a folder": lambda s: bound(remove_empty_directory, s.root / "door/empty"),
}


def bound(work: Callable[..., object], *arguments: object) -> Work:
    return lambda: work(*arguments)


def read_directory_files(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = sorted(each for each in folder.rglob("*"))
    return {str(p): (p.lstat().st_mode, p.read_bytes() if p.is_file() else b"") for p in found}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_a_directory_swapped_for_a_link_gives_no_access(
    tmp_path: Path, act: Callable[[Site], Work]
) -> None:
    """The folder is swapped before the first call, then before the second, until there is none."""
    for calls in count():
        site = make_site(tmp_path / str(calls))
        before, work = read_directory_files(site.outside), act(site)
        answer: object = None
        with run_before_call(calls, site.swap) as trap, suppress(FileError, OSError):
            answer = work()
        assert read_directory_files(site.outside) == before
        assert repr(FAR)[2:-1] not in repr(answer)
        if not trap.has_fired:
            return


@pytest.mark.parametrize("act", ["read", "replace", "make", "remove", "move out"])
def test_the_error_says_the_directory_is_now_a_link(tmp_path: Path, act: str) -> None:
    site = make_site(tmp_path)
    work = ACTS[act](site)
    site.swap()
    with pytest.raises(FileChangedError) as caught:
        work()
    reason = caught.value.reason
    assert "has become a link" in reason or f"it leads to {site.outside}" in reason
