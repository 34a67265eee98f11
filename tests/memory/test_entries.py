"""How a text falls into entries, and that every entry comes back, to us and to Hermes."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.text.surrogates import repair_surrogates
from prompt_engine.memory_entries import escape_entry, join_entries, normalize_entry, split_entries
from prompt_engine.sources.memory_snapshot import read_memory
from prompt_engine.threats import scan
from tests.memory import hermes
from tests.memory.stores import add_entries, read_entries

LINES = st.sampled_from(["§", "\\§", "\\\\§", " §", "§ ", "", " ", "\t", "uv", "§§", "§\r"])
TEXTS = st.one_of(st.text(), st.lists(LINES, max_size=6).map("\n".join), st.text("§\\\n\r \ufeffa"))
ANY = st.text(st.characters()) | TEXTS
"""Any text, halves of characters among it."""
BLANK = "\ufeff" + "".join(filter(str.isspace, map(chr, range(0x3001))))


def normalized(texts: list[str]) -> list[str]:
    """What is an entry among texts."""
    return [entry for entry in map(normalize_entry, texts) if entry]


def is_ordinary(text: str) -> bool:
    """Whether nothing speaks against keeping a text."""
    return "\0" not in text and not scan(text, "strict")


@given(st.lists(TEXTS))
def test_every_list_of_entries_survives_a_round_trip(texts: list[str]) -> None:
    found = normalized(texts)
    assert list(split_entries(join_entries(found))) == found
    assert hermes.parse_entries(join_entries(found)) == [escape_entry(entry) for entry in found]


@given(st.lists(TEXTS))
def test_every_line_of_a_manually_written_file_is_preserved(texts: list[str]) -> None:
    by_hand = "\n§\n".join(texts)
    once = join_entries(split_entries(by_hand))
    assert join_entries(split_entries(once)) == once
    lines = {line.strip(BLANK) for line in normalize_entry(by_hand).split("\n")}
    assert lines - {line.strip(BLANK) for line in once.split("\n")} <= {"", "§"}


@given(st.lists(ANY, max_size=5))
def test_entries_added_one_by_one_survive_in_a_store(texts: list[str]) -> None:
    found = list(dict.fromkeys(normalized([repair_surrogates(text) for text in texts])))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        accepted = [text for text in found if add_entries(home, text).is_success]
        assert not [text for text in found if text not in accepted and is_ordinary(text)]
        path = home / "memories" / "MEMORY.md"
        assert list(read_entries(home)) == accepted
        assert hermes.read_entries(path) == [escape_entry(entry) for entry in accepted]
        assert read_memory(path, 10**6, scan).entries == tuple(accepted)
        assert not path.exists() or not hermes.refuses_to_edit(path, 10**6)


@pytest.mark.parametrize(
    ("entry", "in_the_file"),
    [
        ("§", "\\§"),
        ("above\n§\nbelow", "above\n\\§\nbelow"),
        ("\\§", "\\\\§"),
        ("§ 7 of the law", "§ 7 of the law"),
        ("a\n§ \nb", "a\n§ \nb"),
    ],
)
def test_only_a_line_resembling_the_delimiter_is_escaped(entry: str, in_the_file: str) -> None:
    assert escape_entry(entry) == in_the_file
    assert split_entries(in_the_file) == (entry,)
