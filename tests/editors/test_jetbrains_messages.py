"""What a JetBrains IDE sends in the life of a chat, in its spelling, played to the real process.

The spelling is that of a log that an IDE has recorded (`acp-transport.log`, in anna239/acp-replay),
of its `initialize` in a later version (agentclientprotocol/registry, pull request 30), and of the
library that writes the messages (agentclientprotocol/kotlin-sdk): each has a member `type` that
JSON-RPC does not know, links are paths instead of URIs, and open files are linked twice.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.anthropic_model.model_session import open_model_session
from tests.support.editor import Object
from tests.support.messages_api import messages_api
from tests.support.published_schema import schema_errors
from tests.support.server_process import ServerProcess, start_server

SCRIPT = """\
prompt: wait
say: I wait.
pause: 60s
prompt: *
think: Let me see.
call: read_file
  path: greeting.py
step:
call: patch
  path: greeting.py
  old_string: there
  new_string: world
step:
call: terminal
  command: sort greeting.py > sorted.txt
step:
say: Done.
"""
INITIALIZE: Object = {
    "protocolVersion": 1,
    "clientCapabilities": {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": False,
    },
    "clientInfo": {
        "name": "JetBrains.IntelliJ IDEA",
        "version": "2026.1 EAP",
        "title": "IntelliJ IDEA 2026.1 EAP",
    },
}
LIBRARY = "com.agentclientprotocol.rpc"


class Ide:
    """Answers what the server asks as the IDE does, and keeps what was asked."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.asked: list[str] = []
        self.updates: list[Object] = []
        self._last_id = 0

    def call(self, method: str, **params: JsonValue) -> Object:
        """Send a request; answer what comes before its result, and return that."""
        return self.result_of(self.start(method, **params))

    def start(self, method: str, **params: JsonValue) -> int:
        """Send a request and return its id."""
        self._last_id += 1
        self._send("JsonRpcRequest", id=self._last_id, method=method, params=params)
        return self._last_id

    def notify(self, method: str, **params: JsonValue) -> None:
        """Send a notification."""
        self._send("JsonRpcNotification", method=method, params=params)

    def result_of(self, request_id: int) -> Object:
        """Answer what comes before a response, and return its result."""
        while True:
            message = self.receive()
            if "method" not in message and message["id"] == request_id:
                return cast("Object", message["result"])

    def receive(self) -> Object:
        """Return the next message, after answering it if it is a request."""
        message = self.server.receive()
        if message.get("method") == "session/update":
            params = cast("Object", message["params"])
            assert schema_errors("SessionNotification", params) == []
            self.updates.append(cast("Object", params["update"]))
        elif "method" in message:
            self._answer(message)
        return message

    def kinds(self) -> list[JsonValue]:
        """Return the kinds of the updates so far."""
        return [each["sessionUpdate"] for each in self.updates]

    def _answer(self, message: Object) -> None:
        method = str(message["method"])
        self.asked.append(method)
        result = self._answer_to(method, cast("Object", message["params"]))
        self._send("JsonRpcResponse", id=message["id"], result=result)

    def _answer_to(self, method: str, params: Object) -> JsonValue:
        match method:
            case "fs/read_text_file":
                return {"content": Path(str(params["path"])).read_text(encoding="utf-8")}
            case "fs/write_text_file":
                Path(str(params["path"])).write_text(str(params["content"]), encoding="utf-8")
                return {}
            case "session/request_permission":
                assert schema_errors("RequestPermissionRequest", params) == []
                options = cast("list[Mapping[str, str]]", params["options"])
                chosen = next(each for each in options if each["kind"] == "allow_once")
                return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}
            case _:
                pytest.fail(f"the IDE was asked {method}")

    def _send(self, kind: str, **members: JsonValue) -> None:
        self.server.send({"type": f"{LIBRARY}.{kind}", **members, "jsonrpc": "2.0"})


def link(path: Path) -> JsonValue:
    """Return a link as the IDE writes it."""
    return {"type": "resource_link", "name": path.name, "uri": str(path)}


def test_a_chat_from_its_first_message_to_the_loaded_session(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "shop"
    home.mkdir()
    project.mkdir()
    greeting, log = project / "greeting.py", tmp_path / "acp-transport.log"
    greeting.write_text("Hello there.\n")
    log.write_text("a log of the IDE, outside of the project\n")
    with start_server(home, SCRIPT) as server:
        ide = Ide(server)
        session = open_chat(ide, project)
        work(ide, session, [link(greeting), link(project / "missing.py"), link(log)])
        assert greeting.read_text() == "Hello world.\n"
        stop_a_turn(ide, session)
        load(ide, session, project)
        server.close_stdin()
        assert server.wait() == 0
        assert server.stderr() == ""


def open_chat(ide: Ide, project: Path) -> str:
    """Open a chat: an update before the answer that names it makes the IDE wait forever."""
    initialized = ide.call("initialize", **INITIALIZE)
    assert schema_errors("InitializeResponse", initialized) == []
    opened = ide.call("session/new", cwd=str(project), mcpServers=[])
    assert schema_errors("NewSessionResponse", opened) == []
    assert ide.updates == []
    options = cast("list[Object]", opened["configOptions"])
    # Its library expects flat lists, and has no boolean options unless it announces them.
    assert all(option["type"] == "select" for option in options)
    assert all("group" not in each for option in options for each in values_of(option))
    return str(opened["sessionId"])


def values_of(option: Object) -> list[Object]:
    return cast("list[Object]", option["options"])


def work(ide: Ide, session: str, open_files: list[JsonValue]) -> None:
    """Send a prompt with the open files, each linked twice; they are links, which ask nothing."""
    text: JsonValue = {"type": "text", "text": "greet the world"}
    prompt = [text, *open_files, *open_files]
    answer = ide.call("session/prompt", sessionId=session, prompt=prompt)
    assert answer["stopReason"] == "end_turn"
    assert list(dict.fromkeys(ide.asked)) == [
        "fs/read_text_file",
        "session/request_permission",
        "fs/write_text_file",
    ]
    assert ide.asked.count("session/request_permission") == 2  # the edit and the command
    assert {"agent_thought_chunk", "tool_call", "tool_call_update", "agent_message_chunk"} <= set(
        ide.kinds()
    )
    assert ide.kinds()[-1] == "agent_message_chunk"
    ide.updates.clear()


def stop_a_turn(ide: Ide, session: str) -> None:
    prompt: JsonValue = [{"type": "text", "text": "wait"}]
    request_id = ide.start("session/prompt", sessionId=session, prompt=prompt)
    while "agent_message_chunk" not in ide.kinds():
        ide.receive()
    ide.notify("session/cancel", sessionId=session)
    assert ide.result_of(request_id)["stopReason"] == "cancelled"
    ide.updates.clear()


def load(ide: Ide, session: str, project: Path) -> None:
    """Load the chat again: all of it, and its commands after the answer."""
    loaded = ide.call("session/load", sessionId=session, cwd=str(project), mcpServers=[])
    assert schema_errors("LoadSessionResponse", loaded) == []
    assert ide.kinds()[0] == "user_message_chunk"
    assert {"tool_call", "agent_message_chunk"} <= set(ide.kinds())
    while "available_commands_update" not in ide.kinds():
        ide.receive()


async def test_a_file_that_is_linked_twice_is_sent_once(tmp_path: Path) -> None:
    prompt = [{"type": "text", "text": "hi"}, *(2 * [link(tmp_path / "a.py")])]
    async with messages_api(["Hello."]) as api, open_model_session(api, tmp_path) as session:
        await session.editor.prompt(session.session_id, cast("list[JsonValue]", prompt))
        sent = json.dumps(api.model_requests[0].body["messages"])
    assert sent.count(f"[a.py]({tmp_path / 'a.py'})") == 1
