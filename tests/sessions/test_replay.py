"""A session shown again is the session that was shown: every kind of update, for every client.

All that can be in a conversation is played once in front of an editor; what it has at the end is
held against what it gets when the session is loaded, by the same server kind in another process,
loaded once more, and loaded after a kill.
"""

import base64
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.config.settings import Configuration
from tests.sessions.merged_updates import merge_updates
from tests.sessions.test_kept import load_session, make_prompt_params
from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor
from tests.support.server_process import command_line, start_server

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(32)).decode()
SCRIPT = """\
prompt: wait
think: Half a thought
say: Half an answer
call: write_file
  path: half.txt
  content: |
    one
call: terminal
  command: echo begun; sleep 60
step:
say: Never said.

prompt: fail
say: I try.
call: read_file
  path: nowhere.txt
call: no_such_tool
  anything: 1
step:
fail: The endpoint is down.

prompt: steps
think: First this.
say: I look at it.
call: read_file
  path: sub/note.txt
call: search_files
  pattern: note
call: read_file
  path: picture.png
step:
think: Then that.
say: I change it.
call: write_file
  path: new.txt
  content: |
    one
    two
call: patch
  path: sub/note.txt
  old_string: old
  new_string: new
step:
say: I plan.
call: todo
  todos:
    - {id: "1", content: one, status: completed}
    - {id: "2", content: two, status: in_progress}
call: memory
  action: add
  target: memory
  content: The project uses tabs
call: session_search
  query: nothing at all
step:
say: I run it.
call: terminal
  command: printf 'first\\nlast\\n'; exit 3
call: terminal
  command: sleep 60
  background: true
call: process
  action: list
step:
call: write_file
  path: .env
  content: REFUSED=1
call: todo
  todos: [{id: "2", content: two, status: completed}]
  merge: true
step:
say: Done.

prompt: *
say: Hello.
"""
MINIMAL: Object = {}
NOTICES: Object = {"session": {"notices": {}}}
COMPACTIONS: Object = {"session": {"compaction": {}}}
OUTPUT: Object = {"_meta": {"terminal_output": True}}
HOSTING: Object = {"terminal": True}
CLIENTS = {"plain": MINIMAL, "notices": NOTICES, "compactions": COMPACTIONS, "output": OUTPUT}
BLOCKS: list[JsonValue] = [
    {"type": "text", "text": "look at these"},
    {"type": "resource_link", "uri": "file:///nowhere/there.txt", "name": "there.txt"},
    {"type": "resource", "resource": {"uri": "file:///nowhere/here.txt", "text": "its text"}},
    {"type": "image", "mimeType": "image/png", "data": PNG},
]
TALK = 15
"""How many prompts make a conversation long enough to be summed up."""


def clients(*names: str) -> list[object]:
    """Return parameters: the clients to which it makes a difference, and the others in full."""
    return [
        pytest.param(can, id=name, marks=[] if name in names else [pytest.mark.full])
        for name, can in CLIENTS.items()
    ]


@pytest.fixture
def setup(tmp_path: Path) -> Configuration:
    """A home of its own, and a model that does everything."""
    home = tmp_path / "home"
    home.mkdir()
    return make_configuration(home, SCRIPT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with a picture, and a folder with instructions."""
    root = tmp_path / "workspace"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "note.txt").write_text("an old note\n")
    (root / "sub" / "AGENTS.md").write_text("Notes are short.\n")
    (root / "picture.png").write_bytes(base64.b64decode(PNG))
    return root


@asynccontextmanager
async def answering(setup: Configuration, can: Object) -> AsyncGenerator[Editor]:
    """An editor that answers what it is asked: it refuses only what is secret."""
    async with open_editor(setup) as editor, anyio.create_task_group() as tasks:
        await editor.initialize(clientCapabilities=can)
        tasks.start_soon(_answer_permissions, editor)
        yield editor
        tasks.cancel_scope.cancel()


async def _answer_permissions(editor: Editor) -> None:
    seen_count = 0

    def find() -> Object | None:
        nonlocal seen_count
        unseen, seen_count = editor.messages[seen_count:], len(editor.messages)
        return next((each for each in unseen if "method" in each and "id" in each), None)

    while True:
        request = await editor.wait_until(find, "question")
        editor.reply(request, _answer(request))


def _answer(request: Object) -> JsonValue:
    match request["method"]:
        case "session/request_permission":
            wanted_kind = "reject_once" if ".env" in json.dumps(request) else "allow_once"
            options = json_at(request, "params", "options")
            assert isinstance(options, list)
            chosen = next(each for each in options if json_at(each, "kind") == wanted_kind)
            return {"outcome": {"outcome": "selected", "optionId": json_at(chosen, "optionId")}}
        case "terminal/create":
            return {"terminalId": "theirs"}
        case "terminal/output":
            return {"output": "first\r\nlast\r\n", "truncated": False}
        case "terminal/wait_for_exit":
            return {"exitCode": 3}
        case _:
            return {}


async def play(editor: Editor, folder: Path) -> str:
    """Have everything happen in one session."""
    session = await editor.new_session(folder)
    await editor.prompt(session, BLOCKS)
    await editor.prompt(session, "all the steps")
    await editor.prompt(session, "/version")
    failing = await editor.call("session/prompt", make_prompt_params(session, "fail"))
    assert "error" in failing
    waiting = editor.start_prompt(session, "wait")
    await editor.wait_for_response(lambda m: r"begun\n" in json.dumps(m))
    editor.cancel(session)
    assert json_at(await waiting.response(), "result", "stopReason") == "cancelled"
    return session


def conversation(updates: Sequence[JsonValue]) -> list[Object]:
    """What a client has, but for what the user said: that it knows itself."""
    return [each for each in merge_updates(updates) if each["is"] != "user_message_chunk"]


async def reloaded(
    setup: Configuration, can: Object, session: str, folder: Path
) -> list[JsonValue]:
    """Load a session in a server of its own; return what is shown."""
    async with answering(setup, can) as editor:
        assert "result" in await load_session(editor, session, str(folder))
        return editor.updates_of(session)


@pytest.mark.parametrize("can", clients("plain", "notices", "output"))
async def test_everything_is_replayed_as_it_was_shown(
    setup: Configuration, folder: Path, can: Object
) -> None:
    async with answering(setup, can) as editor:
        session = await play(editor, folder)
        live = conversation(editor.updates_of(session))
    kinds = {str(each["kind"]) for each in live if each["is"] == "call"}
    assert kinds >= {"read", "edit", "search", "execute", "think"}
    assert "sub/AGENTS.md" in json.dumps(live)
    for _ in range(2 if can is MINIMAL else 1):  # a load changes nothing, for whichever client
        updates = await reloaded(setup, can, session, folder)
        assert conversation(updates) == live
        check_users_prompts(updates)


def check_users_prompts(updates: Sequence[JsonValue]) -> None:
    """Hold what a load shows of the user's prompts against what was sent, part by part."""
    chunks = [each for each in updates if json_at(each, "sessionUpdate") == "user_message_chunk"]
    sent: list[JsonValue] = [json_at(each, "content") for each in chunks]
    texts: list[JsonValue] = [
        {"type": "text", "text": text} for text in ("all the steps", "/version", "fail", "wait")
    ]
    assert sent == [*BLOCKS, *texts]
    ids = [json_at(each, "messageId") for each in chunks]
    assert (len(set(map(str, ids[:4]))), len(set(map(str, ids)))) == (1, 5)


async def test_client_terminals_are_replayed_as_text(setup: Configuration, folder: Path) -> None:
    """They are gone with the process that had them."""
    async with answering(setup, HOSTING) as editor:
        session = await editor.new_session(folder)
        await editor.prompt(session, "all the steps")
        live = conversation(editor.updates_of(session))
    shown = conversation(await reloaded(setup, HOSTING, session, folder))
    assert [without_content(each) for each in shown] == [without_content(each) for each in live]
    contents = [json.dumps(each.get("content")) for each in shown]
    assert "theirs" not in "".join(contents)
    assert any("first" in each and "last" in each for each in contents)


def without_content(update: Object) -> Object:
    """A part of a conversation, whatever stands in it."""
    return {name: value for name, value in update.items() if name != "content"}


@pytest.mark.parametrize("can", clients("plain", "compactions"))
async def test_a_compacted_conversation_is_replayed_completely(
    setup: Configuration, folder: Path, can: Object
) -> None:
    async with answering(setup, can) as editor:
        session = await editor.new_session(folder)
        for _ in range(TALK):
            await editor.prompt(session, "hi")
        await editor.prompt(session, "/compact")
        await editor.prompt(session, "hi")
        live = conversation(editor.updates_of(session))
    is_shown = any(each["is"] == "compaction" for each in live)
    assert is_shown == (can == COMPACTIONS)
    assert conversation(await reloaded(setup, can, session, folder)) == live


def test_after_a_kill_everything_that_had_ended_is_replayed(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    command = [*command_line(home, SCRIPT), "--mode", "bypass"]
    with start_server(home, command=command) as server:
        server.initialize()
        session = server.new_session(str(folder))
        server.prompt(session, "all the steps")
        live = updates_in(server.messages, session)
        assert "result" in server.call("session/list", {})  # what was recorded before is written
        server.process.kill()
        server.process.wait()
    with start_server(home, command=command) as server:
        server.initialize()
        params: JsonValue = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        assert "result" in server.call("session/load", params)
        shown = updates_in(server.messages, session)
    assert conversation(shown) == conversation(live)


def updates_in(messages: Sequence[Object], session: str) -> list[JsonValue]:
    """The updates of a session among messages."""
    found = [each for each in messages if each.get("method") == "session/update"]
    return [
        json_at(m, "params", "update")
        for m in found
        if json_at(m, "params", "sessionId") == session
    ]
