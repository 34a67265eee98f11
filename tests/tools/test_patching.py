"""The tool `patch`: what its arguments ask for, and what its result says about the place."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.support.case_table import named_case
from tests.support.user_texts import NOT_READ
from tests.tools.editor_session import CallUpdates, open_tool_editor
from tests.tools.typing_model import call

TEXT = "one\ntwo\nthree\ntwo\n"
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n@@\n-three\n+3\n*** End Patch\n"
PATCHED = "1\ntwo\n3\ntwo\n"
REPLACEMENT: dict[str, JsonValue] = {"path": "a.txt", "old_string": "three", "new_string": "3"}
REPLACED = "one\ntwo\n3\ntwo\n"


DONE: dict[str, tuple[dict[str, JsonValue], str]] = {
    "patch": ({"mode": "patch", "patch": PATCH}, PATCHED),
    "patch without its mode": ({"patch": PATCH}, PATCHED),
    "mode decides": ({"mode": "patch", "patch": PATCH, **REPLACEMENT}, PATCHED),
    "replacement is the default": ({"patch": PATCH, **REPLACEMENT}, REPLACED),
    "empty patch": ({**REPLACEMENT, "patch": ""}, REPLACED),
}


async def test_a_call_is_a_patch_or_a_replacement(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name, (arguments, content) in DONE.items():
            with named_case(name):
                path = session.write_seen_file("a.txt", TEXT)
                updates = await session.run_one(call("patch", **arguments))
                assert (updates.status, path.read_text()) == ("completed", content)


LACKING: dict[str, tuple[dict[str, JsonValue], str]] = {
    "no patch": ({"mode": "patch"}, "mode patch needs the argument patch"),
    "no old text": ({"path": "a.txt", "new_string": "3"}, "needs old_string"),
    "no new text": ({"path": "a.txt", "old_string": "three"}, "needs new_string"),
    "no path": ({"old_string": "three", "new_string": "3"}, "patch needs path"),
    "patch of no file": ({"patch": "+1\n"}, "it names no file"),
}


async def test_a_call_that_lacks_an_argument_says_which(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("a.txt", TEXT)
        for name, (arguments, reason) in LACKING.items():
            with named_case(name):
                updates = await session.run_one(call("patch", **arguments))
                assert updates.status == "failed"
                assert reason in updates.text
                assert path.read_text() == TEXT


PLACES: dict[str, tuple[dict[str, JsonValue], str]] = {
    "one place": (REPLACEMENT, " at line 3"),
    "two places": (
        {"path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": True},
        " (2 places)",
    ),
    "not exactly": (
        {"path": "a.txt", "old_string": "  three", "new_string": "  3"},
        " at line 3; old_string matched by",
    ),
    "patch": ({"mode": "patch", "patch": PATCH}, " at line 1, 3"),
}


async def test_the_result_names_the_changed_places(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name, (arguments, place) in PLACES.items():
            with named_case(name):
                session.write_seen_file("a.txt", TEXT)
                updates = await session.run_one(call("patch", **arguments))
                assert f"a.txt{place}" in updates.text


@pytest.mark.parametrize("as_patch", [False, True], ids=["replacement", "patch"])
async def test_a_placeholder_in_place_of_code_is_refused(tmp_path: Path, *, as_patch: bool) -> None:
    code, placeholder = "total = sum(values)", "# ... existing code ..."
    patch = f"*** Begin Patch\n*** Update File: a.py\n@@\n-{code}\n+{placeholder}\n*** End Patch\n"
    made = (
        call("patch", mode="patch", patch=patch)
        if as_patch
        else call("patch", path="a.py", old_string=code, new_string=placeholder)
    )
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("a.py", f"{code}\n")
        updates = await session.run_one(made)
        assert (updates.status, path.read_text()) == ("failed", f"{code}\n")


async def patched(
    root: Path, patch: str, files: Mapping[str, str], **arguments: JsonValue
) -> tuple[CallUpdates, dict[str, str]]:
    """Apply a patch to files that the model has read; return the files afterwards too."""
    async with open_tool_editor(root) as session:
        for name, text in files.items():
            session.write_seen_file(name, text)
        updates = await session.run_one(call("patch", mode="patch", patch=patch, **arguments))
        found = (path for path in session.root.rglob("*") if path.is_file())
        return updates, {str(each.relative_to(session.root)): each.read_text() for each in found}


async def test_a_hunk_or_a_file_without_a_change_is_skipped_and_named(tmp_path: Path) -> None:
    patch = (
        "*** Update File: same.txt\n-x\n+x\n*** Update File: a.txt\n@@\n-one\n+one\n@@\n-two\n+2\n"
    )
    updates, files = await patched(tmp_path, patch, {"a.txt": "one\ntwo\n", "same.txt": "x\n"})
    assert files == {"a.txt": "one\n2\n", "same.txt": "x\n"}
    assert updates.text == (
        "edited a.txt at line 2; skipped hunk 1: nothing changes there\n"
        "skipped same.txt: the patch changes nothing there"
    )


async def test_a_patch_that_changes_nothing_anywhere_is_refused(tmp_path: Path) -> None:
    patch = "*** Update File: a.txt\n-x\n+x\n"
    updates, _ = await patched(tmp_path, patch, {"a.txt": "x\n"})
    assert updates.status == "failed"
    assert "changes nothing" in updates.text


async def test_a_file_that_is_deleted_and_added_is_replaced(tmp_path: Path) -> None:
    patch = "*** Delete File: a.txt\n*** Add File: a.txt\n+new\n"
    updates, files = await patched(tmp_path, patch, {"a.txt": "old\n"})
    assert files == {"a.txt": "new\n"}
    assert "whole text was replaced" in updates.text


async def test_a_file_that_the_model_has_not_read_is_not_replaced(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.txt", "old\n")
        patch = "*** Delete File: a.txt\n*** Add File: a.txt\n+new\n"
        updates = await session.run_one(call("patch", mode="patch", patch=patch))
        assert (updates.status, path.read_text()) == ("failed", "old\n")
        assert NOT_READ in updates.text


@pytest.mark.parametrize("body", ["", "@@\n one\n"], ids=["without a hunk", "with context alone"])
async def test_a_file_is_moved_without_a_change(tmp_path: Path, body: str) -> None:
    patch = f"*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n{body}*** End Patch\n"
    updates, files = await patched(tmp_path, patch, {"a.txt": "one\n"})
    assert (updates.text, files) == ("moved a.txt to b.txt", {"b.txt": "one\n"})


async def test_a_git_diff_of_several_files_is_applied(tmp_path: Path) -> None:
    diff = (
        "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n"
        "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n"
        "@@ -0,0 +1 @@\n+hello\n"
        "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n"
        "+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
        "diff --git a/from.txt b/to.txt\nsimilarity index 100%\nrename from from.txt\n"
        "rename to to.txt\n"
    )
    before = {"a.txt": "one\ntwo\n", "gone.txt": "bye\n", "from.txt": "moved\n"}
    updates, files = await patched(tmp_path, diff, before)
    assert files == {"a.txt": "one\n2\n", "new.txt": "hello\n", "to.txt": "moved\n"}
    assert updates.status == "completed"


async def test_a_diff_without_names_is_applied_to_the_path(tmp_path: Path) -> None:
    diff = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    _, files = await patched(tmp_path, diff, {"a.txt": "one\ntwo\n"}, path="a.txt")
    assert files == {"a.txt": "one\n2\n"}


NUMBERS: tuple[tuple[str, dict[str, JsonValue], str], ...] = (
    ("patch", {"path": "a.txt", "old_string": 1.0, "new_string": "2"}, "old_string"),
    ("patch", {"path": "a.txt", "old_string": "three", "new_string": 1.10}, "new_string"),
    ("write_file", {"path": "a.txt", "content": 1.10}, "content"),
)


async def test_a_number_is_no_text_of_a_file(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("a.txt", f"{TEXT}1.0\n")
        for tool, arguments, name in NUMBERS:
            with named_case(f"{tool}, {name}"):
                updates = await session.run_one(call(tool, **arguments))
                refusal = f"`{name}` must be a text. Nothing was done: make the call again."
                assert updates.text == refusal
                assert path.read_text() == f"{TEXT}1.0\n"


FENCES = (
    ("three", "```python\n3\n```", True),
    ("three", "```\n3", False),
    ("```\nthree\n```", "```\n3\n```", False),
    ("three", "`3`", False),
)


async def test_a_fence_that_the_old_text_lacks_is_named(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for old, new, is_named in FENCES:
            with named_case(f"{old} -> {new}"):
                path = session.write_seen_file("a.md", f"one\n{old}\n")
                made = call("patch", path="a.md", old_string=old, new_string=new)
                updates = await session.run_one(made)
                assert path.read_text() == f"one\n{new}\n"
                assert ("begins and ends with ```" in updates.text) == is_named


async def test_a_hunk_that_fits_twice_is_named(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_seen_file("a.txt", TEXT)
        patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n"
        updates = await session.run_one(call("patch", mode="patch", patch=patch))
        assert "hunk 1 fits at 2 places, it was applied at the first" in updates.text


TWO_FILES = "*** Update File: a.txt\n-one\n+1\n*** Add File: b.txt\n+b\n"


TITLES: dict[str, tuple[dict[str, JsonValue], str]] = {
    "replacement": (REPLACEMENT, "Edit a.txt"),
    "patch of one file": ({"mode": "patch", "patch": PATCH}, "Edit a.txt"),
    "of two files": ({"mode": "patch", "patch": TWO_FILES}, "Edit 2 files"),
}


async def test_the_title_of_an_edit_names_its_file_or_counts_them(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name, (arguments, title) in TITLES.items():
            with named_case(name):
                session.write_seen_file("a.txt", TEXT)
                assert (await session.run_one(call("patch", **arguments))).title == title


@pytest.mark.parametrize("content", [None, ""], ids=["missing", "empty"])
@pytest.mark.parametrize(
    ("old", "status"), [pytest.param("", "completed"), pytest.param("one", "failed")]
)
async def test_only_an_empty_old_text_makes_a_file(
    tmp_path: Path, old: str, status: str, content: str | None
) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.root / "new.txt"
        if content is not None:
            path.write_text(content)
        updates = await session.run_one(
            call("patch", path="new.txt", old_string=old, new_string="text\n")
        )
        assert updates.status == status
        found = path.read_text() if path.exists() else None
        assert found == ("text\n" if status == "completed" else content)
