"""Files of a repository: read within bounds, and made something of again when they change."""

from pathlib import Path

import pytest

from prompt_engine.sources.file_reading import FileCache, ReadFailure, ReadFile, read_within
from tests.prompt_engine.sources.trees import write_tree


def test_a_file_is_read_completely_with_its_resolved_path_and_identity(tmp_path: Path) -> None:
    path = write_tree(tmp_path, {"a": "x"}) / "a"
    (tmp_path / "b").symlink_to("a")
    status = path.stat()
    expected = ReadFile(path, (status.st_dev, status.st_ino), b"x")
    assert read_within(path, tmp_path) == read_within(tmp_path / "b", tmp_path) == expected


@pytest.mark.parametrize("name", ["gone", "file/x", "x" * 300])
def test_a_missing_file_gives_nothing(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path, {"file": ""})
    assert read_within(tmp_path / name, tmp_path) is None


@pytest.mark.parametrize(
    ("size", "expected"),
    [(3, b"\0\0\0"), (4, ReadFailure("unreadable", "it is larger than 3 bytes"))],
)
def test_a_file_is_read_up_to_a_size_limit(
    tmp_path: Path, size: int, expected: bytes | ReadFailure
) -> None:
    path = write_tree(tmp_path, {"a": b"\0" * size}) / "a"
    read = read_within(path, tmp_path, 3)
    assert (read.raw if isinstance(read, ReadFile) else read) == expected


class CountingBuilder:
    """Counts how often something is made of a path."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, path: Path) -> int:
        """Return the count."""
        del path
        self.count += 1
        return self.count


def test_the_derived_value_of_a_file_is_cached_until_it_changes(tmp_path: Path) -> None:
    path = write_tree(tmp_path, {"a": "x"}) / "a"
    made = FileCache(CountingBuilder(), settled_nanoseconds=-(10**15))
    assert [made.get(path), made.get(path)] == [1, 1]
    path.write_text("longer")
    assert [made.get(path), made.get(path)] == [2, 2]
    (write_tree(tmp_path, {"b": "LONGER"}) / "b").replace(path)
    assert [made.get(path), made.get(path)] == [3, 3]
    path.unlink()
    assert made.get(path) is None


def test_a_recently_changed_file_is_not_cached(tmp_path: Path) -> None:
    path = write_tree(tmp_path, {"a": "x"}) / "a"
    made = FileCache(CountingBuilder(), settled_nanoseconds=10**15)
    assert [made.get(path), made.get(path)] == [1, 2]


def test_a_link_changes_with_its_target(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": "x", "b": "y"})
    link = tmp_path / "link"
    link.symlink_to("a")
    made = FileCache(CountingBuilder(), settled_nanoseconds=-(10**15))
    assert [made.get(link), made.get(link)] == [1, 1]
    link.unlink()
    link.symlink_to("b")
    assert made.get(link) == 2
    link.unlink()
    link.symlink_to("nowhere")
    assert [made.get(link), made.get(link)] == [3, 4]
