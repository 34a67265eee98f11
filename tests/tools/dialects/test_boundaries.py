"""What stands around a foreign call: permission, restrictions, servers' tools, the conversation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.session.filtered_toolbox import FilteredToolbox
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.dialects.paths import PathCorrector
from acp_server.tools.dialects.toolbox import DialectToolbox
from acp_server.tools.interaction.todo import todo_list_from
from acp_server.turn.call_access import CHANGES, CallAccess
from acp_server.turn.conversation import (
    AssistantMessage,
    Link,
    PromptPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.events import CallAppeared, CallChanged
from acp_server.turn.ports import ToolOutcome, ToolSpec, TurnSink
from tests.mcp.live_servers import RecordingGate
from tests.tools.editor_session import allow, lines, open_tool_editor
from tests.tools.test_growing_edits import show_often, type_out
from tests.tools.typing_model import call, raw_call
from tests.turn.fake_sinks import MemorySink

COMMAND: dict[str, JsonValue] = {"type": "object", "properties": {"command": {"type": "string"}}}


@dataclass(slots=True)
class RecordingToolbox:
    """Tools of these names that remember their calls."""

    names: Sequence[str]
    opened: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    judged: list[ToolCall] = field(default_factory=list[ToolCall])

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return [ToolSpec(name, "", COMMAND) for name in self.names]

    async def open(self, call_id: str, name: str, sink: TurnSink) -> "RecordingToolbox":
        self.opened.append(name)
        await sink.emit(CallAppeared(call_id, name))
        return self

    async def write(self, fragment: str) -> None:
        """Take a fragment."""

    def access(self, call: ToolCall) -> CallAccess:
        self.judged.append(call)
        return CHANGES

    async def run(self, call: ToolCall) -> ToolOutcome:
        self.calls.append(call)
        return ToolOutcome("ran")

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        return ToolOutcome(reason, is_error=True)

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing."""


def around(inner: RecordingToolbox, allowed: Collection[str] | None = None) -> DialectToolbox:
    """Return a toolbox that knows `terminal` and `read_file` as its own, restricted or not."""
    toolbox = inner if allowed is None else FilteredToolbox(inner, allowed)
    paths = PathCorrector(SessionWorkspace(Path("/")), Path("/"))
    return DialectToolbox(toolbox, frozenset({"terminal", "read_file"}), RecordingGate(), paths)


async def outcome_of(toolbox: DialectToolbox, tool_call: ToolCall) -> ToolOutcome:
    live = await toolbox.open(tool_call.id, tool_call.name, MemorySink())
    return await live.run(tool_call)


async def test_hooks_and_tools_see_our_name_and_arguments() -> None:
    inner = RecordingToolbox(["terminal"])
    made = call("Bash", cmd="ls")
    outcome = await outcome_of(around(inner), made)
    assert inner.opened == ["terminal"]
    assert inner.calls == [ToolCall(made.id, "terminal", '{"command": "ls"}')]
    assert outcome.text == "ran\n\n[read `Bash` as `terminal`, `cmd` as `command`]"


async def test_the_order_of_calls_is_judged_by_our_arguments() -> None:
    inner = RecordingToolbox(["terminal"])
    made = call("Bash", cmd="ls")
    live = await around(inner).open(made.id, made.name, MemorySink())
    assert live.access(made) == CHANGES
    assert inner.judged == [ToolCall(made.id, "terminal", '{"command": "ls"}')]


async def test_a_call_by_our_names_is_passed_on_as_it_is() -> None:
    inner = RecordingToolbox(["terminal"])
    made = raw_call("terminal", '{ "command":"ls" }')
    outcome = await outcome_of(around(inner), made)
    assert inner.calls == [made]
    assert outcome == ToolOutcome("ran")


@pytest.mark.parametrize("name", ["Bash", "bash", "functions.Bash", "terminal"])
async def test_a_restriction_holds_for_every_name_of_a_tool(name: str) -> None:
    inner = RecordingToolbox(["terminal", "read_file"])
    outcome = await outcome_of(around(inner, ["read_file"]), call(name, command="ls"))
    assert outcome.is_error
    assert "only these tools are available here: read_file" in outcome.text
    assert inner.calls == []


async def test_a_tool_of_a_server_comes_before_an_alias() -> None:
    inner = RecordingToolbox(["terminal", "Bash", "files__read"])
    toolbox = around(inner)
    for name in ("Bash", "files__read"):
        made = raw_call(name, '{"cmd": "ls", "timeout": 99999}')
        assert await outcome_of(toolbox, made) == ToolOutcome("ran")
        assert inner.calls[-1] == made


async def test_a_tool_of_a_server_is_found_under_the_name_that_claude_gives_it() -> None:
    inner = RecordingToolbox(["terminal", "files__read"])
    made = call("mcp__files__read", path="a")
    outcome = await outcome_of(around(inner), made)
    assert inner.opened == ["files__read"]
    assert inner.calls[0].arguments == made.arguments
    assert "`mcp__files__read` as `files__read`" in outcome.text


async def test_a_tool_that_is_several_in_one_appears_once() -> None:
    inner, sink = RecordingToolbox(["read_file"]), MemorySink()
    made = call("str_replace_editor", command="view", path="a.py")
    live = await around(inner).open(made.id, made.name, sink)
    for character in made.arguments:
        await live.write(character)
    await live.run(made)
    assert sink.events == [
        CallAppeared(made.id, made.name, "edit"),
        CallChanged(made.id, title="read_file"),
    ]


async def test_the_question_about_a_foreign_call_is_about_our_tool(tmp_path: Path) -> None:
    answers = {"session/request_permission": allow("reject_once")}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        updates = await session.run_one(call("Bash", command=["touch", "made"], cwd="."))
        (question,) = session.editor.asked("session/request_permission")
        assert "touch made" in str(question)
        assert updates.status == "failed"
        await session.run_one(call("Write", file_path="made", content="x"))
        assert len(session.editor.asked("session/request_permission")) == 2
        assert not (session.root / "made").exists()


async def test_plan_mode_refuses_foreign_calls_that_change_something(tmp_path: Path) -> None:
    made = [
        call("Bash", command="touch made"),
        call("Write", file_path="made", content="x"),
        call("str_replace_editor", command="create", path="made", file_text="x"),
    ]
    async with open_tool_editor(tmp_path, mode="plan") as session:
        for each in made:
            assert (await session.run_one(each)).status == "failed"
        assert not (session.root / "made").exists()
        assert session.editor.requests == []


async def test_questions_are_asked_in_the_order_of_the_calls(tmp_path: Path) -> None:
    answers = {"session/request_permission": allow()}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        made = [call("Write", file_path=f"`{number}.txt`", content="x") for number in range(5)]
        await session.run(*made)
        asked = session.editor.asked("session/request_permission")
        order = [str(each["toolCall"]) for each in asked]
        assert [tool_call.id in text for tool_call, text in zip(made, order, strict=True)] == (
            [True] * 5
        )


async def test_the_conversation_keeps_the_call_as_the_model_made_it(tmp_path: Path) -> None:
    made = raw_call("Bash", '{"cmd": "echo hi", }')
    async with open_tool_editor(tmp_path) as session:
        await session.run_one(made)
        messages = session.model.requests[-1].messages
        kept = [part for message in messages for part in message.parts]
        assert made in kept


async def test_a_foreign_edit_grows_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show_often(monkeypatch)
    region, new = "def old():\n    pass\n", lines(100)
    foreign = [
        call("Edit", file_path="code.py", oldText=region, newText=new),
        call(
            "str_replace_editor", command="str_replace", path="code.py", old_str=region, new_str=new
        ),
        call("Write", file_path="other.py", contents=new),
    ]
    async with open_tool_editor(tmp_path) as session:
        for made in foreign:
            session.write_file("code.py", region)
            updates = await type_out(session, made)
            assert updates.status == "completed"
            assert len(updates.growing_diffs()) >= 2


def test_the_task_list_is_rebuilt_from_foreign_calls() -> None:
    made = call("TodoWrite", todos=[{"content": "a", "status": "done"}, {"content": "b"}])
    todos = todo_list_from([AssistantMessage((made,)), UserMessage((ToolResult(made.id, ""),))])
    assert [(item.content, item.status) for item in todos.items] == [
        ("a", "completed"),
        ("b", "pending"),
    ]
