"""Where hunks go in a text, and when they are refused."""

import pytest

from skills_store.patching.changes import Hunk, UpdateFile
from skills_store.patching.errors import (
    AmbiguousError,
    NearestText,
    NotFoundError,
    NothingToChangeError,
    PatchError,
    UnplacedInsertionError,
)
from skills_store.patching.hunk_application import apply_hunks
from skills_store.patching.v4a import parse_patch

CLASSES = """\
class A:
    def f(self):
        return 1

class B:
    def f(self):
        return 1
"""


def hunks(body: str) -> tuple[Hunk, ...]:
    (change,) = parse_patch(f"*** Update File: f\n{body}")
    assert isinstance(change, UpdateFile)
    return change.hunks


@pytest.mark.parametrize(
    ("text", "body", "result", "lines"),
    [
        pytest.param("a\nb\nc\n", " a\n-b\n+x\n c\n", "a\nx\nc\n", (2,), id="a line changes"),
        pytest.param("a\nb\nc\n", "-b\n", "a\nc\n", (2,), id="a line goes"),
        pytest.param("a\nb", "-b\n", "a", (1,), id="the last line goes"),
        pytest.param("a\nb", " b\n+c\n", "a\nb\nc", (3,), id="a line comes last"),
        pytest.param("a\nb\n", "+x\n a\n", "x\na\nb\n", (1,), id="a line comes first"),
        pytest.param("a\n", "-a\n", "", (1,), id="the only line goes"),
        pytest.param(
            "maxx = 1\nx = 1\n", "-x = 1\n+x = 2\n", "maxx = 1\nx = 2\n", (2,), id="whole lines"
        ),
        pytest.param(
            "a\nb\nc\nd\n", "-a\n+x\n+y\n@@\n-d\n+z\n", "x\ny\nb\nc\nz\n", (1, 5), id="two hunks"
        ),
        pytest.param(
            "a\nb\nc\n", "-c\n+z\n@@\n-a\n+x\n+y\n", "x\ny\nb\nz\n", (4, 1), id="two in reverse"
        ),
        pytest.param(
            "a\nb\nc\n", " a\n-b\n+x\n@@\n x\n-c\n+y\n", "a\nx\ny\n", (2, 3), id="shared context"
        ),
        pytest.param(
            "a\nk\nb\nk\n", " b\n@@\n-k\n+x\n", "a\nk\nb\nx\n", (4,), id="context marks a place"
        ),
        pytest.param(
            "a\nk\nk\n", " a\n@@\n-k\n+x\n", "a\nx\nk\n", (2,), id="the first fit below the last"
        ),
        pytest.param(
            "a\nk \nk\nb\n",
            "-a\n+A\n@@\n-k\n+x\n",
            "A\nk \nx\nb\n",
            (1, 3),
            id="an exact fit before a tolerant one",
        ),
        pytest.param(
            "k\na\nk\n", "-k\n+x\n@@\n-k\n+x\n", "x\na\nx\n", (1, 3), id="as many hunks as fits"
        ),
        pytest.param(
            "if a:\n  b\n  c\nd\n",
            " if a:\n   b\n-  c\n+  x\n d\n",
            "if a:\n  b\n  x\nd\n",
            (3,),
            id="the indentation of a line that stays",
        ),
        pytest.param(
            "a\n  b",
            "     a\n-  b\n+  c\n",
            "a\n  c",
            (2,),
            id="the same at the end, without a newline",
        ),
        pytest.param(
            "k\nk\na\nk\nk\n",
            "@@ -1,2 +1,3 @@\n k\n+y\n+z\n k\n@@ -4,2 +6,2 @@\n-k\n+x\n k\n",
            "k\ny\nz\nk\na\nx\nk\n",
            (2, 6),
            id="a line number counts what was added above",
        ),
        pytest.param("k\na\nk\n", "-a\n+b\n@@\n-k\n+x\n", "k\nb\nx\n", (2, 3), id="order decides"),
        pytest.param(
            CLASSES,
            "@@ class B:\n-        return 1\n+        return 2\n",
            CLASSES[:-2] + "2\n",
            (7,),
            id="a heading decides",
        ),
        pytest.param(
            CLASSES,
            "@@ class A:\n@@ def f(self):\n-        return 1\n+        return 2\n",
            CLASSES.replace("1", "2", 1),
            (3,),
            id="stacked headings decide",
        ),
        pytest.param(
            "class A:\n    x\nclass A:\n    def g():\n        y\n",
            "@@ class A:\n@@ def g():\n-        y\n+        z\n",
            "class A:\n    x\nclass A:\n    def g():\n        z\n",
            (5,),
            id="only one block of several has the second heading",
        ),
        pytest.param(
            CLASSES,
            "@@ class A\n def f(self):\n-    return 1\n+    return 2\n",
            CLASSES.replace("1", "2", 1),
            (3,),
            id="the beginning of a heading, and no base",
        ),
        pytest.param(
            CLASSES,
            "@@ -6,2 +6,2 @@\n     def f(self):\n-        return 1\n+        return 2\n",
            CLASSES[:-2] + "2\n",
            (7,),
            id="a line number decides",
        ),
        pytest.param(
            "a\nb\n",
            "@@ -90,2 +90,2 @@ def gone():\n-b\n+c\n",
            "a\nc\n",
            (2,),
            id="wrong hints do not matter",
        ),
        pytest.param(
            "k\na\nk\n", "-k\n+x\n*** End of File\n", "k\na\nx\n", (3,), id="the end decides"
        ),
        pytest.param("a\nb\n", "@@ a\n+x\n+y\n", "a\nx\ny\nb\n", (2,), id="added below a heading"),
        pytest.param("a\nb", "@@ b\n+x\n", "a\nb\nx", (3,), id="added below a last heading"),
        pytest.param("a\n", "+x\n+y\n*** End of File\n", "a\nx\ny\n", (2,), id="added at the end"),
        pytest.param("", "+x\n+y\n", "x\ny\n", (1,), id="added to an empty file"),
        pytest.param("a \n\tb\n", " a\n-    b\n+    c\n", "a \n\tc\n", (2,), id="tolerant"),
        pytest.param("a\nb  \n", " a\n b\n+x\n", "a\nb  \nx\n", (3,), id="below end blanks"),
        pytest.param("a\nb  \nc\n", " a\n-b\n", "a\nc\n", (2,), id="end blanks go"),
        pytest.param("a \nb  ", " a\n-b\n", "a ", (1,), id="end blanks go at the end"),
        pytest.param("“a”\nb\n", ' "a"\n-b\n+c\n', "“a”\nc\n", (2,), id="look-alikes"),
        pytest.param(
            "a\nb\n\n\nc\n", " a\n-b\n+x\n\n \n \n", "a\nx\n\n\nc\n", (2,), id="blank lines behind"
        ),
        pytest.param("a\n\n\nb\n", " a\n-\n \n b\n", "a\n\nb\n", (3,), id="a blank line goes"),
        pytest.param(
            "a\r\nb\r\nc\r\n", " a\n-b\n+x\n", "a\r\nx\r\nc\r\n", (2,), id="carriage returns"
        ),
    ],
)
def test_hunks_are_applied(text: str, body: str, result: str, lines: tuple[int, ...]) -> None:
    applied = apply_hunks(text, hunks(body))
    assert (applied.text, applied.lines, applied.skipped) == (result, lines, ())


@pytest.mark.parametrize(
    ("text", "body", "kind", "hunk"),
    [
        pytest.param("a\nb\n", "-x\n+y\n", NotFoundError, 1, id="not there"),
        pytest.param("a\nb\n", "-a\n+x\n@@\n-c\n+y\n", NotFoundError, 2, id="the second not there"),
        pytest.param("xa\n", "-a\n+b\n", NotFoundError, 1, id="only part of a line"),
        pytest.param(
            "a\nk\nk\n",
            "@@ -1 +1 @@\n-a\n+x\n@@ -9 +9 @@\n-k\n+x\n",
            AmbiguousError,
            2,
            id="line 9",
        ),
        pytest.param(
            "a\nk\nk\nk\n", "-a\n+x\n@@\n-2|k\n-3|k\n+y\n", AmbiguousError, 2, id="a loose fit"
        ),
        pytest.param(
            "f:\n  k\n  a\n  k\n", "@@ f:\n-  k\n+  x\n", AmbiguousError, 1, id="twice in a block"
        ),
        pytest.param(
            CLASSES,
            "@@ def f(self):\n-        return 1\n+        x\n",
            AmbiguousError,
            1,
            id="two headings",
        ),
        pytest.param("a\nb\n", "+x\n", UnplacedInsertionError, 1, id="no place"),
        pytest.param("a\nb\n", "@@ c\n+x\n", UnplacedInsertionError, 1, id="no such heading"),
        pytest.param("a\nb\na\n", "@@ a\n+x\n", UnplacedInsertionError, 1, id="a heading twice"),
        pytest.param("a\nb\n", " a\n", NothingToChangeError, None, id="only context"),
    ],
)
def test_a_hunk_without_a_unique_position_is_refused(
    text: str, body: str, kind: type[PatchError], hunk: int | None
) -> None:
    with pytest.raises(PatchError) as caught:
        apply_hunks(text, hunks(body))
    assert (type(caught.value), caught.value.hunk) == (kind, hunk)


def test_the_nearest_text_to_a_missing_hunk_is_shown() -> None:
    with pytest.raises(NotFoundError, match=r"^Hunk 1: ") as caught:
        apply_hunks("one\ntwo lines\nthree\n", hunks(" one\n-two line\n+2\n three\n"))
    assert caught.value.nearest == NearestText(
        1,
        ("one", "two lines", "three"),
        'Line 2: the file has "lines", the old text "line".',
    )


def test_an_already_applied_hunk_is_reported_as_such() -> None:
    with pytest.raises(NotFoundError) as caught:
        apply_hunks("one\nthe second of two lines\n", hunks(" one\n-2\n+the second of two lines\n"))
    assert caught.value.applied_line == 1


@pytest.mark.parametrize(
    ("body", "result", "skipped"),
    [
        pytest.param("-a\n+a\n@@\n-b\n+x\n", "a\nx\nb\n", (1,), id="as it was"),
        pytest.param(" gone\n@@\n-a\n+x\n", "x\nb\nb\n", (1,), id="a mark that is not there"),
        pytest.param("-a\n+x\n@@\n-gone\n+gone\n", "x\nb\nb\n", (2,), id="nowhere, unchanged"),
        pytest.param(" a\n@@\n-b\n+x\n", "a\nx\nb\n", (), id="a mark"),
    ],
)
def test_a_hunk_without_a_change_is_skipped(
    body: str, result: str, skipped: tuple[int, ...]
) -> None:
    applied = apply_hunks("a\nb\nb\n", hunks(body))
    assert (applied.text, applied.skipped) == (result, skipped)


def test_sections_of_one_file_may_be_in_any_order() -> None:
    body = "-c\n+C\n*** Update File: f\n@@\n-a\n+A\n@@\n-b\n+B\n"
    assert apply_hunks("a\nb\nc\nb\n", hunks(body)).text == "A\nB\nC\nb\n"


@pytest.mark.parametrize(
    ("text", "body", "result", "fits"),
    [
        pytest.param("k\na\nk\n", "-k\n+x\n", "x\na\nk\n", ((1, 2),), id="the first hunk"),
        pytest.param("k\na\nk\n", " k\n@@\n-k\n+x\n", "k\na\nx\n", (), id="below a mark"),
        pytest.param(
            "k\na\nk\nk\n", "-a\n+A\n@@\n-k\n+x\n", "k\nA\nx\nk\n", ((2, 2),), id="a later hunk"
        ),
        pytest.param(
            "  a\nb\n a\nb\n", "     a\n-b\n+c\n", "  a\nc\n a\nb\n", ((1, 2),), id="indentation"
        ),
        pytest.param(
            "k\na\nk\n",
            "-a\n+A\n*** Update File: f\n@@\n-k\n+x\n",
            "x\nA\nk\n",
            ((2, 2),),
            id="another section of the file",
        ),
    ],
)
def test_a_bare_hunk_takes_the_first_fit_as_in_codex(
    text: str, body: str, result: str, fits: tuple[tuple[int, int], ...]
) -> None:
    applied = apply_hunks(text, hunks(body))
    assert (applied.text, applied.first_fits) == (result, fits)


@pytest.mark.parametrize(
    "body",
    [
        # What goes must be there with its own indentation: it may belong to another block.
        pytest.param(" if a:\n-      go()\n+      stay()\n", id="a line that goes"),
        pytest.param("     if a:\n-  go()\n+  stay()\n", id="the other way round"),
        # Lines that stay may be indented otherwise, but not be others.
        pytest.param(" if b:\n-    go()\n+    stay()\n", id="another line that stays"),
    ],
)
def test_only_the_indentation_of_lines_that_stay_may_differ(body: str) -> None:
    with pytest.raises(NotFoundError):
        apply_hunks("  if a:\n    go()\n    end()\n", hunks(body))


def test_lines_reported_before_move_with_the_lines_that_later_hunks_add() -> None:
    result = apply_hunks("a\nb\nc\nd\n", hunks("-d\n+z\n@@\n-a\n-b\n+x\n"))
    assert (result.text, result.lines) == ("x\nc\nz\n", (3, 1))
