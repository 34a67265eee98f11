"""Sessions that outlive their process: listed, shown again, gone on with, deleted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.config.settings import Configuration
from acp_server.history import session_reads
from acp_server.history.packed_messages import PackedMessages
from acp_server.turn.conversation import Message
from tests.sessions.merged_updates import merge_updates
from tests.sessions.session_requests import (
    UNKNOWN_SESSION_ID,
    load_session,
    make_prompt_params,
    message_kind,
    sessions_of_page,
)
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.user_texts import OPEN_IN_ANOTHER_PROCESS

SCRIPT = """\
prompt: wait
say: Half an answer
pause: 60s

prompt: work
think: Let me see.
say: I write it.
call: write_file
  path: a.txt
  content: |
    hello
    world
call: todo
  todos:
    - {id: "1", content: one, status: in_progress}
call: terminal
  command: echo printed; exit 3
step:
say: Done.

prompt: look
call: todo
step:
say: Seen.

prompt: *
say: Hello.
"""


@pytest.fixture
def setup(tmp_path: Path) -> Configuration:
    """A home of its own, and a model that works."""
    return make_configuration(tmp_path, SCRIPT, options={"--mode": "bypass"})


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A workspace."""
    path = tmp_path / "workspace"
    path.mkdir()
    return str(path)


async def test_a_loaded_session_shows_the_same_as_live(setup: Configuration, folder: str) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(folder)
        for prompt in ("work", "/version", "hi"):
            await editor.prompt(session, prompt)
        live = editor.updates_of(session)
    async with open_editor(setup) as editor:
        await editor.initialize()
        response = await load_session(editor, session, folder)
        replayed = editor.updates_of(session)
    assert json_at(response, "result", "modes", "currentModeId") == "bypass"
    shown = merge_updates(replayed)
    assert [each for each in shown if each["is"] != "user_message_chunk"] == merge_updates(live)
    assert [each["text"] for each in shown if each["is"] == "user_message_chunk"] == [
        "work",
        "/version",
        "hi",
    ]


async def test_messages_stay_compressed_until_the_session_is_continued(
    monkeypatch: pytest.MonkeyPatch, setup: Configuration, folder: str
) -> None:
    """Who only looks at a long session does not pay for its conversation."""
    read: list[int] = []
    unpack = PackedMessages.__iter__

    def count(messages: PackedMessages) -> Iterator[Message]:
        read.append(len(messages))
        return unpack(messages)

    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(folder)
        await editor.prompt(session, "work")
    monkeypatch.setattr(PackedMessages, "__iter__", count)
    async with open_editor(setup) as editor:
        await editor.initialize()
        await load_session(editor, session, folder)
        await editor.wait_until(  # they follow the tools, which are built while nobody waits
            lambda: "available_commands_update" in map(message_kind, editor.messages) or None,
            "the commands",
        )
        assert read == []
        await editor.prompt(session, "look")
        assert '"content": "one"' in json.dumps(editor.messages).replace("\\", "")
        assert len(read) == 1


async def test_history_is_replayed_before_the_response_and_commands_follow_it(
    setup: Configuration, folder: str
) -> None:
    """Traps 2 and 14: a load is the exception to the order of the others."""
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(folder)
        await editor.prompt(session, "hi")
    async with open_editor(setup) as editor:
        await editor.initialize()
        await load_session(editor, session, folder)
        await editor.prompt(session, "/version")
        kinds = [message_kind(each) for each in editor.messages[1:]]
    assert kinds[:4] == [
        "user_message_chunk",
        "agent_message_chunk",
        "answer",
        "available_commands_update",
    ]


async def test_a_resumed_session_replays_nothing_but_keeps_its_history(
    setup: Configuration, folder: str
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(folder)
        await editor.prompt(session, "work")
    async with open_editor(setup) as editor:
        await editor.initialize()
        response = await load_session(editor, session, folder, "session/resume")
        assert json_at(response, "result", "modes", "currentModeId") == "bypass"
        assert merge_updates(editor.updates_of(session)) == []
        await editor.prompt(session, "look")
        assert '"content": "one"' in json.dumps(editor.updates_of(session)).replace("\\", "")


async def test_modes_options_and_titles_are_restored(setup: Configuration, folder: str) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(folder)
        await editor.prompt(session, "Mend the   parser\nplease")
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        assert [json_at(each, "title") for each in editor.session_infos] == ["Mend the parser"]
    async with open_editor(setup) as editor:
        await editor.initialize()
        response = await load_session(editor, session, folder)
        assert json_at(response, "result", "modes", "currentModeId") == "plan"
        listed = json_at(await editor.call("session/list", {}), "result", "sessions")
        assert [json_at(listed, 0, "sessionId"), json_at(listed, 0, "title")] == [
            session,
            "Mend the parser",
        ]


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_an_unknown_session_cannot_be_loaded_or_resumed(
    setup: Configuration, folder: str, method: str
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        response = await load_session(editor, UNKNOWN_SESSION_ID, folder, method)
        assert json_at(response, "error", "code") == -32002


async def test_a_deleted_session_is_gone_and_deleting_it_again_is_no_error(
    setup: Configuration, folder: str
) -> None:
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(folder)
        await editor.prompt(session, "hi")
        for session_id in (session, session, UNKNOWN_SESSION_ID):
            response = await editor.call("session/delete", {"sessionId": session_id})
            assert response["result"] == {}
        assert json_at(await editor.call("session/list", {}), "result", "sessions") == []
        assert json_at(await load_session(editor, session, folder), "error", "code") == -32002


async def test_the_session_list_is_paged_and_filtered_by_directory(
    setup: Configuration, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_reads, "PAGE_SIZE", 5)
    other = Path(folder).parent / "other"
    other.mkdir()
    async with open_editor(setup) as editor:
        await editor.initialize()
        ids = [await editor.new_session(str(other if i == 0 else folder)) for i in range(8)]
        for session in ids:
            await editor.prompt(session, "hi")
        first = json_at(await editor.call("session/list", {"cwd": folder}), "result")
        cursor = json_at(first, "nextCursor")
        rest = json_at(
            await editor.call("session/list", {"cwd": folder, "cursor": cursor}), "result"
        )
        found = [
            json_at(each, "sessionId") for page in (first, rest) for each in sessions_of_page(page)
        ]
        assert (len(sessions_of_page(first)), found) == (5, ids[:0:-1])
        bad = await editor.call("session/list", {"cursor": "nonsense"})
        assert json_at(bad, "error", "code") == -32602


async def test_loading_a_busy_session_does_not_affect_its_turn(
    setup: Configuration, folder: str
) -> None:
    """Trap 14: the running turn can still be cancelled."""
    async with open_editor(setup) as editor:
        await editor.initialize()
        session = await editor.new_session(folder)
        pending = editor.start_request("session/prompt", make_prompt_params(session, "wait"))
        await editor.wait_for_response(lambda m: "answer" in json.dumps(m) and "params" in m)
        response = await load_session(editor, session, folder)
        assert "result" in response
        editor.cancel(session)
        assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        assert await editor.prompt(session, "hi") == {"stopReason": "end_turn"}


async def test_a_second_process_is_refused_until_the_first_releases_the_session(
    setup: Configuration, folder: str
) -> None:
    async with open_editor(setup) as first, open_editor(setup) as second:
        await first.initialize()
        await second.initialize()
        session = await first.new_session(folder)
        await first.prompt(session, "hi")
        refused = await load_session(second, session, folder)
        assert json_at(refused, "error", "code") == -32603
        assert OPEN_IN_ANOTHER_PROCESS in str(json_at(refused, "error", "data", "details"))
        await first.call("session/close", {"sessionId": session})
        assert "result" in await load_session(second, session, folder)


async def test_a_fork_continues_from_another_session(tmp_path: Path, folder: str) -> None:
    options = {"--mode": "bypass"}
    async with open_editor(make_configuration(tmp_path, SCRIPT, options=options)) as editor:
        response = await editor.initialize()
        assert json_at(response, "agentCapabilities", "sessionCapabilities", "fork") == {}
        session = await editor.new_session(folder)
        await editor.prompt(session, "work")
        forked = json_at(
            await load_session(editor, session, folder, "session/fork"), "result", "sessionId"
        )
        assert isinstance(forked, str)
        assert forked != session
        await editor.prompt(forked, "look")
        assert "one" in json.dumps(editor.updates_of(forked))
        await editor.call("session/close", {"sessionId": forked})
        count_before = len(editor.updates_of(forked))
        await load_session(editor, forked, folder)
        shown = merge_updates(editor.updates_of(forked)[count_before:])
        texts = [each["text"] for each in shown if "text" in each]
        assert texts == ["work", "Let me see.", "I write it.", "Done.", "look", "Seen."]
