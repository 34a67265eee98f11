"""The files that a command changed, as its call shows them."""

from pathlib import Path
from typing import cast

from acp_server.turn.conversation import ToolCall
from tests.support.editor import Object
from tests.tools.editor_session import CallUpdates, open_tool_editor
from tests.tools.typing_model import call


def diffs(updates: CallUpdates, root: Path) -> dict[str, tuple[str | None, str]]:
    """Return the old and new text of each diff of a call, by path in the workspace."""
    blocks = cast("list[Object]", updates.last("content") or [])
    return {
        str(Path(str(each["path"])).relative_to(root)): (
            cast("str | None", each["oldText"]),
            str(each["newText"]),
        )
        for each in blocks
        if each["type"] == "diff"
    }


def command(line: str) -> ToolCall:
    """Return a call that runs a command."""
    return call("terminal", command=line)


async def test_a_call_shows_what_its_command_changed(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name in ("edited.py", "gone.txt", "same.txt"):
            session.write_file(name, "one\ntwo\n")
        first, reading, edit, second, last = await session.run(
            command("sed -i s/one/1/ edited.py; rm gone.txt; echo new > new.txt; touch same.txt"),
            command("cat new.txt"),
            call("patch", path="edited.py", old_string="two", new_string="2"),
            command("sed -i s/2/two/ edited.py"),
            command("false"),
        )
        assert diffs(first, session.root) == {
            "edited.py": ("one\ntwo\n", "1\ntwo\n"),
            "gone.txt": ("one\ntwo\n", ""),
            "new.txt": (None, "new\n"),
        }
        assert diffs(edit, session.root) == {"edited.py": ("1\ntwo\n", "1\n2\n")}
        assert diffs(second, session.root) == {"edited.py": ("1\n2\n", "1\ntwo\n")}, (
            "not what the edit before it did"
        )
        assert diffs(reading, session.root) == diffs(last, session.root) == {}
        assert first.text == "(no output)", "the model is not sent the diffs"
        assert [each["type"] for each in cast("list[Object]", first.last("content"))] == [
            "diff"
        ] * 3


async def test_texts_that_may_not_be_shown_are_only_named(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("image.bin", b"\0\1")
        session.write_file(".env", "TOKEN=1\n")
        session.write_file("large.txt", "a\n" * 40_000)
        (updates,) = await session.run(
            command("for f in image.bin .env large.txt; do echo b >> $f; done; ln -s .env link"),
        )
        assert diffs(updates, session.root) == {}
        named = "Changed while it ran, without a diff: .env, image.bin, large.txt, link."
        assert named in updates.shown_text
        assert "TOKEN" not in str(updates.updates)


async def test_the_diffs_of_a_command_are_few_and_short(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("zz.txt", "old\n")
        (updates,) = await session.run(
            command("for i in {100..139}; do echo $i > f$i; done; echo new > zz.txt")
        )
        shown = diffs(updates, session.root)
        assert list(shown) == ["zz.txt", *(f"f{number}" for number in range(100, 109))]
        assert "f109, f110" in updates.shown_text
        assert "f128 and 11 more." in updates.shown_text


async def test_a_client_that_names_calls_by_their_diffs_keeps_the_command(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, client="CodeCompanion.nvim") as session:
        session.write_file("a.txt", "one\n")
        line, edit = (
            command("echo two > a.txt"),
            call("patch", path="a.txt", old_string="o", new_string="0"),
        )
        updates, edited = await session.run(line, edit)
        assert diffs(updates, session.root) == {}
        assert updates.title == "`echo two > a.txt`"
        assert diffs(edited, session.root) == {"a.txt": ("two\n", "tw0\n")}
