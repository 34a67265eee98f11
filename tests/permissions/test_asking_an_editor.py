"""Questions on the wire: what the editor is asked, and what its answers and cancels do."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SCRIPT = """\
prompt: edit
call: write_file
  path: src/new.py
  content: "x = 1\\n"
step:
say: done

prompt: run
call: terminal
  command: touch made; pwd
step:
say: done

prompt: *
say: hello
"""


@dataclass(frozen=True, slots=True)
class EditorSession:
    """A session with an editor."""

    editor: Editor
    session_id: str
    root: Path

    async def question(self) -> Object:
        return await self.editor.wait_for_response(
            lambda message: message.get("method") == "session/request_permission"
        )

    def answer(self, question: Object, option: str) -> None:
        self.editor.reply(question, {"outcome": {"outcome": "selected", "optionId": option}})


@asynccontextmanager
async def open_session(folder: Path) -> AsyncGenerator[EditorSession]:
    home, root = folder / "home", folder / "root"
    for made in (home, root):
        made.mkdir()
    async with open_editor(make_configuration(home, SCRIPT)) as editor:
        await editor.initialize()
        yield EditorSession(editor, await editor.new_session(root), root)


async def test_a_permission_request_for_an_edit_uses_its_call_id_and_shows_the_diff(
    tmp_path: Path,
) -> None:
    async with open_session(tmp_path) as chat:
        pending = chat.editor.start_prompt(chat.session_id, "edit")
        question = await chat.question()
        call = json_at(question, "params", "toolCall")
        path = str(chat.root / "src/new.py")
        diff: JsonValue = {"type": "diff", "path": path, "newText": "x = 1\n"}
        shown = json_at(call, "content", 0)
        assert isinstance(shown, dict)
        assert {name: value for name, value in shown.items() if value is not None} == diff
        updates = chat.editor.updates_of(chat.session_id)
        ids = [u["toolCallId"] for u in updates if isinstance(u, dict) and "toolCallId" in u]
        assert ids
        assert all(each == json_at(call, "toolCallId") for each in ids)
        assert not (chat.root / "src").exists()
        chat.answer(question, "allow_once")
        assert json_at(await pending.response(), "result", "stopReason") == "end_turn"
        assert (chat.root / "src/new.py").read_text() == "x = 1\n"


async def test_a_permission_request_for_a_command_shows_its_text_without_an_always_option(
    tmp_path: Path,
) -> None:
    async with open_session(tmp_path) as chat:
        pending = chat.editor.start_prompt(chat.session_id, "run")
        question = await chat.question()
        assert "touch made; pwd" in json.dumps(json_at(question, "params", "toolCall", "content"))
        options = json_at(question, "params", "options")
        assert isinstance(options, list)
        ids = [json_at(option, "optionId") for option in options]
        # Where the sandbox works, one answer for all that it confines is offered, too.
        assert [each for each in ids if each != "allow_confined"] == ["allow_once", "reject_once"]
        chat.answer(question, "reject_once")
        await pending.response()
        assert not (chat.root / "made").exists()


@pytest.mark.parametrize("prompt", ["edit", "run"])
async def test_a_cancel_ends_a_permission_request_immediately_and_a_late_approval_is_ignored(
    tmp_path: Path, prompt: str
) -> None:
    async with open_session(tmp_path) as chat:
        pending = chat.editor.start_prompt(chat.session_id, prompt)
        question = await chat.question()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            chat.editor.cancel(chat.session_id)
            assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        chat.answer(question, "allow_once")
        assert json_at(await chat.editor.prompt(chat.session_id, "hi"), "stopReason") == "end_turn"
        assert list(chat.root.iterdir()) == []


async def test_a_cancelled_permission_outcome_ends_the_turn(tmp_path: Path) -> None:
    async with open_session(tmp_path) as chat:
        pending = chat.editor.start_prompt(chat.session_id, "edit")
        question = await chat.question()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            chat.editor.reply(question, {"outcome": {"outcome": "cancelled"}})
            assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        assert json_at(await chat.editor.prompt(chat.session_id, "hi"), "stopReason") == "end_turn"
        assert list(chat.root.iterdir()) == []


ODD_ANSWERS: dict[str, JsonValue] = {
    "not offered": {"outcome": {"outcome": "selected", "optionId": "allow_everything"}},
    "an unknown outcome": {"outcome": {"outcome": "allowed"}},
    "no outcome": {},
    "null": None,
    "a bare yes": {"outcome": "allow_once"},
}


@pytest.mark.parametrize("answer", ODD_ANSWERS.values(), ids=ODD_ANSWERS.keys())
async def test_an_invalid_answer_allows_nothing(tmp_path: Path, answer: JsonValue) -> None:
    async with open_session(tmp_path) as chat:
        pending = chat.editor.start_prompt(chat.session_id, "edit")
        chat.editor.reply(await chat.question(), answer)
        assert json_at(await pending.response(), "result", "stopReason") in {
            "end_turn",
            "cancelled",
        }
        assert list(chat.root.iterdir()) == []


async def test_an_error_response_allows_nothing(tmp_path: Path) -> None:
    async with open_session(tmp_path) as chat:
        pending = chat.editor.start_prompt(chat.session_id, "edit")
        chat.editor.record_blocked_call(await chat.question(), -32601, "no such method")
        assert json_at(await pending.response(), "result", "stopReason") == "end_turn"
        assert list(chat.root.iterdir()) == []


async def test_an_editor_that_disconnects_during_a_permission_request_allows_nothing(
    tmp_path: Path,
) -> None:
    async with open_session(tmp_path) as chat:
        chat.editor.start_prompt(chat.session_id, "edit")
        await chat.question()
        await chat.editor.disconnect()
        assert list(chat.root.iterdir()) == []


async def test_an_always_rule_for_the_workspace_survives_the_session(tmp_path: Path) -> None:
    async with open_session(tmp_path) as chat:
        pending = chat.editor.start_prompt(chat.session_id, "edit")
        chat.answer(await chat.question(), "allow_workspace")
        await pending.response()
        other = await chat.editor.new_session(chat.root)
        (chat.root / "src/new.py").unlink()
        await chat.editor.prompt(other, "edit")
        asked = [m for m in chat.editor.messages if m.get("method") == "session/request_permission"]
        assert (len(asked), (chat.root / "src/new.py").exists()) == (1, True)
        saved = json.loads((tmp_path / "home/acp/permissions.json").read_text())
        rule = {"act": "write", "folder": str(chat.root / "src"), "allow": True}
        assert saved == {str(chat.root): [rule]}
