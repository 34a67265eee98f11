"""Edits are seen while they are written: what a client gets while the arguments stream."""

from functools import partial
from pathlib import Path

import anyio
import pytest

from acp_server.tools import arguments
from acp_server.tools.edit import growing_diff
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import ToolCallCompleted, ToolCallDelta, ToolCallStarted
from tests.support.editor import Object, make_configuration, open_editor
from tests.tools.editor_session import CallUpdates, ToolEditorSession, lines, open_tool_editor
from tests.tools.typing_model import Action, call, make_pause, stream_call

TEXT = lines(200, "a_line_of_a_file_like_any_other")
PIECES = 60
PIECE_SECONDS = 0.002
LEAST_DIFFS = 3
SPEED = 5
"""How much faster than a real model the short form writes."""


@pytest.fixture(autouse=True)
def _show_often(monkeypatch: pytest.MonkeyPatch) -> None:
    show_often(monkeypatch)


def show_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let states follow each other as fast as the model writes, compared with a real one."""
    for module, name in (
        (growing_diff, "MIN_INTERVAL_SECONDS"),
        (arguments, "PARSE_INTERVAL_SECONDS"),
    ):
        monkeypatch.setattr(module, name, vars(module)[name] / SPEED)


async def type_out(session: ToolEditorSession, tool_call: ToolCall) -> CallUpdates:
    """Have the model type a call over 0.12 s and more, which is time for some states."""
    session.model.rounds = [stream_call(tool_call, PIECES, make_pause(PIECE_SECONDS))]
    await session.editor.prompt(session.session_id, "go")
    return session.updates_of(tool_call.id)


def diff(path: Path, old: str | None, new: str) -> Object:
    """Return a block as the client gets it; no old text stands for a new file."""
    return {"type": "diff", "path": str(path), "oldText": old, "newText": new}


def check_growth(updates: CallUpdates, exact: list[Object], least: int = LEAST_DIFFS) -> None:
    """Hold a call against the rules: it grows while it is pending, and is exact twice then."""
    sizes = [
        sum(len(str(block["newText"])) for block in blocks) for blocks in updates.growing_diffs()
    ]
    assert len(sizes) >= least
    assert sizes == sorted(set(sizes))
    assert [updates.diff_states()[-2], updates.diff_states()[-1]] == [
        ("pending", exact),
        ("completed", exact),
    ]
    assert updates.statuses == ["pending", "in_progress", "completed"]
    assert updates.diff_bytes() < 10 * sum(len(str(block["newText"])) for block in exact)


@pytest.mark.full
async def test_a_file_of_200_lines_grows_in_ten_updates_over_two_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one test at the pace of a real model."""
    monkeypatch.undo()
    await check_file_of_200_lines(tmp_path, 10)


async def test_a_file_of_200_lines_grows_in_ten_updates(tmp_path: Path) -> None:
    await check_file_of_200_lines(tmp_path, 10 // SPEED)


async def check_file_of_200_lines(tmp_path: Path, pace_milliseconds: int) -> None:
    """Have a scripted model write a file at this pace."""
    home, root = tmp_path / "home", tmp_path / "root"
    home.mkdir()
    root.mkdir()
    content = "".join(f"    {line}\n" for line in TEXT.splitlines())
    written = f"call: write_file\n  path: notes.txt\n  content: |\n{content}"
    script = f"prompt: *\npace: {pace_milliseconds}ms\n{written}step:\nsay: Done."
    async with open_editor(
        make_configuration(home, script, options={"--mode": "bypass"})
    ) as editor:
        await editor.initialize()
        session = await editor.new_session(root)
        await editor.prompt(session, "go")
        updates = [each for each in editor.updates_of(session) if isinstance(each, dict)]
    call_updates = CallUpdates("", [each for each in updates if "toolCallId" in each])
    path = root / "notes.txt"
    check_growth(call_updates, [diff(path, None, TEXT)], least=10)
    for (block,) in call_updates.growing_diffs():
        assert TEXT.startswith(str(block["newText"]))
        assert block == diff(path, None, str(block["newText"]))
    assert path.read_text() == TEXT


async def test_a_replaced_file_grows_over_its_first_old_lines(
    tmp_path: Path,
) -> None:
    old = lines(200, "what was written here before")
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("notes.txt", old)
        updates = await type_out(session, call("write_file", path="notes.txt", content=TEXT))
        check_growth(updates, [diff(path, old, TEXT)])
        for (block,) in updates.growing_diffs():
            assert TEXT.startswith(str(block["newText"]))
            assert old.startswith(str(block["oldText"]))
            assert str(block["oldText"]).endswith("before\n")
            assert 0 < len(str(block["oldText"])) <= 200
        assert path.read_text() == TEXT


async def test_only_the_affected_region_of_a_replacement_is_shown_while_growing(
    tmp_path: Path,
) -> None:
    before, region, after = lines(50, "before"), "def old():\n    pass\n", lines(50, "after")
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("code.py", before + region + after)
        new = lines(100)
        tool_call = call("patch", path="code.py", old_string=region, new_string=new)
        updates = await type_out(session, tool_call)
        check_growth(updates, [diff(path, before + region + after, before + new + after)])
        for (block,) in updates.growing_diffs():
            assert new.startswith(str(block["newText"]))
            assert block["oldText"] == region


async def test_an_edit_of_a_missing_file_shows_no_text_while_it_arrives(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        tool_call = call("patch", path="none.py", old_string="old\n", new_string=lines(100))
        updates = await type_out(session, tool_call)
        assert (updates.status, updates.diff_states()) == ("failed", [])
        assert "none.py" in updates.text
        assert not (session.root / "none.py").exists()


async def test_a_patch_of_two_files_grows_file_by_file(tmp_path: Path) -> None:
    patch = "\n".join(
        (
            "*** Begin Patch",
            "*** Update File: one.txt",
            "@@",
            *(f"-{line}" for line in lines(3, "old").splitlines()),
            *(f"+{line}" for line in TEXT.splitlines()[:100]),
            "*** Add File: two.txt",
            *(f"+{line}" for line in TEXT.splitlines()[100:]),
            "*** End Patch",
        )
    )
    first, second = (TEXT[: TEXT.index("101: ")], TEXT[TEXT.index("101: ") :])
    async with open_tool_editor(tmp_path) as session:
        one, two = session.write_file("one.txt", lines(3, "old")), session.root / "two.txt"
        updates = await type_out(session, call("patch", mode="patch", patch=patch))
        check_growth(updates, [diff(one, lines(3, "old"), first), diff(two, None, second)])
        assert {len(blocks) for blocks in updates.growing_diffs()} == {1, 2}
        for block in (block for blocks in updates.growing_diffs() for block in blocks):
            whole = first if block["path"] == str(one) else second
            assert whole.startswith(str(block["newText"]))
        assert (one.read_text(), two.read_text()) == (first, second)


async def test_arguments_arriving_at_once_are_shown_at_most_once_before_the_exact_diff(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("write_file", path="notes.txt", content=TEXT))
        assert len(updates.growing_diffs()) <= 1
        assert updates.diff_bytes() < 10 * len(TEXT)
        assert updates.diff_states()[-1] == (
            "completed",
            [diff(session.root / "notes.txt", None, TEXT)],
        )


async def test_a_patch_of_all_lines_grows_in_ten_updates_below_ten_times_the_file(
    tmp_path: Path,
) -> None:
    """The new text takes a while; the old one has come at once before it."""
    old, new = lines(200, "what was written here before"), lines(200, "what is to stand here now")
    tool_call = call("patch", path="notes.txt", old_string=old, new_string=new)
    begin = tool_call.arguments.index("new_string")
    step = -(-(len(tool_call.arguments) - begin) // 80)
    pieces = [
        tool_call.arguments[at : at + step] for at in range(begin, len(tool_call.arguments), step)
    ]
    async with open_tool_editor(tmp_path) as session:
        session.write_file("notes.txt", old)
        actions: list[Action] = [
            ToolCallStarted(tool_call.id, tool_call.name),
            ToolCallDelta(tool_call.id, tool_call.arguments[:begin]),
        ]
        for piece in pieces:
            actions += [partial(anyio.sleep, 2 / 80 / SPEED), ToolCallDelta(tool_call.id, piece)]
        session.model.rounds = [[*actions, ToolCallCompleted(tool_call.id)]]
        await session.editor.prompt(session.session_id, "go")
        updates = session.updates_of(tool_call.id)
        assert updates.status == "completed"
        assert len(updates.growing_diffs()) >= 10
        assert updates.diff_bytes() < 10 * len(new.encode())
