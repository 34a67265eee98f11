"""What people and Hermes write into the files: it is all there after our next write."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.memory.operations import EntryOperation
from tests.memory import hermes
from tests.memory.stores import add_entries, open_memory, read_entries, write_memory_file

LAYOUTS = {
    "no line at the end": ("one\n§\ntwo", ("one", "two")),
    "blank lines": ("\n\none\n\n§\n\n\ntwo\n\n", ("one", "two")),
    "delimiters at both ends": ("§\none\n§\n", ("one",)),
    "empty entries": ("one\n§\n§\n\n§\ntwo", ("one", "two")),
    "no delimiter at all": ("# Notes\n\n- one\n- two\n", ("# Notes\n\n- one\n- two",)),
    "a sign in a line": ("§ 7 says no\n§\nsee §", ("§ 7 says no", "see §")),
    "delimiters with blanks": ("one\n § \ntwo", ("one\n § \ntwo",)),
    "a backslash before the sign": ("one\n\\§\ntwo", ("one\n§\ntwo",)),
    "duplicates": ("one\n§\none", ("one", "one")),
}


@pytest.mark.parametrize(("text", "found"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_a_manual_layout_survives_the_next_write(
    text: str, found: tuple[str, ...], tmp_path: Path
) -> None:
    path = write_memory_file(tmp_path, text)
    assert read_entries(tmp_path) == found
    assert add_entries(tmp_path, "new").is_success
    assert read_entries(tmp_path) == (*found, "new")
    assert not hermes.refuses_to_edit(path, 2_200)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\n\xc2\xa7\r\ntwo\r\n", b"one\r\n\xc2\xa7\r\ntwo\r\n\xc2\xa7\r\nnew\r\n"),
        (b"\xef\xbb\xbfone\n", b"\xef\xbb\xbfone\n\xc2\xa7\nnew\n"),
        (b"\xef\xbb\xbfone\r\ntwo\r\n", b"\xef\xbb\xbfone\r\ntwo\r\n\xc2\xa7\r\nnew\r\n"),
        (b"a\nb\nc\r\nd", b"a\nb\nc\nd\n\xc2\xa7\nnew\n"),
        (b"a\rb", b"a\nb\n\xc2\xa7\nnew\n"),
    ],
    ids=["crlf", "byte order mark", "both", "mixed", "cr"],
)
def test_the_format_of_a_file_is_preserved(before: bytes, after: bytes, tmp_path: Path) -> None:
    path = write_memory_file(tmp_path, before)
    assert add_entries(tmp_path, "new").is_success
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("added", "found"),
    [
        ("by hand", ("by hand",)),
        ("\n\nby hand\nin two lines\n", ("by hand\nin two lines",)),
        ("by hand\n§\nproperly", ("by hand", "properly")),
        ("below\n\\§\na line", ("below\n§\na line",)),
    ],
    ids=["a line", "a paragraph", "with a delimiter", "with an escaped one"],
)
def test_text_added_below_an_indexed_entry_is_a_separate_entry(
    added: str, found: tuple[str, ...], tmp_path: Path
) -> None:
    add_entries(tmp_path, "ours\nin two lines")
    path = tmp_path / "memories" / "MEMORY.md"
    with path.open("a", encoding="utf-8") as file:
        file.write(added)
    assert read_entries(tmp_path) == ("ours\nin two lines", *found)
    answer = open_memory(tmp_path).apply("memory", [EntryOperation("remove", old_text="ours")])
    assert answer.is_success
    assert read_entries(tmp_path) == found


def test_indexed_entries_are_separated_again_when_a_delimiter_is_missing(tmp_path: Path) -> None:
    add_entries(tmp_path, "one", "one\nand more", "two")
    write_memory_file(tmp_path, "one\nand more  \ntwo\nby hand")
    assert read_entries(tmp_path) == ("one\nand more", "two", "by hand")


def test_entries_not_in_the_index_are_not_split(tmp_path: Path) -> None:
    write_memory_file(tmp_path, "theirs\nand more")
    add_entries(tmp_path, "ours")
    write_memory_file(tmp_path, "theirs\nand more\nby hand\n§\nabove\nours\n§\nours, changed")
    expected = ("theirs\nand more\nby hand", "above\nours", "ours, changed")
    assert read_entries(tmp_path) == expected


def test_a_separate_indexed_entry_splits_no_other_entry(tmp_path: Path) -> None:
    write_memory_file(tmp_path, "uses uv\nfor everything")
    add_entries(tmp_path, "uses uv")
    assert read_entries(tmp_path) == ("uses uv\nfor everything", "uses uv")


def test_an_entry_replaced_by_one_with_the_same_first_line_is_not_split(tmp_path: Path) -> None:
    add_entries(tmp_path, "uses uv")
    longer = EntryOperation("replace", "uses uv\nfor everything", "uses uv")
    assert open_memory(tmp_path).apply("memory", [longer]).is_success
    assert read_entries(tmp_path) == ("uses uv\nfor everything",)


def test_an_entry_written_by_hermes_is_found_unchanged(tmp_path: Path) -> None:
    add_entries(tmp_path, "ours")
    hermes.add_entry(tmp_path / "memories" / "MEMORY.md", "from hermes\nin two lines")
    assert add_entries(tmp_path, "ours too").is_success
    found = ("ours", "from hermes\nin two lines", "ours too")
    assert read_entries(tmp_path) == found
    assert hermes.read_entries(tmp_path / "memories" / "MEMORY.md") == list(found)


def test_a_symlink_is_written_through_to_its_target(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "memory.md"
    real.parent.mkdir()
    real.write_text("one", encoding="utf-8")
    link = write_memory_file(tmp_path, "")
    link.unlink()
    link.symlink_to(real)
    assert add_entries(tmp_path, "two").is_success
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "one\n§\ntwo\n"


@pytest.mark.parametrize("index", ["{", "[]", '{"memory": 3}', '{"memory": {"x": "y"}}'])
def test_an_invalid_index_is_harmless(index: str, tmp_path: Path) -> None:
    add_entries(tmp_path, "one")
    (tmp_path / "acp" / "memory_index.json").write_text(index, encoding="utf-8")
    assert add_entries(tmp_path, "two").is_success
    assert read_entries(tmp_path) == ("one", "two")


def test_the_index_contains_only_existing_entries_added_by_the_program(tmp_path: Path) -> None:
    write_memory_file(tmp_path, "theirs")
    add_entries(tmp_path, "one")
    add_entries(tmp_path, "two")
    open_memory(tmp_path).apply("memory", [EntryOperation("remove", old_text="one")])
    index = json.loads((tmp_path / "acp" / "memory_index.json").read_text(encoding="utf-8"))
    assert list(index["memory"].values()) == [len("two")]


EDITS = st.lists(
    st.tuples(st.sampled_from(["add", "append", "prepend"]), st.text("ab \n§\\é", max_size=8)),
    max_size=6,
)


@given(edits=EDITS)
def test_no_line_is_ever_lost_whatever_wrote_it(
    edits: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    path = write_memory_file(home, "")
    written: set[str] = set()
    for kind, text in edits:
        old = path.read_text(encoding="utf-8")
        if kind == "add":
            add_entries(home, text)
        else:
            path.write_text(old + text if kind == "append" else text + old, encoding="utf-8")
            glued = path.read_text(encoding="utf-8").split("\n")
            written = {line for line in glued if line.strip(" §\\")}
        lines = {line.strip() for line in path.read_text(encoding="utf-8").split("\n")}
        assert {line.strip() for line in written} <= lines
