"""`symbols` through the editor's language features, and without them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.permissions.modes import Mode
from acp_server.tools.symbols.symbols import SymbolsUse
from tests.support.editor import Object
from tests.tools.editor_session import (
    Answer,
    EditorRefusedError,
    ToolEditorSession,
    open_tool_editor,
)
from tests.tools.typing_model import call

CAPABILITIES: JsonValue = {"_meta": {"hermes": {"symbols": {}}}}
METHOD = "_hermes/symbols"


def answering(answer: Mapping[str, JsonValue]) -> dict[str, Answer]:
    return {METHOD: lambda _: {**answer}}


def symbol(path: Path, line: int, name: str = "total", **values: JsonValue) -> JsonValue:
    lines: Object = {"line": line, "endLine": line + 1, "nameLine": line}
    return {"name": name, "kind": "method", "containers": [], "path": str(path), **lines, **values}


def place(path: Path, line: int, column: int, new_text: str | None = None) -> JsonValue:
    end: Object = {"endLine": line, "endColumn": column + 5}
    text: Object = {} if new_text is None else {"newText": new_text}
    return {"path": str(path), "line": line, "column": column, **end, **text}


def create_files(session: ToolEditorSession) -> None:
    session.write_file("a.zz", "unit a\n  proc total\n  end\n")
    session.write_file("b.py", "class A:\n    def m(self):\n        x = '😀'; total()\n")
    session.write_file(".env", "total=do-not-tell\n")


async def test_an_outline_needs_no_grammar(tmp_path: Path) -> None:
    path = tmp_path / "workspace/a.zz"
    answers = answering({"symbols": [symbol(path, 2, containers=["a"]), {"name": "invalid"}]})
    async with open_tool_editor(tmp_path, capabilities=CAPABILITIES, answers=answers) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="outline", path="a.zz"))
        assert updates.text == "2-3:  proc total"
        (asked,) = session.editor.asked(METHOD)
        wanted = {"sessionId": session.session_id, "action": "outline", "path": str(path)}
        assert asked == wanted


async def test_a_definition_is_asked_for_in_the_workspace(tmp_path: Path) -> None:
    """Text of other files than the workspace's is not shown, protected files are not named."""
    root, outside = tmp_path / "workspace", tmp_path / "outside/lib.py"
    found = [symbol(root / "a.zz", 2), symbol(root / ".env", 1), symbol(outside, 1)]
    answers = answering({"symbols": found})
    async with open_tool_editor(
        tmp_path, mode="ask", capabilities=CAPABILITIES, answers=answers
    ) as session:
        create_files(session)
        outside.write_text("total = 'do-not-tell'\n", encoding="utf-8")
        updates = await session.run_one(call("symbols", action="definition", name="A.total"))
        assert updates.text.splitlines() == [
            *("a.zz:2-3 method total", "2:  proc total", "3:  end"),
            f"[outside the workspace: {outside}:1]",
        ]
        (asked,) = session.editor.asked(METHOD)
        assert asked["name"] == "A.total"
        assert "path" not in asked
        assert [each["method"] for each in session.editor.requests] == [METHOD]


async def test_references_of_the_editor_are_exact(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    answers = answering({"places": [place(root / "b.py", 3, 18), place(root / "a.zz", 2, 7)]})
    async with open_tool_editor(tmp_path, capabilities=CAPABILITIES, answers=answers) as session:
        create_files(session)
        updates = await session.run_one(
            call("symbols", action="references", name="total", path="a.zz")
        )
        assert updates.text.splitlines() == [
            *("b.py", "[in A.m]", "3:        x = '😀'; total()", "a.zz", "2:  proc total"),
        ]
        assert session.editor.asked(METHOD)[0]["path"] == str(root / "a.zz")


async def test_a_rename_is_shown_as_a_patch_by_columns_of_utf16(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    edits = [place(root / "b.py", 3, 18, "sum"), place(root / ".env", 1, 0, "sum")]
    answers = answering({"edits": edits})
    async with open_tool_editor(tmp_path, capabilities=CAPABILITIES, answers=answers) as session:
        create_files(session)
        updates = await session.run_one(
            call("symbols", action="rename", name="total", new_name="sum", path="a.zz")
        )
        assert "1 places in 1 files" in updates.text
        assert "-        x = '😀'; total()\n+        x = '😀'; sum()" in updates.text
        assert ".env" not in updates.text
        assert session.editor.asked(METHOD)[0]["newName"] == "sum"


async def test_a_name_with_several_meanings_is_not_renamed(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    answers = answering({"symbols": [symbol(root / "a.zz", 2), symbol(root / "b.py", 2)]})
    async with open_tool_editor(tmp_path, capabilities=CAPABILITIES, answers=answers) as session:
        create_files(session)
        updates = await session.run_one(
            call("symbols", action="rename", name="total", new_name="sum")
        )
        assert updates.text.startswith("Several symbols are meant. Give path")
        assert "Begin Patch" not in updates.text


def refuse(params: Object) -> JsonValue:
    del params
    raise EditorRefusedError


WITHOUT_ANSWER: Mapping[str, Answer] = {
    "nothing": lambda _: {},
    "null": lambda _: None,
    "no list": lambda _: {"symbols": "none"},
    "no object": lambda _: 7,
    "an error": refuse,
}


@pytest.mark.parametrize("answer", WITHOUT_ANSWER.values(), ids=WITHOUT_ANSWER.keys())
async def test_without_an_answer_files_are_parsed(tmp_path: Path, answer: Answer) -> None:
    async with open_tool_editor(
        tmp_path, capabilities=CAPABILITIES, answers={METHOD: answer}
    ) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="outline", path="b.py"))
        assert updates.text.splitlines() == ["1-3:class A:", "2-3:    def m(self):"]


async def test_an_editor_that_is_silent_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{SymbolsUse.__module__}.EDITOR_SECONDS", 0.01)
    async with open_tool_editor(tmp_path, capabilities=CAPABILITIES) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="definition", name="A.m"))
        assert "b.py:2-3 method A.m" in updates.text


@pytest.mark.parametrize(
    "capabilities",
    [None, {"_meta": {"hermes": {}}}, {"_meta": {"hermes": {"symbols": True}}}, {"_meta": {}}],
)
async def test_only_a_client_that_announces_it_is_asked(
    tmp_path: Path, capabilities: JsonValue
) -> None:
    async with open_tool_editor(tmp_path, capabilities=capabilities) as session:
        create_files(session)
        await session.run_one(call("symbols", action="outline", path="b.py"))
        assert session.editor.requests == []


@pytest.mark.parametrize("mode", ["ask", "plan"])
async def test_a_protected_file_is_asked_about_before_the_editor_is(
    tmp_path: Path, mode: Mode
) -> None:
    refusal: JsonValue = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}
    answers: dict[str, Answer] = {"session/request_permission": lambda _: refusal}
    async with open_tool_editor(
        tmp_path, mode=mode, capabilities=CAPABILITIES, answers=answers
    ) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="outline", path=".env"))
        assert updates.status == "failed"
        assert session.editor.asked(METHOD) == []
