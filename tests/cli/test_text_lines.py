import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.cli.text_lines import (
    DiffLine,
    End,
    FoldedLines,
    diff_lines,
    fold,
    output_lines,
    text_lines,
    truncate_line,
)
from tests.support.case_table import each_case


@each_case(
    ("output", "expected"),
    [
        ("", [""]),
        ("one\ntwo\n\n", ["one", "two"]),
        ("one\r\ntwo", ["one", "two"]),
        ("10%\r50%\r100%\n", ["100%"]),
        ("50%\r", ["50%"]),
        ("\x1b[1;31mred\x1b[0m", ["red"]),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", ["link"]),
        ("\x1b[2J\x1b[Hclear", ["clear"]),
        ("half \x1b[", ["half"]),
        ("bell\x07", ["bell\ufffd"]),
    ],
    ids=repr,
)
def test_output_is_rendered_as_a_terminal_would_show_it(output: str, expected: list[str]) -> None:
    assert output_lines(output) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n", ["a", "b"]),
        ("```sh\nls\n```", ["ls"]),
        ("````\n```\n````\n", ["```"]),
        ("```\nopen", ["```", "open"]),
        ("a\tb\x00", ["a\tb\ufffd"]),
    ],
    ids=repr,
)
def test_a_text_is_split_into_lines_without_its_fence(text: str, expected: list[str]) -> None:
    assert text_lines(text) == expected


@pytest.mark.parametrize(
    ("most", "end", "expected"),
    [
        (4, "first", FoldedLines("abcd", 0, "first")),
        (3, "first", FoldedLines("abcd", 0, "first")),
        (2, "first", FoldedLines("ab", 2, "first")),
        (2, "last", FoldedLines("cd", 2, "last")),
    ],
)
def test_folding_keeps_one_end_and_never_hides_a_single_line(
    most: int, end: End, expected: FoldedLines[str]
) -> None:
    assert fold("abcd", most, end) == expected


def test_a_very_long_line_is_truncated() -> None:
    assert truncate_line("x" * 1_000) == "x" * 400 + "…"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, "a\nb\n", [DiffLine("+", "a"), DiffLine("+", "b")]),
        ("a\n", "", [DiffLine("-", "a")]),
        ("a\n", "a\n", []),
        ("", "", []),
        ("a\r\nb\r\n", "a\r\nc\r\n", [DiffLine(" ", "a"), DiffLine("-", "b"), DiffLine("+", "c")]),
    ],
    ids=repr,
)
def test_a_diff_lists_removed_and_added_lines(
    old: str | None, new: str, expected: list[DiffLine]
) -> None:
    assert diff_lines(old, new) == expected


TEXTS = st.lists(st.sampled_from("abc"), max_size=20).map(
    lambda lines: "".join(f"{x}\n" for x in lines)
)


@given(TEXTS, TEXTS)
def test_a_diff_omits_no_changed_line(old: str, new: str) -> None:
    lines = diff_lines(old, new)
    signs = [line.sign for line in lines]
    difference = len(new.splitlines()) - len(old.splitlines())
    assert signs.count("+") - signs.count("-") == difference
    assert (old == new) == (lines == [])
    if "gap" not in signs and lines:
        old_lines = [line for line in lines if line.sign != "+"]
        assert "".join(f"{line.text}\n" for line in old_lines) == old
