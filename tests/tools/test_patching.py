"""The tool `patch`: what its arguments ask for, and what its result says about the place."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.tools.editor_session import open_tool_editor
from tests.tools.typing_model import call

TEXT = "one\ntwo\nthree\ntwo\n"
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n@@\n-three\n+3\n*** End Patch\n"
PATCHED = "1\ntwo\n3\ntwo\n"
REPLACEMENT: dict[str, JsonValue] = {"path": "a.txt", "old_string": "three", "new_string": "3"}
REPLACED = "one\ntwo\n3\ntwo\n"


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        pytest.param({"mode": "patch", "patch": PATCH}, PATCHED, id="patch"),
        pytest.param({"patch": PATCH}, PATCHED, id="patch without its mode"),
        pytest.param({"mode": "patch", "patch": PATCH, **REPLACEMENT}, PATCHED, id="mode decides"),
        pytest.param({"patch": PATCH, **REPLACEMENT}, REPLACED, id="replacement is the default"),
        pytest.param({**REPLACEMENT, "patch": ""}, REPLACED, id="empty patch"),
    ],
)
async def test_a_call_is_a_patch_or_a_replacement(
    tmp_path: Path, arguments: dict[str, JsonValue], content: str
) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("a.txt", TEXT)
        updates = await session.run_one(call("patch", **arguments))
        assert (updates.status, path.read_text()) == ("completed", content)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param({"mode": "patch"}, "mode patch needs the argument patch", id="no patch"),
        pytest.param({"path": "a.txt", "new_string": "3"}, "needs old_string", id="no old text"),
        pytest.param(
            {"path": "a.txt", "old_string": "three"}, "needs new_string", id="no new text"
        ),
        pytest.param({"old_string": "three", "new_string": "3"}, "patch needs path", id="no path"),
        pytest.param({"patch": "+1\n"}, "it names no file", id="patch of no file"),
    ],
)
async def test_a_call_that_lacks_an_argument_says_which(
    tmp_path: Path, arguments: dict[str, JsonValue], reason: str
) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("a.txt", TEXT)
        updates = await session.run_one(call("patch", **arguments))
        assert updates.status == "failed"
        assert reason in updates.text
        assert path.read_text() == TEXT


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        pytest.param(REPLACEMENT, " at line 3", id="one place"),
        pytest.param(
            {"path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": True},
            " (2 places)",
            id="two places",
        ),
        pytest.param(
            {"path": "a.txt", "old_string": "  three", "new_string": "  3"},
            " at line 3; old_string matched by",
            id="not exactly",
        ),
        pytest.param({"mode": "patch", "patch": PATCH}, " at line 1, 3", id="patch"),
    ],
)
async def test_the_result_names_the_changed_places(
    tmp_path: Path, arguments: dict[str, JsonValue], place: str
) -> None:
    async with open_tool_editor(tmp_path) as session:
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
