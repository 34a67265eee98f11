"""Writes are taken back one by one, and never what somebody else wrote since."""

from pathlib import Path

from acp_server.memory.operations import EntryOperation
from acp_server.memory.store import NOTHING_TO_UNDO
from acp_server.memory.undo import MAX_ENTRIES
from tests.memory.stores import add_entries, open_memory, read_entries, write_memory_file


def test_undo_restores_the_previous_bytes(tmp_path: Path) -> None:
    before = "\ufeff one \r\n§\r\n\r\n two".encode()
    path = write_memory_file(tmp_path, before)
    add_entries(tmp_path, "three")
    answer = open_memory(tmp_path).undo()
    assert (answer.is_success, answer.text) == (True, f"undone in {path}")
    assert path.read_bytes() == before


def test_repeated_undo_reverts_write_after_write(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        add_entries(tmp_path, name)
    memory = open_memory(tmp_path)
    states: list[tuple[str, ...]] = []
    while memory.undo().is_success:
        states.append(read_entries(tmp_path))
    assert states == [("one", "two"), ("one",), ()]
    assert memory.undo().text == NOTHING_TO_UNDO


def test_undo_reverts_the_newest_write_of_either_store_first(tmp_path: Path) -> None:
    add_entries(tmp_path, "a note")
    add_entries(tmp_path, "is Ada", name="user")
    add_entries(tmp_path, "is in Paris", name="user")
    memory = open_memory(tmp_path)
    assert memory.undo("memory").is_success
    assert (read_entries(tmp_path), read_entries(tmp_path, "user")) == (
        (),
        ("is Ada", "is in Paris"),
    )
    assert memory.undo().is_success
    assert read_entries(tmp_path, "user") == ("is Ada",)


def test_undo_does_not_revert_later_changes_by_others(tmp_path: Path) -> None:
    add_entries(tmp_path, "one")
    path = write_memory_file(tmp_path, "one\n§\nby hand")
    answer = open_memory(tmp_path).undo()
    (backup,) = (tmp_path / "acp" / "memory_undo").iterdir()
    assert answer.text == (
        f"{path} was changed by somebody else since; what it held before our write is in {backup}"
    )
    assert path.read_text(encoding="utf-8") == "one\n§\nby hand"
    write_memory_file(tmp_path, "one\n")
    assert open_memory(tmp_path).undo().is_success


def test_a_write_that_was_never_made_is_skipped(tmp_path: Path) -> None:
    """A crash may leave what was kept before a write, and no write."""
    add_entries(tmp_path, "one")
    path = tmp_path / "memories" / "MEMORY.md"
    state = path.read_bytes()
    add_entries(tmp_path, "two")
    path.write_bytes(state)
    assert open_memory(tmp_path).undo().is_success
    assert read_entries(tmp_path) == ()


def test_only_the_newest_writes_are_stored(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 3):
        add_entries(tmp_path, f"entry {number}")
    add_entries(tmp_path, "is Ada", name="user")
    names = [path.name for path in (tmp_path / "acp" / "memory_undo").iterdir()]
    assert len([name for name in names if "-memory-" in name]) == MAX_ENTRIES
    assert len([name for name in names if "-user-" in name]) == 1


def test_the_undo_log_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    home = tmp_path / "missing" / "home"
    add_entries(home, "one")
    folder = home / "acp" / "memory_undo"
    for made in (home, home / "memories", home / "acp", folder):
        assert made.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


def test_a_write_that_could_not_be_undone_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "acp").mkdir()
    (tmp_path / "acp" / "memory_undo").write_text("a file where a folder belongs")
    answer = open_memory(tmp_path).apply("memory", [EntryOperation("add", "one")])
    assert answer.text.startswith("nothing was changed: ")
    assert read_entries(tmp_path) == ()


def test_manually_written_text_is_saved_byte_for_byte(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    add_entries(tmp_path, "one")
    base = memory.raw("memory")
    written = b"  one\r\n\r\nby hand\r\n"
    assert memory.rewrite("memory", base, written).is_success
    assert memory.raw("memory") == written
    assert read_entries(tmp_path) == ("one", "by hand")
    assert not memory.rewrite("memory", base, b"late").is_success
    assert not memory.rewrite("memory", written, b"caf\xe9").is_success
    assert memory.raw("memory") == written
    assert memory.undo().is_success
    assert memory.raw("memory") == base
