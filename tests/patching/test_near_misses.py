"""What does not count as the same text, and what the model is then told."""

import pytest

from skills_store.patching.errors import (
    AmbiguousError,
    NearestText,
    NotFoundError,
    NothingToChangeError,
    NothingToFindError,
)
from skills_store.patching.matching import replace
from tests.support.user_texts import SEEMS_MADE

BLOCK = "def f():\n    {middle}\n    return 1\n"


def block(middle: str) -> str:
    return BLOCK.format(middle=middle)


@pytest.mark.parametrize(
    ("text", "old"),
    [
        pytest.param("total = 1\n", "totals = 1", id="another identifier"),
        pytest.param("x = 10\n", "x = 1 ", id="a number that goes on"),
        pytest.param("x  = 1.5\n", "x = 1", id="a number with a fraction"),
        pytest.param("x  = 1 + 2 == y\n", "x = 1 + 2 = y", id="another sign"),
        pytest.param("x  == 1\n", "x =", id="a part of a sign"),
        pytest.param("recount  = 1\n", "count = 1", id="a part of a word"),
        pytest.param("a.count  = 1\n", "count = 1", id="a member of something"),
        pytest.param("if a != b:\n", "if a == b:", id="not equal for equal"),
        pytest.param("if a<b:\n", "if a>b:", id="greater for less"),
        pytest.param("a\nb\nc\nd\n", "a\nc\nd", id="a missing line"),
        pytest.param("a\nb\nd\n", "a\nb\nc\nd", id="a line too many"),
        pytest.param("a\nb\nc\n", "b\na\nc", id="another order"),
        pytest.param("a\n\nb\n", "a\nb", id="a blank line between"),
        pytest.param('p("a b")\n', 'p("a  b")', id="blanks in quotes"),
        pytest.param("p('a  b')\n", "p('a b')", id="blanks in single quotes"),
        pytest.param("p(`a\tb`)\n", "p(`a b`)", id="a tab in backticks"),
        pytest.param('p("a")\n', "p('a')", id="other quotes"),
        pytest.param('p("a")\n', 'p("A")', id="another case"),
        pytest.param("ab\n", "a b", id="a blank within a word"),
        pytest.param("if a:\n    b\nc\n", "if a:\n    b\n    c", id="another nesting"),
        pytest.param("if a:\n  b\n  c\n", "if a:\nb\n  c", id="indentation of one line lost"),
        pytest.param("  a\n b\n", "a\nb", id="indentation lost unevenly"),
        pytest.param("\ta\n    b\n", "    a\n    b", id="mixed tabs and blanks"),
        pytest.param(block("g(x, 1)"), block("g(x,2)").strip(), id="a number in a block"),
        pytest.param(block("g(x, y)"), block("g(x,z)").strip(), id="an identifier in a block"),
        pytest.param(block("g(a != b)"), block("g(a  ==  b)").strip(), id="a sign in a block"),
        pytest.param(block('g("a, b")'), block('g("a,b")').strip(), id="quoted text in a block"),
        pytest.param(block("g(a, b)"), block("g(b,a)").strip(), id="another order in a block"),
        pytest.param(block("# is 1.5"), block("# is 15").strip(), id="a number in a comment"),
        pytest.param(block("x = a - -b"), block("x = a--b").strip(), id="signs that join"),
        pytest.param("a1\nx = 1\nb1\n", "a1\nx=1\nb2", id="another last line"),
        pytest.param("404: 'x'\n405: 'y'\n", "3: 'y'", id="a key that is no line number"),
        pytest.param("a\nb\n", "7|b", id="another line number"),
        pytest.param("a\nb\nc\n", "1|a\n3|b", id="line numbers with a gap"),
        pytest.param("a\nb\n", "1|a\nb", id="line numbers on some lines"),
        pytest.param("a\nb\nc\n", "5|a\nb\n5|c", id="sparse line numbers that do not fit"),
        pytest.param("a\nb\n", "a\n10|b\n16|c", id="a line number that is not shown"),
        pytest.param("p('a\\tb')\n", "p('a b')", id="an escape for a blank"),
        pytest.param("p(a\\nb)\n", "p(a\nb)", id="a newline for an escape"),
        pytest.param("x²\n", "x2", id="a power for a digit"),
        pytest.param("\uff41 = 1\n", "a = 1", id="a wide letter"),
        pytest.param("\u0430 = 1\n", "a = 1", id="a letter of another script"),
        pytest.param("café\n", "cafe", id="a letter without its accent"),
        pytest.param("say “hi”\n", "say 'hi'", id="single quotes for curly double"),
        pytest.param("a… b\n", "a.. b", id="two dots for three"),
        pytest.param("a\r\nb\r\n", "a\rb", id="a carriage return for a line end"),
        pytest.param("", "a", id="an empty text"),
        pytest.param("\n\n\n", "   ", id="blanks for lines"),
    ],
)
def test_near_matches_that_differ_in_meaning_are_not_replaced(text: str, old: str) -> None:
    with pytest.raises(NotFoundError):
        replace(text, old, "something else")
    with pytest.raises(NotFoundError):
        replace(text, old, "something else", replace_all=True)


@pytest.mark.parametrize(
    ("text", "old", "count", "lines"),
    [
        pytest.param("a\nb\na\n", "a", 2, (1, 3), id="exact"),
        pytest.param("a a\n", "a", 2, (1, 1), id="on one line"),
        pytest.param("aaa\n", "aa", 2, (1, 1), id="overlapping"),
        pytest.param("x\n" * 12, "x", 12, tuple(range(1, 11)), id="more than are listed"),
        pytest.param("a \nb\na\t\nb\n", "a\nb", 2, (1, 3), id="end blanks"),
        pytest.param("a\n a\n\n  a\n", "\n   a", 3, (1, 2, 4), id="indentation"),
        pytest.param(" a\n b\n  a\n  b\n", "a\nb", 2, (1, 3), id="indentation of several lines"),
        pytest.param("a  b\na   b\n", "a b", 2, (1, 2), id="spacing"),
        pytest.param("“a”\n„a“\n", '"a"', 2, (1, 2), id="look-alikes"),
        pytest.param("a\nb\na\nb\n", "a\\nb", 2, (1, 3), id="escapes"),
        pytest.param("a\nb\na\nb\n", "1|a\n2|b", 2, (1, 3), id="line numbers"),
        pytest.param("a\nb(c,d)\ne\n" * 2, "a\nb(c, d)\ne", 2, (1, 4), id="block anchor"),
    ],
)
def test_a_text_with_several_matches_is_not_replaced(
    text: str, old: str, count: int, lines: tuple[int, ...]
) -> None:
    with pytest.raises(AmbiguousError) as caught:
        replace(text, old, "something else")
    assert (caught.value.count, caught.value.lines) == (count, lines)
    assert "replace_all" in str(caught.value)


def test_replace_all_is_refused_if_only_the_ends_of_a_block_match() -> None:
    with pytest.raises(AmbiguousError):
        replace("a\nb(c,d)\ne\n" * 2, "a\nb(c, d)\ne", "x", replace_all=True)


def test_an_empty_old_text_is_refused() -> None:
    with pytest.raises(NothingToFindError, match="The old text is empty"):
        replace("a", "", "b")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        pytest.param("a", "a", "a", id="old is new"),
        pytest.param("a  b", "a b", "a  b", id="the file reads so already"),
        pytest.param("x\n\ta\n", "    a", "\ta", id="its indentation is so already"),
    ],
)
def test_an_edit_that_changes_nothing_is_refused(text: str, old: str, new: str) -> None:
    with pytest.raises(NothingToChangeError):
        replace(text, old, new)


def test_the_nearest_lines_are_shown_with_line_numbers() -> None:
    text = "".join(f"line number {number}\n" for number in range(1, 100)) + "def wanted(a, b):\n"
    with pytest.raises(NotFoundError) as caught:
        replace(text, "line number 41\nline number 42\nline umber 43\n", "x")
    assert caught.value.nearest == NearestText(
        41,
        ("line number 41", "line number 42", "line number 43"),
        'Line 43: the file has "number", the old text "umber".',
    )
    assert str(caught.value) == (
        "The old text is not in the file. The nearest is at lines 41-43. Copy it exactly:\n"
        "41|line number 41\n42|line number 42\n43|line number 43\n"
        'Line 43: the file has "number", the old text "umber".'
    )


def test_a_similar_line_is_shown() -> None:
    with pytest.raises(NotFoundError) as caught:
        replace("import os\n\ndef read(path, mode):\n    pass\n", "def read(path, kind):", "x")
    assert caught.value.nearest == NearestText(
        3, ("def read(path, mode):",), 'Line 3: the file has "mode", the old text "kind".'
    )


def test_for_a_long_text_eight_lines_around_the_difference_are_shown() -> None:
    lines = [f"line {number}" for number in range(1, 41)]
    with pytest.raises(NotFoundError) as caught:
        replace("\n".join(lines), "\n".join([*lines[:29], "other", *lines[30:]]), "x")
    difference = 'Line 30: the file has "line 30", the old text "other".'
    assert caught.value.nearest == NearestText(28, tuple(lines[27:35]), difference)


def test_nothing_is_shown_if_nothing_is_similar() -> None:
    with pytest.raises(NotFoundError) as caught:
        replace("alpha\nbeta\n", "gamma delta", "x")
    assert (caught.value.nearest, caught.value.applied_line) == (None, None)
    assert "no line is similar" in str(caught.value)


TEXT = """\
import os

def read(path, mode):
    with open(path, mode) as file:
        return 1
say("a b")
"""


@pytest.mark.parametrize(
    ("old", "difference"),
    [
        pytest.param(
            "def read(path):", 'the file has "path, mode", the old text "path"', id="less"
        ),
        pytest.param(
            "def read(path, mode, x):", 'the file has "mode", the old text "mode, x"', id="more"
        ),
        pytest.param('say("a\tb")', 'the file has " ", the old text "\\t"', id="a tab"),
        pytest.param(
            "def read(path, mode):\n        return 1",
            "The old text leaves out line 4.",
            id="left out",
        ),
        pytest.param(
            "import os\nimport re\n\ndef read(path, mode):",
            'The old text has "import re" before line 2; the file does not.',
            id="made up",
        ),
        pytest.param(
            "def read(file, mode):\n    with open(file, mode) as file:",
            'Line 3: the file has "path", the old text "file". In all, 2 lines differ.',
            id="two lines",
        ),
        pytest.param("importing osx", 'the file has "import os"', id="similar, no word the same"),
    ],
)
def test_the_first_difference_is_marked(old: str, difference: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        replace(TEXT, old, "x")
    assert caught.value.nearest is not None
    assert difference in caught.value.nearest.difference


KEPT, LONG = "first line", "the_second_line_of_the_file()"


@pytest.mark.parametrize(
    ("text", "old", "new", "line"),
    [
        pytest.param(f"a\n{KEPT}\n{LONG}\n", f"{KEPT}\nold", f"{KEPT}\n{LONG}", 2, id="made"),
        pytest.param(f"{LONG}\n{KEPT}\n", f"old\n{KEPT}\n", f"{LONG}\n{KEPT}\n", 1, id="above"),
        pytest.param(f"{KEPT}\n{LONG}", f"{KEPT}\nold\n{LONG}", f"{KEPT}\n{LONG}", 1, id="deleted"),
        pytest.param(f"{KEPT}\nshort()\n", f"{KEPT}\nold", f"{KEPT}\nshort()", None, id="short"),
        pytest.param(f"a\n{LONG}\n", "old", LONG, None, id="nothing around it"),
        pytest.param(f"b\n{LONG}\n", f"{KEPT}\nold", f"{KEPT}\n{LONG}", None, id="another place"),
        pytest.param(
            f"{KEPT}\n{LONG}x\n", f"{KEPT}\nold", f"{KEPT}\n{LONG}", None, id="half a line"
        ),
    ],
)
def test_an_edit_seems_made_if_whole_lines_and_those_around_them_are_there(
    text: str, old: str, new: str, line: int | None
) -> None:
    with pytest.raises(NotFoundError) as caught:
        replace(text, old, new)
    assert caught.value.applied_line == line
    assert (SEEMS_MADE in str(caught.value)) == (line is not None)
