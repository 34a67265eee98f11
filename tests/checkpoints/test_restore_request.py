"""The request `_hermes/restore`: a client offers "restore to here" for each message."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import JsonValue

from acp_server.session.ports.archive import RemovedMessages, SessionFacts, StoredSession
from acp_server.session.replay import replay_events
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.events import PromptReceived
from acp_server.turn.ports import TextDelta
from tests.checkpoints.scripts import PERMISSION_METHOD, run_slash_command
from tests.journeys.day import DayConfig, DaySession, open_day
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shown_request import ShownRequest
from tests.support.editor import Object, json_at
from tests.support.user_texts import USER_DID_NOT_PERMIT
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call, stream_call

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
METHOD = "_hermes/restore"


async def change(session: ToolEditorSession, command: str) -> str:
    """Run a command in a turn of its own, and return its checkpoint."""
    session.model.rounds = [list(stream_call(call("terminal", command=command)))]
    await session.editor.prompt(session.session_id, command)
    return session.editor.checkpoints[-1]


async def restore(session: ToolEditorSession, checkpoint: str, scope: str) -> Object:
    """Send the request and return its result."""
    params: Object = {"sessionId": session.session_id, "checkpoint": checkpoint, "scope": scope}
    return cast("Object", json_at(await session.editor.call(METHOD, params), "result"))


def texts_sent(session: ToolEditorSession) -> str:
    """Return the newest request to the model as text."""
    return repr(session.model.requests[-1].messages)


async def test_all_turns_from_a_message_on_are_restored_and_the_restore_can_be_restored(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_file("a.txt", "0\n")
        await change(session, "echo 1 > a.txt")
        second = await change(session, "echo 2 > a.txt; echo new > b.txt")
        await change(session, "echo 3 > a.txt")
        result = await restore(session, second, "both")
        assert sorted(cast("list[str]", result["restored"])) == [
            str(path),
            str(session.root / "b.txt"),
        ]
        assert result["left"] == []
        assert (path.read_text(), (session.root / "b.txt").exists()) == ("1\n", False)
        await change(session, "true")
        assert "echo 1 > a.txt" in texts_sent(session)
        assert "echo 3 > a.txt" not in texts_sent(session)
        await restore(session, str(json_at(result, "_meta", "hermes", "checkpoint")), "both")
        assert (path.read_text(), (session.root / "b.txt").exists()) == ("3\n", True)
        await change(session, "true")
        assert "echo 3 > a.txt" in texts_sent(session)
        await run_slash_command(session, "/undo")
        assert path.read_text() == "2\n"


async def test_each_scope_restores_its_part_alone(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_file("a.txt", "0\n")
        first = await change(session, "echo 1 > a.txt")
        result = await restore(session, first, "conversation")
        assert (result["restored"], path.read_text()) == ([], "1\n")
        await change(session, "true")
        assert '"command": "echo 1' not in texts_sent(session)
        await restore(session, first, "files")
        assert path.read_text() == "0\n"


async def test_what_was_not_restored_is_left_with_a_reason(tmp_path: Path) -> None:
    answers = {PERMISSION_METHOD: allow("reject_once")}
    async with open_tool_editor(tmp_path, answers=answers) as session:
        path = session.write_file("a.txt", "0\n")
        first = await change(session, "echo 1 > a.txt")
        path.write_text("by hand\n")
        result = await restore(session, first, "files")
        (left,) = cast("list[Object]", result["left"])
        assert (result["restored"], left["path"]) == ([], str(path))
        assert USER_DID_NOT_PERMIT in str(left["reason"])


async def test_an_unknown_checkpoint_and_a_running_turn_are_refused(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        session.write_file("a.txt", "0\n")
        first = await change(session, "echo 1 > a.txt")

        async def refusal(checkpoint: str) -> JsonValue:
            params: Object = {
                "sessionId": session.session_id,
                "checkpoint": checkpoint,
                "scope": "both",
            }
            return json_at(await session.editor.call(METHOD, params), "error")

        assert json_at(await refusal("0"), "code") == -32602
        asked, held = anyio.Event(), anyio.Event()

        async def wait() -> None:
            asked.set()
            await held.wait()

        session.model.rounds = [[wait, TextDelta("Done.")]]
        pending = session.editor.start_prompt(session.session_id, "go")
        await asked.wait()
        error = await refusal(first)
        held.set()
        await pending.response()
        assert json_at(error, "code") == -32600
        assert "a turn is running" in str(json_at(error, "data", "details"))


def answer(shown: ShownRequest) -> ModelProgram:
    """Answer without a call."""
    del shown
    yield from ()
    return "So it is."


def prompts_of(session: DaySession) -> list[str]:
    """Load a session, and return the prompts that are shown."""
    shown = session.load()
    return [str(each["text"]) for each in shown if each["is"] == "user_message_chunk"]


def test_removed_prompts_are_not_replayed_until_they_are_brought_back(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    with open_day(tmp_path, DayConfig(mode="bypass")) as day:
        session = day.open_session(root)

        def restore_to(checkpoint: JsonValue, scope: str) -> JsonValue:
            params = {"sessionId": session.id, "checkpoint": checkpoint, "scope": scope}
            return json_at(day.request(METHOD, params), "_meta", "hermes", "checkpoint")

        session.prompt("one", answer)
        session.prompt("two", answer)
        second = day.server.checkpoints[-1]
        session.prompt("three", answer)
        before = restore_to(second, "conversation")
        day.kill()
        day.start()
        assert prompts_of(session) == ["one"]
        session.prompt("four", answer)
        assert prompts_of(session) == ["one", "four"]
        restore_to(before, "both")
        assert prompts_of(session) == ["one", "four", "two", "three"]
        assert prompts_of(session) == ["one", "four", "two", "three"]


def test_a_rewind_that_an_earlier_version_stored_is_replayed_too() -> None:
    now = datetime.now(UTC)
    prompts = [PromptReceived(name, (Text(name),), name) for name in ("c1", "c2")]
    removed = RemovedMessages("c3", (UserMessage((Text("c2"),), "c2"),))
    facts = SessionFacts("s", Path("/"), now, now)
    stored = StoredSession(facts, (), (*prompts, removed))
    assert list(replay_events(stored, shows_terminals=False)) == prompts[:1]
