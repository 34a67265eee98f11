"""What counts as the same text, and what then stands in the file, byte for byte."""

from dataclasses import dataclass

import pytest

from skills_store.patching.matching import Replacement, replace
from tests.support.case_table import each_case


@dataclass(frozen=True)
class Case:
    id: str
    strategy: str
    text: str
    old: str
    new: str
    result: str


EXACT = [
    Case("a word", "exact", "one two\n", "two", "three", "one three\n"),
    Case("part of a word, as it was asked", "exact", "account", "count", "cord", "accord"),
    Case("several lines", "exact", "a\nb\nc\n", "a\nb\n", "B\n", "B\nc\n"),
    Case("a deletion", "exact", "a\nb\nc\n", "b\n", "", "a\nc\n"),
    Case("blanks only", "exact", "a  b", "  ", " ", "a b"),
    Case("a stray carriage return stays", "exact", "a\r\nb\r\n", "a", "x", "x\r\nb\r\n"),
    Case("escapes that are meant", "exact", 'p("\\n")', '"\\n"', '"\\t"', 'p("\\t")'),
    Case("curly quotes", "exact", "it\u2019s", "it\u2019s", "it is", "it is"),
    Case("regular expression signs", "exact", "a.*b", ".*", "\\1", "a\\1b"),
]
EDGES = [
    Case("the file ends without newline", "edge newlines", "a\nb", "b\n", "c\n", "a\nc"),
    Case("so, and the new text too", "edge newlines", "a\nb", "b\n", "c", "a\nc"),
    Case("the last line goes", "edge newlines", "a\nb", "b\n", "", "a\n"),
    Case("the file begins at once", "edge newlines", "a\nb\n", "\na\n", "\nx\n", "x\nb\n"),
    Case("a blank line before", "blank edges", "x\na\ny\n", "\n\na", "\n\nb", "x\nb\ny\n"),
    Case("a blank line behind", "blank edges", "x\na\ny\n", "a\n\n", "b\n\n", "x\nb\ny\n"),
    Case("both, in part of new", "blank edges", "x\na\ny\n", "\n\na\n\n", "b", "x\nb\ny\n"),
    Case("a line goes with its end", "blank edges", "x\na\ny\n", "a\n\n", "", "x\ny\n"),
    Case("blank lines of blanks", "blank edges", "x\na\ny\n", "  \na\n  ", "b", "x\nb\ny\n"),
    Case("new blank lines stay", "blank edges", "x\na\n", "a\n\n", "b\n\n\n", "x\nb\n\n"),
]
END_BLANKS = [
    Case("blanks in the file", "end blanks", "a  \nb\n", "a\nb", "a\nc", "a  \nc\n"),
    Case("blanks in old", "end blanks", "a\nb\n", "a  \nb", "a  \nc", "a\nc\n"),
    Case("a tab in the file", "end blanks", "a\t\nb\n", "a\nb\n", "x\nb\n", "x\nb\n"),
    Case("blanks behind the end stay", "end blanks", "a \nb  \nc", "a\nb", "a\nB", "a \nB  \nc"),
    Case("a blank line of blanks", "end blanks", "a\n   \nb\n", "a\n\nb", "a\n\nc", "a\n   \nc\n"),
    Case("old ends in a blank", "end blanks", "x = 1\ny\n", "x = 1 ", "x = 2", "x = 2\ny\n"),
    Case(
        "carriage returns stay",
        "end blanks",
        "a\r\nb\r\nc\r\n",
        "a\nb\n",
        "a\nx\n",
        "a\r\nx\r\nc\r\n",
    ),
    Case(
        "new lines get carriage returns",
        "end blanks",
        "a\r\nb\r\nc\r\n",
        "a\nb",
        "a\nx\ny",
        "a\r\nx\r\ny\r\nc\r\n",
    ),
    Case("a line goes", "end blanks", "a \nb\nc\n", "a\nb\n", "a\n", "a \nc\n"),
    Case("its blanks go too", "end blanks", "a \nb\t \nc\n", "a\nb", "a", "a \nc\n"),
    Case("all goes", "end blanks", "a \nb  \nc\n", "a\nb", "", "\nc\n"),
    Case("a line below takes none", "end blanks", "a \nb  \n", "a\nb", "a\nb\nx", "a \nb  \nx\n"),
    Case("a last line of its own", "end blanks", "a \nb  ", "a\nb", "c\nd\ne", "c\nd\ne"),
    Case(
        "a line below takes the carriage return alone",
        "end blanks",
        "a\r\nb \r\nc\r\n",
        "a\nb",
        "a\nb\nx",
        "a\r\nb \r\nx\r\nc\r\n",
    ),
]
INDENTATION = [
    Case(
        "the base is lost",
        "indentation",
        "class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n    return 1",
        "def f(self):\n    return 2",
        "class A:\n    def f(self):\n        return 2\n",
    ),
    Case(
        "lines are added",
        "indentation",
        "    if a:\n        b()\n",
        "if a:\n    b()\n",
        "if a:\n    b()\nelse:\n    c()\n",
        "    if a:\n        b()\n    else:\n        c()\n",
    ),
    Case(
        "there is too much of it",
        "indentation",
        "a:\n  b\n",
        "    a:\n      b",
        "    a:\n      c",
        "a:\n  c\n",
    ),
    Case(
        "too much, and new goes further out",
        "indentation",
        "  a\n  b\n",
        "    a\n    b",
        "    a\n  x\n    b",
        "  a\nx\n  b\n",
    ),
    Case(
        "tabs in the file",
        "indentation",
        "\tif a:\n\t\tb()\n",
        "    if a:\n        b()",
        "    if a:\n        if c:\n            b()",
        "\tif a:\n\t\tif c:\n\t\t\tb()\n",
    ),
    Case(
        "tabs in the file, two blanks a step",
        "indentation",
        "\tif a:\n\t\tb()\n",
        "  if a:\n    b()",
        "  if a:\n    c()",
        "\tif a:\n\t\tc()\n",
    ),
    Case(
        "tabs in the file, and the base is lost",
        "indentation",
        "\tif a:\n\t\tb()\n",
        "if a:\n    b()",
        "if a:\n    if c:\n        b()",
        "\tif a:\n\t\tif c:\n\t\t\tb()\n",
    ),
    Case(
        "tabs in the file, one line",
        "indentation",
        "x\n\ta = 1\n",
        "    a = 1",
        "    a = 2",
        "x\n\ta = 2\n",
    ),
    Case(
        "tabs in old",
        "indentation",
        "if a:\n    b()\n    c()\n",
        "if a:\n\tb()\n\tc()",
        "if a:\n\tb()\n\tif d:\n\t\tc()",
        "if a:\n    b()\n    if d:\n        c()\n",
    ),
    Case(
        "two blanks a step for four",
        "indentation",
        "if a:\n    if b:\n        c()\n",
        "if a:\n  if b:\n    c()",
        "if a:\n  if b:\n    if d:\n      c()",
        "if a:\n    if b:\n        if d:\n            c()\n",
    ),
    Case(
        "one line",
        "indentation",
        "    return 1\n    stop\n",
        "        stop",
        "        go\n        stop",
        "    return 1\n    go\n    stop\n",
    ),
    Case(
        "blank lines do not count",
        "indentation",
        "  a\n\n  b\n",
        "a\n  \nb",
        "a\n\nc",
        "  a\n\n  c\n",
    ),
    Case(
        "with end blanks and edges",
        "indentation",
        "x\n  a \n  b\ny\n",
        "\na\nb\n\n",
        "\na\nc\n\n",
        "x\n  a \n  c\ny\n",
    ),
    Case(
        "a line goes",
        "indentation",
        "x\n\ta\n\tb\ny\n",
        "    a\n    b\n",
        "    a\n",
        "x\n\ta\ny\n",
    ),
    Case("the only line goes", "indentation", "x\n\ta\ny\n", "    a\n", "", "x\ny\n"),
]
SPACING = [
    Case("a run for a blank", "spacing", "a  =  1\n", "a = 1", "a = 2", "a  =  2\n"),
    Case("a blank for a run", "spacing", "a = 1\n", "a   =   1", "a   =   2", "a = 2\n"),
    Case("a tab between", "spacing", "a\t=\t1\n", "a = 1", "b = 1", "b\t=\t1\n"),
    Case("part of a line", "spacing", "f(a,  b) # c\n", "f(a, b)", "f(a, c)", "f(a,  c) # c\n"),
    Case(
        "with another base",
        "spacing",
        "    a  = 1\n    bb = 2\n",
        "a = 1\nbb = 2",
        "a = 1\nbb = 3",
        "    a  = 1\n    bb = 3\n",
    ),
    Case(
        "the comment keeps its column",
        "spacing",
        "x = 1   # one\ny = 2\n",
        "x = 1 # one\ny = 2",
        "x = 7 # one\ny = 2",
        "x = 7   # one\ny = 2\n",
    ),
    Case("outside of quotes", "spacing", 'a  = "b"\n', 'a = "b"', 'a = "c"', 'a  = "c"\n'),
    Case("an apostrophe", "spacing", "I don't  know\n", "don't know", "do", "I do\n"),
    Case("the run is what changes", "spacing", "a  b c\n", "a b  c", "a b, c", "a  b, c\n"),
]
ESCAPES = [
    Case("newlines", "escapes", "a\nb\n", "a\\nb", "a\\nc", "a\nc\n"),
    Case("quotes", "escapes", 'p("a")\n', 'p(\\"a\\")', 'p(\\"b\\")', 'p("b")\n'),
    Case("apostrophes", "escapes", "p('a')\n", "p(\\'a\\')", "p(\\'b\\')", "p('b')\n"),
    Case("tabs", "escapes", "if a:\n\tb\n", "if a:\n\\tb", "if a:\n\\tc", "if a:\n\tc\n"),
    Case("backslashes", "escapes", "a\\d+\n", "a\\\\d+", "b\\\\d+", "b\\d+\n"),
    Case("only those of old", "escapes", 'p("a")\n', 'p(\\"a\\")', 'p(\\"a\\n\\")', 'p("a\\n")\n'),
    Case(
        "escaped once too often",
        "escapes",
        'f()\np("a\\n")\n',
        'f()\\np(\\"a\\\\n\\")',
        'f()\\np(\\"b\\\\n\\")',
        'f()\np("b\\n")\n',
    ),
    Case("with another base", "escapes", "x\n  a\n  b\n", "a\\nb", "a\\nc", "x\n  a\n  c\n"),
]
LOOKALIKES = [
    Case(
        "an apostrophe",
        "look-alikes",
        "it\u2019s a dog\n",
        "it's a dog",
        "it's a cat",
        "it\u2019s a cat\n",
    ),
    Case("curly quotes", "look-alikes", "say “hi” to\n", 'say "hi"', 'say "ho"', "say “ho” to\n"),
    Case("straight quotes", "look-alikes", 'a "b"\n', "a “b”", "a “c”", 'a "c"\n'),
    Case(
        "an en dash",
        "look-alikes",
        "pages 1\u20139 of\n",
        "pages 1-9",
        "page 1-9",
        "page 1\u20139 of\n",
    ),
    Case("an em dash", "look-alikes", "a — b\n", "a - b", "a - c", "a — c\n"),
    Case("an em dash as two", "look-alikes", "a — b\n", "a -- b", "a -- c", "a — c\n"),
    Case("a minus", "look-alikes", "t = \u22121\n", "t = -1", "t = -2", "t = \u22122\n"),
    Case("a blank that does not break", "look-alikes", "5\xa0km\n", "5 km", "6 km", "6\xa0km\n"),
    Case("an ellipsis", "look-alikes", "wait… no\n", "wait... no", "wait... yes", "wait… yes\n"),
    Case(
        "composed in the file",
        "look-alikes",
        "café x\n",
        "cafe\u0301 x",
        "cafe\u0301 y",
        "café y\n",
    ),
    Case("composed in old", "look-alikes", "cafe\u0301 x\n", "café x", "café y", "cafe\u0301 y\n"),
    Case(
        "context keeps its quotes",
        "look-alikes",
        "“a”\nb\n“c”\n",
        '"a"\nb\n"c"',
        '"a"\nB\n"c"',
        "“a”\nB\n“c”\n",
    ),
    Case(
        "with another base",
        "look-alikes",
        "x\n  “a”\n  b\n",
        '"a"\nb',
        '"a"\nc',
        "x\n  “a”\n  c\n",
    ),
]
NUMBERS = [
    Case("bars", "line numbers", "a\nb\nc\n", "  2|b\n  3|c", "  2|B\n  3|c", "a\nB\nc\n"),
    Case("tabs", "line numbers", "a\nb\n", "1\ta\n2\tb\n", "1\tx\n2\tb\n", "x\nb\n"),
    Case(
        "colons",
        "line numbers",
        "if a:\n  b\n",
        "1: if a:\n2:   b",
        "1: if c:\n2:   b",
        "if c:\n  b\n",
    ),
    Case("colons without blank", "line numbers", "a\nb\n", "1:a\n2:b", "1:a\n2:c", "a\nc\n"),
    Case("only in old", "line numbers", "a\nb\n", "1|a\n2|b", "a\nc", "a\nc\n"),
    Case("a blank line", "line numbers", "a\n\nb\n", "1|a\n2|\n3|b", "1|a\n2|\n3|c", "a\n\nc\n"),
    Case("one line, in its place", "line numbers", "a\nb\n", "2|b", "2|c", "a\nc\n"),
    Case(
        "every fifth",
        "line numbers",
        "3\n4\na\nb\n",
        "4\n5|a\nb",
        "4\n5|A\n+\nb",
        "3\n4\nA\n+\nb\n",
    ),
    Case("every fifth, only in old", "line numbers", "4\na\n", "4\n5|a", "4\nb", "4\nb\n"),
    Case(
        "every fifth, alone and in its place",
        "line numbers",
        "1\n2\n3\n4\na\na\n",
        "5|a",
        "5|b",
        "1\n2\n3\n4\nb\na\n",
    ),
    Case("from nine to ten", "line numbers", "a\nb\n", " 9|a\n10|b", " 9|a\n10|c", "a\nc\n"),
    Case(
        "with another base",
        "line numbers",
        "x\n  a\n  b\n",
        "2|a\n3|b",
        "2|a\n3|c",
        "x\n  a\n  c\n",
    ),
]
ANCHORS = [
    Case(
        "blanks between signs",
        "block anchor",
        "def f():\n    g(a,b)\n    return 1\n",
        "def f():\n    g(a, b)\n    return 1",
        "def f():\n    g(a, b)\n    return 2",
        "def f():\n    g(a,b)\n    return 2\n",
    ),
    Case(
        "a comment's full stop",
        "block anchor",
        "a\n# Then, b.\nc\n",
        "a\n# Then b\nc",
        "a\n# Then b\nd",
        "a\n# Then, b.\nd\n",
    ),
    Case(
        "with another base",
        "block anchor",
        "  a(\n    x=1,\n  )\n",
        "a(\n  x = 1,\n)",
        "a(\n  x = 1,\n  y = 2,\n)",
        "  a(\n    x=1,\n    y = 2,\n  )\n",
    ),
]
CASES = [
    *EXACT,
    *EDGES,
    *END_BLANKS,
    *INDENTATION,
    *SPACING,
    *ESCAPES,
    *LOOKALIKES,
    *NUMBERS,
    *ANCHORS,
]


@each_case("case", CASES, ids=lambda case: f"{case.strategy}: {case.id}")
def test_tolerated_differences_are_matched_and_replaced(case: Case) -> None:
    replacement = replace(case.text, case.old, case.new)
    assert (replacement.text, replacement.strategy) == (case.result, case.strategy)
    ((start, end),) = replacement.spans
    assert case.result.startswith(case.text[:start])
    assert case.result.endswith(case.text[end:])


def test_all_matches_are_replaced_on_request() -> None:
    assert replace("a b a\na\n", "a", "x", replace_all=True) == Replacement(
        "x b x\nx\n", 3, "exact", ((0, 1), (4, 5), (6, 7)), 1
    )


def test_each_match_keeps_its_surrounding_whitespace_and_comments() -> None:
    text = "x  = 1 # a\ny\n\tx   = 1\n"
    assert replace(text, "x = 1", "x = 2", replace_all=True) == Replacement(
        "x  = 2 # a\ny\n\tx   = 2\n", 2, "spacing", ((0, 6), (14, 21)), 1
    )


def test_of_two_overlapping_matches_the_first_is_replaced() -> None:
    assert replace("aaa", "aa", "b", replace_all=True) == Replacement(
        "ba", 1, "exact", ((0, 2),), 1
    )


@pytest.mark.parametrize(
    ("text", "old", "new", "line"),
    [
        pytest.param("a\nb\nc\n", "a\nb\nc", "a\nb\nd", 3, id="context before"),
        pytest.param("a\nb\nc\n", "b", "x", 2, id="the line itself"),
        pytest.param("a\nb\nc", "\nc", "", 2, id="the last line goes"),
        pytest.param("a\nb\n", "b\n", "", 1, id="the end goes"),
        pytest.param("a\nb\nc\n", "b\n", "", 2, id="a line goes"),
        pytest.param("a\n", "a\n", "a\nb\n", 2, id="a line comes"),
        pytest.param("a", "a", "a\n", 1, id="only a newline"),
        pytest.param("x\n  a \n  b\n", "a\nb", "a\nc", 3, id="tolerant"),
    ],
)
def test_the_first_changed_line_is_reported(text: str, old: str, new: str, line: int) -> None:
    assert replace(text, old, new).line == line


def test_the_spans_of_a_text_with_ellipses_are_those_of_its_parts() -> None:
    text = "a\nfirst\nb\nkept\nc\nlast\nd\n"
    result = replace(text, "first\n...\nlast\n", "one\n...\ntwo\n")
    assert [text[start:end] for start, end in result.spans] == ["first", "last"]
