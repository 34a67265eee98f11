"""Which patches can be read, and what they say."""

import pytest

from skills_store.patching.changes import (
    AddFile,
    DeleteFile,
    FileChange,
    Hunk,
    HunkLine,
    ReplaceFile,
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
            (
                UpdateFile("f.py", (Hunk((STAY, GO, COME)), Hunk((COME,), starts_section=True))),
                DeleteFile("g"),
            ),
            id="one file updated twice",
        ),
        pytest.param(
            patch("*** Delete File: f\n*** Delete File: g\n*** Add File: f\n+a\n"),
            (ReplaceFile("f", "a\n"), DeleteFile("g")),
            id="deleted and added",
        ),
        pytest.param(
            patch("*** Add File: f\n+a\n*** Update File: f\n-a\n+b\n"),
            (AddFile("f", "b\n"),),
            id="added and updated",
        ),
        pytest.param(
            patch(f"*** Update File: g\n{UPDATE}"),
            (UpdateFile("g", ()), CHANGE),
            id="a file without a hunk",
        ),
        pytest.param(
            patch(f"*** Update File: f.py\n--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n{BODY}"),
            update(Hunk((STAY, GO, COME), line_hint=1)),
            id="a diff inside",
        ),
        pytest.param(
            patch("*** Update File: f.py\n--- a\n"),
            update(Hunk((HunkLine("-", "-- a"),))),
            id="a removed line that looks like the head of a diff",
        ),
        pytest.param(UPDATE.replace("\n", "\\n"), (CHANGE,), id="escaped once too often"),
    ],
)
def test_a_patch_is_parsed(text: str, changes: tuple[FileChange, ...]) -> None:
    assert parse_patch(text) == changes


HEAD = "--- a/f.py\n+++ b/f.py\n"
AT_1 = "@@ -1,2 +1,2 @@\n"
DIFF_CHANGE = UpdateFile("f.py", (Hunk((STAY, GO, COME), line_hint=1),))


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        pytest.param(f"{HEAD}{AT_1}{BODY}", (DIFF_CHANGE,), id="unified"),
        pytest.param(
            f"diff --git a/f.py b/f.py\nindex 123..456 100644\n{HEAD}{AT_1}{BODY}",
            (DIFF_CHANGE,),
            id="git",
        ),
        pytest.param(
            f"--- f.py\t2024-05-01 10:00\n+++ f.py\t2024-05-02\n{AT_1}{BODY}",
            (DIFF_CHANGE,),
            id="times, and no prefixes",
        ),
        pytest.param(f"```diff\n{HEAD}{AT_1}{BODY}```\n", (DIFF_CHANGE,), id="fenced"),
        pytest.param(f"Here:\n{HEAD}{AT_1}{BODY}-- \n2.39.2\n", (DIFF_CHANGE,), id="an e-mail"),
        pytest.param(f"{HEAD}{BODY}", (CHANGE,), id="without ranges"),
        pytest.param(
            f"{HEAD}@@ -1,9 +1,9 @@\n{BODY}--- a/g\n+++ b/g\n@@ -3 +3 @@\n-b\n+c\n",
            (DIFF_CHANGE, UpdateFile("g", (Hunk((GO, COME), line_hint=3),))),
            id="two files, wrong counts",
        ),
        pytest.param(
            f"{HEAD}{AT_1} a\n--- b\n+c\n",
            (UpdateFile("f.py", (Hunk((STAY, HunkLine("-", "-- b"), COME), line_hint=1),)),),
            id="a removed line that looks like a head",
        ),
        pytest.param(
            "--- /dev/null\n+++ b/g\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
            (AddFile("g", "a\nb"),),
            id="a new file",
        ),
        pytest.param(
            "diff --git a/g b/g\nnew file mode 100644\nindex 000..123\n--- /dev/null\n+++ b/g\n"
            "@@ -0,0 +1 @@\n+a\n",
            (AddFile("g", "a\n"),),
            id="a new file of git",
        ),
        pytest.param(
            "diff --git a/g b/g\nnew file mode 100644\nindex 000..e69\n",
            (AddFile("g", ""),),
            id="an empty file of git",
        ),
        pytest.param(
            "diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n"
            "@@ -1 +0,0 @@\n-a\n",
            (DeleteFile("g"),),
            id="a deletion",
        ),
        pytest.param(
            "diff --git a/g b/h\nsimilarity index 100%\nrename from g\nrename to h\n",
            (UpdateFile("g", (), "h"),),
            id="a move",
        ),
        pytest.param(
            "diff --git a/g b/f.py\nsimilarity index 90%\nrename from g\nrename to f.py\n"
            f"--- a/g\n+++ b/f.py\n{AT_1}{BODY}",
            (UpdateFile("g", DIFF_CHANGE.hunks, "f.py"),),
            id="a move with a change",
        ),
        pytest.param(
            "diff --git a/g b/g\nold mode 100644\nnew mode 100755\n"
            f"diff --git a/f.py b/f.py\n{HEAD}{AT_1}{BODY}",
            (UpdateFile("g", ()), DIFF_CHANGE),
            id="a mode alone",
        ),
    ],
)
def test_a_unified_diff_is_parsed(text: str, changes: tuple[FileChange, ...]) -> None:
    assert parse_patch(text) == changes


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param(f"{AT_1}{BODY}", "f.py", id="no names"),
        pytest.param(f"--- original\n+++ modified\n{AT_1}{BODY}", "f.py", id="no real names"),
        pytest.param(f"{HEAD}{AT_1}{BODY}", "src/f.py", id="the end of the path"),
    ],
)
def test_the_file_of_a_diff_may_be_named_beside_it(text: str, path: str) -> None:
    assert parse_patch(text, path) == (UpdateFile(path, DIFF_CHANGE.hunks),)


def test_a_file_that_a_diff_names_comes_before_another_one() -> None:
    assert parse_patch(f"{HEAD}{AT_1}{BODY}", "g.py") == (DIFF_CHANGE,)


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        pytest.param("", EmptyPatchError, 1, id="nothing"),
        pytest.param(patch(""), EmptyPatchError, 1, id="no file"),
        pytest.param("@@ -1 +1 @@\n-a\n+b\n", EmptyPatchError, 1, id="a diff of no file"),
        pytest.param(
            "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", MalformedPatchError, 2, id="two names"
        ),
        pytest.param(
            "diff --git a/f b/f\nBinary files a/f and b/f differ\n",
            MalformedPatchError,
            2,
            id="no text",
        ),
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
            patch("*** Update File: f\n-a\n*** Add File: f\n+a\n"),
            RepeatedPathError,
            4,
            id="updated and added",
        ),
        pytest.param(
            patch("*** Add File: f\n+a\n*** Update File: f\n-b\n+c\n"),
            MalformedPatchError,
            4,
            id="added, and updated where it is not",
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
