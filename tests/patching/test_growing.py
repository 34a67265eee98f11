"""What of a patch is shown while it is being written."""

import pytest

from skills_store.patching.partial_patch import PatchRegion, partial_patch_regions
from tests.support.case_table import each_case

PATCH = """\
*** Begin Patch
*** Update File: f.py
@@ def f():
 a
-b
+c
@@
+d
*** Add File: g.py
+x
+y
*** Delete File: h.py
*** End Patch
"""
FIRST = PatchRegion("f.py", "a\nb\n", "a\nc\n")
SECOND = PatchRegion("f.py", "", "d\n")


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param("*** Begin Pa", (), id="the first marker"),
        pytest.param("*** Update File: f.", (), id="a path"),
        pytest.param("@@ def f():\n", (), id="a heading"),
        pytest.param(" a\n", (PatchRegion("f.py", "a\n", "a\n"),), id="context"),
        pytest.param(" a\n-", (PatchRegion("f.py", "a\n", "a\n"),), id="a line that may go on"),
        pytest.param("-b\n+", (PatchRegion("f.py", "a\nb\n", "a\n"),), id="a sign alone"),
        pytest.param("-b\n+c", (PatchRegion("f.py", "a\nb\n", "a\nc"),), id="an added line so far"),
        pytest.param("+c\n", (FIRST,), id="an added line"),
        pytest.param("+d\n*** Add Fi", (FIRST, SECOND), id="a marker so far"),
        pytest.param(
            "g.py\n", (FIRST, SECOND, PatchRegion("g.py", None, "")), id="an empty new file"
        ),
        pytest.param("+x\n+y", (FIRST, SECOND, PatchRegion("g.py", None, "x\ny")), id="a new file"),
        pytest.param(
            "*** End Patch\n", (FIRST, SECOND, PatchRegion("g.py", None, "x\ny\n")), id="all"
        ),
    ],
)
def test_a_growing_patch_is_shown_as_far_as_it_is_complete(
    end: str, expected: tuple[PatchRegion, ...]
) -> None:
    assert partial_patch_regions(PATCH[: PATCH.index(end) + len(end)]) == expected


@each_case(
    "text", ["", "+", "+a", "\n\n", "```", "*** Delete File: a\n+b", "*** Move to: x\n+y", "@@\r"]
)
def test_text_that_is_not_yet_a_patch_shows_nothing(text: str) -> None:
    assert partial_patch_regions(text) == ()
