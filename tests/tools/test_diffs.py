"""Exact diffs: what a client makes of the blocks is the new text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.tools.edit.diffs import CONTEXT_LINES, MAX_FULL_CHARACTERS, exact_diff
from acp_server.turn.events import FileDiff

LONG = "a line that is long enough to make the file large: " + "x" * 60
OLD = [f"{number} {LONG}\n" for number in range(2_600)]
TAIL = [f"{number}\n" for number in range(400)]


def applied(old: str, blocks: tuple[FileDiff, ...]) -> str:
    """Put each block in the place of its old text, one behind the other."""
    done, rest = "", old
    for block in blocks:
        assert block.old_text is not None
        before, found, rest = rest.partition(block.old_text)
        assert found == block.old_text
        done += before + block.new_text
    return done + rest


def test_a_file_of_ordinary_size_is_one_diff_block() -> None:
    old = "x" * (MAX_FULL_CHARACTERS // 2)
    assert exact_diff("/a", old, old[1:]) == (FileDiff("/a", old, old[1:]),)


def test_a_new_file_is_one_diff_block_of_any_size() -> None:
    new = "x" * MAX_FULL_CHARACTERS * 2
    assert exact_diff("/a", None, new) == (FileDiff("/a", None, new),)


def test_each_change_of_a_large_file_is_shown_with_context() -> None:
    new = [*OLD]
    new[100] = "changed\n"
    new[2_000:2_002] = []
    blocks = exact_diff("/a", "".join(OLD), "".join(new))
    assert [(b.old_text or "").count("\n") for b in blocks] == [7, 8]
    assert blocks[0].new_text.splitlines()[CONTEXT_LINES] == "changed"
    assert applied("".join(OLD), blocks) == "".join(new)


def test_an_unchanged_large_file_has_no_diff_blocks() -> None:
    assert exact_diff("/a", "".join(OLD), "".join(OLD)) == ()


edits = st.lists(
    st.tuples(
        st.integers(0, len(OLD)),
        st.integers(0, 5),
        st.lists(st.sampled_from(["new\n", "other\n", "\f\n", "\r\n", ""]), max_size=4),
    ),
    min_size=1,
    max_size=8,
)


@given(edits=edits, has_last_newline=st.booleans())
def test_the_diff_blocks_of_a_large_file_produce_the_new_text(
    *, edits: list[tuple[int, int, list[str]]], has_last_newline: bool
) -> None:
    new = [*OLD]
    for begin, count, lines in edits:
        new[begin : begin + count] = lines
    after = "".join(new) if has_last_newline else "".join(new).removesuffix("\n")
    assert applied("".join(OLD), exact_diff("/a", "".join(OLD), after)) == after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(["x\n"] * 140_000, ["y\n"] * 140_000, id="all is new"),
        pytest.param(["a\n", "b\n"] * 70_000, ["b\n", "a\n"] * 70_000, id="all is alike"),
        pytest.param([*OLD, *["}\n"] * 1_900], [*OLD, *["}\n", "\n"] * 900], id="many alike"),
        pytest.param([*OLD, *TAIL * 4], [*OLD, *TAIL[::-1] * 4], id="some alike"),
        pytest.param(OLD[:2_000], [*OLD[:2_000:2], *TAIL * 3], id="every other line"),
    ],
)
def test_no_file_is_slow_to_diff(old: list[str], new: list[str]) -> None:
    """The event loop waits for it."""
    begin = time.process_time()
    exact_diff("/a", "".join(old), "".join(new))
    assert time.process_time() - begin < 0.5
