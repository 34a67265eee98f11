"""Arguments as no tool wants them: one failed call each, in few words, and the turn goes on."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.turn.conversation import ToolCall
from tests.support.case_table import group_cases, named_case
from tests.support.editor import Object
from tests.tools.editor_session import ToolEditorSession, lines, open_tool_editor
from tests.tools.typing_model import call, raw_call

MEGABYTE = 1_000_000
LONG = 100_000
TOOLS = (
    *(
        "read_file",
        "search_files",
        "symbols",
        "write_file",
        "patch",
        "terminal",
        "process",
        "web_fetch",
    ),
    *("todo", "clarify", "exit_plan", "memory", "skills_list", "skill_view", "skill_manage"),
    "delegate_task",
)

BROKEN = {
    "cut short": raw_call("write_file", '{"path": "a.txt", "content": "half'),
    "no JSON at all": raw_call("write_file", "path=a.txt"),
    "a list": raw_call("write_file", '["a.txt", "text"]'),
    "a number that is none": raw_call("read_file", '{"path": "a.txt", "offset": NaN}'),
    "half a character": raw_call("write_file", '{"path": "a.txt", "content": "\\ud800"}'),
    "half a character in the path": raw_call("write_file", '{"path": "\\udfff", "content": ""}'),
    "a deep nest": raw_call("todo", '{"todos": ' + "[" * 100_000),
    "no content": call("write_file", path="a.txt"),
    "no path": call("write_file", content="text"),
    "null for what is needed": call("write_file", path=None, content="text"),
    "a list for a text": call("write_file", path="a.txt", content=list[JsonValue](["a", "b"])),
    "a text for a number": call("read_file", path="old.txt", offset="first"),
    "a list for a number": call("read_file", path="old.txt", offset=list[JsonValue]([1, 2])),
    "a long text for a number": call("read_file", path="old.txt", offset="x" * LONG),
    "a long text for a path": call("read_file", path="x/" * LONG),
    "a mode that there is not": call("patch", mode="x" * LONG),
    "a NUL in the path": call("write_file", path="a\0b.txt", content="text"),
    "a NUL in the path of a patch": call("patch", path="a\0b", old_string="a", new_string="b"),
    "a name of 5,000 characters": call("write_file", path="n" * 5_000, content="text"),
    "a path of 5,000 characters": call("write_file", path="dir/" * 1_250, content="text"),
    "a path of 5,000 characters to read": call("read_file", path="dir/" * 1_250),
    "a path of 5,000 characters to search": call("search_files", pattern="a", path="d/" * 2_500),
    "a path of lines": call("read_file", path="a\n" * 2_000),
    "nothing to replace": call("patch", path="old.txt", old_string="", new_string="text"),
    "neither mode": call("patch"),
    "a patch that is none": call("patch", mode="patch", patch="+" * LONG),
    "an empty command": call("terminal", command=""),
    "no question": call("clarify", question=""),
    "choices that are none": call("clarify", question="Which?", choices=5),
    "a hundred choices": call("clarify", question="Which?", choices=list[JsonValue](["one"] * 100)),
    "a long text for a question": call("clarify", question="x" * LONG),
    "a long text for an address": call("web_fetch", url="https://" + "x" * LONG),
    "an address that is none": call("web_fetch", url="{}", offset=-1),
    "an empty plan": call("exit_plan", plan=""),
    "no such tool": call("x" * 5_000, path="a.txt"),
    "a tool without a name": raw_call("", "{}"),
}


@pytest.mark.parametrize("calls", group_cases(BROKEN, 12))
async def test_a_malformed_call_fails_with_a_short_message(
    tmp_path: Path, calls: Mapping[str, ToolCall]
) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name, made in calls.items():
            with named_case(name):
                await _fail_briefly(session, made, f"old, as before {name}\n")


async def _fail_briefly(session: ToolEditorSession, made: ToolCall, text: str) -> None:
    """Make a call that fails, and a good one right after it, which reads this text."""
    old = session.write_file("old.txt", text)
    updates, fine = await session.run(made, call("read_file", path="old.txt"))
    assert updates.statuses[-1] == "failed"
    assert updates.statuses.count("failed") == 1
    assert 10 < len(updates.text) < 600
    assert len(updates.title) < 400
    assert len(updates.title.splitlines()) <= 1
    assert "Traceback" not in updates.text
    assert "Error:" not in updates.text
    assert updates.shown_text == updates.text
    assert len(json.dumps(updates.last("rawInput"))) < 12_000
    assert (fine.status, fine.text) == ("completed", text)
    assert [each.name for each in session.root.iterdir()] == ["old.txt"]
    assert old.read_text() == text


FORGIVEN = {
    "null, a text": call("read_file", path="old.txt", offset="1", limit=None),
    "more fields": call("read_file", path="old.txt", why="to see", offset=1.0),
    "a number": call("search_files", pattern=0, path=None, file_glob=None),
    "a timeout": call("terminal", command="true", timeout="5", workdir=None),
    "a truth as a text": call(
        "patch", path="old.txt", old_string="old", new_string="new", replace_all="false"
    ),
}


async def test_understandable_arguments_are_accepted(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name, made in FORGIVEN.items():
            with named_case(name):
                session.write_file("old.txt", "old\n")
                updates = await session.run_one(made)
                assert updates.status == "completed", updates.text


async def test_a_megabyte_is_written_and_reported_briefly(tmp_path: Path) -> None:
    content = lines(MEGABYTE // 40)
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("write_file", path="big.txt", content=content))
        assert updates.status == "completed"
        assert updates.diff_bytes() < 10 * len(content)
        assert (session.root / "big.txt").read_text() == content
        raw = updates.last("rawInput")
        assert isinstance(raw, dict)
        assert raw["path"] == "big.txt"
        assert raw["content"] == f"{content[:1_000]}… ({len(content):,} characters)"


async def test_every_call_reports_its_input_and_output(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.txt", "one\n")
        made = [
            call("read_file", path="a.txt"),
            call("search_files", pattern="one"),
            call("write_file", path="b.txt", content="two\n"),
            call("patch", path="a.txt", old_string="one", new_string="1"),
            call("terminal", command="echo hello"),
        ]
        results = await session.run(*made)
        for arguments, each in zip(made, results, strict=True):
            assert each.last("rawInput") == json.loads(arguments.arguments)
            raw_output = each.last("rawOutput")
            assert isinstance(raw_output, dict)
            assert raw_output["text"] == each.text
        assert [each.locations for each in results] == [
            [{"path": str(path), "line": 1}],
            [{"path": str(path), "line": 1}],
            [{"path": str(session.root / "b.txt"), "line": 1}],
            [{"path": str(path), "line": 1}],
            [{"path": str(session.root)}],
        ]


async def test_an_unknown_tool_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        call_updates = await session.run_one(call("compile_file", path="a.txt"))
        nearest = "the nearest is write_file or read_file or search_files"
        reason = f"there is no tool 'compile_file'; {nearest}; there are {', '.join(TOOLS)}"
        start: Object = {**call_updates.updates[0]}
        assert (start["title"], start["kind"]) == ("compile_file", "other")
        assert call_updates.text == call_updates.shown_text == reason
        assert call_updates.last("rawInput") == {"path": "a.txt"}
        assert call_updates.last("rawOutput") == {"text": reason}
