"""Whatever happens while a file is written, it holds the old bytes or the new ones."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from skills_store.atomic import write_atomically

OLD, NEW = b"old" * 1000, b"new" * 5000

DYING = """
import os, sys
from pathlib import Path
from skills_store.atomic import write_atomically

def die_at(name, number):
    real, calls = getattr(os, name), []
    def call(*arguments, **options):
        calls.append(arguments)
        if len(calls) == number:
            os._exit(9)
        return real(*arguments, **options)
    setattr(os, name, call)

die_at(sys.argv[2], int(sys.argv[3]))
write_atomically(Path(sys.argv[1]), b"new" * 5000)
"""


@pytest.mark.parametrize(
    ("call", "number", "expected"),
    [
        ("open", 2, OLD),
        ("fdopen", 1, OLD),
        ("fchmod", 1, OLD),
        ("fsync", 1, OLD),
        ("replace", 1, OLD),
        ("unlink", 1, NEW),
        ("open", 3, NEW),
        ("fsync", 2, NEW),
    ],
    ids=lambda value: value if isinstance(value, str | int) else value[:3].decode(),
)
def test_a_crash_leaves_the_old_or_the_new_bytes(
    tmp_path: Path, call: str, number: int, expected: bytes
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    dying = subprocess.run(
        [sys.executable, "-c", DYING, path, call, str(number)], check=False, timeout=30
    )
    assert (dying.returncode, path.read_bytes()) == (9, expected)


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name are Linux's")
@pytest.mark.parametrize("call", ["fdopen", "fchmod", "fsync"])
def test_a_process_that_is_killed_while_it_writes_leaves_nothing_behind(
    tmp_path: Path, call: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    subprocess.run([sys.executable, "-c", DYING, path, call, "1"], check=False, timeout=30)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("refused", ["open", "link"])
def test_a_file_system_without_unnamed_files_is_written_by_a_named_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    real_open = os.open

    def open_named(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", None):
            raise OSError(errno.EOPNOTSUPP, path)
        return real_open(path, flags, mode, dir_fd=dir_fd)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOENT, "no /proc")

    monkeypatch.setattr(os, refused, open_named if refused == "open" else refuse)
    path = tmp_path / "file"
    for content in (OLD, NEW):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_bytes_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(NEW) - 1, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_atomically(path, NEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4711])
def test_the_mode_is_preserved_unless_another_is_given(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    write_atomically(path, NEW)
    assert path.stat().st_mode & 0o7777 == mode
    write_atomically(path, NEW, 0o640)
    assert path.stat().st_mode & 0o7777 == 0o640


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o644)])
def test_a_new_file_obeys_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", NEW)
        write_atomically(tmp_path / "private", NEW, 0o600)
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o7777 for name in ("file", "private")]
    assert modes == [mode, 0o600]


def test_a_file_may_have_the_longest_name(tmp_path: Path) -> None:
    for name in ("n" * 255, "ä" * 127):
        write_atomically(tmp_path / name, NEW)
        assert (tmp_path / name).read_bytes() == NEW


def test_an_open_reader_sees_the_old_file_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with path.open("rb") as reader:
        write_atomically(path, NEW)
        assert reader.read() == OLD
    assert path.read_bytes() == NEW
