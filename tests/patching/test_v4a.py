"""Which patches can be read, and what they say."""

import pytest

from skills_store.patching.changes import (
    AddFile,
    DeleteFile,
    FileChange,
    Hunk,
    HunkLine,
    UpdateFile,
)
from skills_store.patching.errors import EmptyPatchError, MalformedPatchError, RepeatedPathError
from skills_store.patching.v4a import parse_patch

STAY, GO, COME = HunkLine(" ", "a"), HunkLine("-", "b"), HunkLine("+", "c")
BODY = " a\n-b\n+c\n"
CHANGE = UpdateFile("f.py", (Hunk((STAY, GO, COME)),))
UPDATE = f"*** Update File: f.py\n{BODY}"


def update(*hunks: Hunk, move_to: str | None = None) -> tuple[FileChange, ...]:
    return (UpdateFile("f.py", hunks, move_to),)


def patch(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        pytest.param(patch(UPDATE), (CHANGE,), id="an update"),
        pytest.param(patch(f"*** Update File: f.py\n@@\n{BODY}"), (CHANGE,), id="a bare heading"),
        pytest.param(UPDATE, (CHANGE,), id="without begin and end"),
        pytest.param(patch(UPDATE).rstrip(), (CHANGE,), id="without a last newline"),
        pytest.param(f"```diff\n{patch(UPDATE)}```\n", (CHANGE,), id="fenced"),
        pytest.param(f"```\n{UPDATE}```\n", (CHANGE,), id="fenced, without begin and end"),
        pytest.param(f"Here it is:\n{patch(UPDATE)}Done.\n", (CHANGE,), id="words around it"),
        pytest.param(patch(UPDATE).replace("\n", "\r\n"), (CHANGE,), id="windows newlines"),
        pytest.param(
            "*** Begin Patch  \n*** Update File:  f.py \t\n@@  \n" + BODY + "*** End Patch \n",
            (CHANGE,),
            id="blanks behind markers",
        ),
        pytest.param(
            patch("*** Update File: f.py\n a\n\n-b\n+c\n\n"),
            update(Hunk((STAY, HunkLine(" ", ""), GO, COME))),
            id="an empty context line",
        ),
        pytest.param(
            patch("*** Update File: f.py\n a\n-b\n+c\nx\n"),
            update(Hunk((STAY, GO, COME, HunkLine(" ", "x")))),
            id="a context line without its blank",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n@@ class A:\n@@   def f():\n{BODY}"),
            update(Hunk((STAY, GO, COME), ("class A:", "def f():"))),
            id="stacked headings",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n@@ def f(): @@\n{BODY}"),
            update(Hunk((STAY, GO, COME), ("def f():",))),
            id="a heading closed on the right",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n@@ -12,3 +12,3 @@ def f():\n{BODY}"),
            update(Hunk((STAY, GO, COME), ("def f():",), line_hint=12)),
            id="a unified heading",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n@@ -1 +1 @@\n{BODY}\\ No newline at end of file\n"),
            update(Hunk((STAY, GO, COME), line_hint=1)),
            id="a unified heading alone",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n{BODY}*** End of File\n"),
            update(Hunk((STAY, GO, COME), is_at_end=True)),
            id="the end of the file",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n{BODY}@@\n+c\n"),
            update(Hunk((STAY, GO, COME)), Hunk((COME,))),
            id="two hunks",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n*** Move to: g.py\n{BODY}"),
            update(Hunk((STAY, GO, COME)), move_to="g.py"),
            id="an update that moves",
        ),
        pytest.param(
            patch("*** Update File: f.py\n*** Move to: g.py\n"),
            update(move_to="g.py"),
            id="a move alone",
        ),
        pytest.param(
            patch("*** Move File: f.py -> g.py\n"), update(move_to="g.py"), id="a move by its name"
        ),
        pytest.param(
            patch("*** Add File: f.py\n+a\n+\n\n+b\n\n"),
            (AddFile("f.py", "a\n\n\nb\n"),),
            id="a new file",
        ),
        pytest.param(patch("*** Add File: f.py\n"), (AddFile("f.py", ""),), id="an empty file"),
        pytest.param(patch("*** Delete File: f.py\n"), (DeleteFile("f.py"),), id="a deletion"),
        pytest.param(
            patch("*** Add File: a b.py\n+*** End Patch\n*** Delete File: ä/ö.py\n"),
            (AddFile("a b.py", "*** End Patch\n"), DeleteFile("ä/ö.py")),
            id="several files, a marker as text",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n{BODY}*** Delete File: g\n*** Update File: f.py\n+c\n"),
            (UpdateFile("f.py", (Hunk((STAY, GO, COME)), Hunk((COME,)))), DeleteFile("g")),
            id="one file updated twice",
        ),
    ],
)
def test_a_patch_is_parsed(text: str, changes: tuple[FileChange, ...]) -> None:
    assert parse_patch(text) == changes


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        pytest.param("", EmptyPatchError, 1, id="nothing"),
        pytest.param(patch(""), EmptyPatchError, 1, id="no file"),
        pytest.param("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", EmptyPatchError, 1, id="no V4A"),
        pytest.param(patch("*** Update File: f\n"), MalformedPatchError, 2, id="no hunk"),
        pytest.param(patch("*** Update File: f\n@@ a\n"), MalformedPatchError, 2, id="no lines"),
        pytest.param(patch("*** Add File: \n+a\n"), MalformedPatchError, 2, id="no path"),
        pytest.param(patch("*** Move File: a\n"), MalformedPatchError, 2, id="no target"),
        pytest.param(patch("*** Add File: f\nhello\n"), MalformedPatchError, 3, id="no plus"),
        pytest.param(
            patch("*** Delete File: f\n-a\n"), MalformedPatchError, 3, id="a full deletion"
        ),
        pytest.param(
            patch("*** Add File: f\n*** Move to: g\n"),
            MalformedPatchError,
            3,
            id="a moved addition",
        ),
        pytest.param(
            f"```\n{UPDATE}```\n+more\n", MalformedPatchError, 7, id="lines behind the fence"
        ),
        pytest.param(
            patch("*** Add File: f\n+a\n*** Update File: f\n-a\n"),
            RepeatedPathError,
            4,
            id="added and updated",
        ),
        pytest.param(
            patch("*** Delete File: f\n*** Delete File: f\n"),
            RepeatedPathError,
            3,
            id="deleted twice",
        ),
        pytest.param(
            patch("*** Move File: f -> g\n*** Move File: f -> h\n"),
            RepeatedPathError,
            3,
            id="moved twice",
        ),
    ],
)
def test_an_invalid_patch_is_refused(text: str, kind: type[MalformedPatchError], line: int) -> None:
    with pytest.raises(MalformedPatchError) as caught:
        parse_patch(text)
    assert (type(caught.value), caught.value.line) == (kind, line)
