"""What Zed sends in the life of a thread, in its order and spelling, played to the real process.

The messages are those of Zed's own client (its crates `agent_servers` and `acp_thread`): what it
says of itself, how it writes mentions, when it sets defaults, closes and loads.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.support.editor import Object, json_at
from tests.support.server_process import ServerProcess, start_server

SCRIPT = """\
prompt: wait
say: I wait.
pause: 60s
prompt: *
call: read_file
  path: a b.py
step:
call: write_file
  path: a b.py
  content: new
step:
call: terminal
  command: ./build > out.txt
step:
say: Done.
"""
INITIALIZE: JsonValue = {
    "protocolVersion": 1,
    "clientCapabilities": {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "auth": {"terminal": True},
        "session": {"configOptions": {"boolean": {}}},
        "elicitation": {"form": {}, "url": {}},
        "_meta": {"terminal_output": True, "terminal-auth": True},
    },
    "clientInfo": {"name": "zed", "title": "Zed", "version": "1.0.0"},
}


class Zed:
    """Answers what the server asks as Zed does, and keeps what was asked."""

    def __init__(self, server: ServerProcess, project: Path) -> None:
        self.server = server
        self.project = project
        self.asked: list[str] = []
        self.updates: list[Object] = []

    def call(self, method: str, params: JsonValue) -> JsonValue:
        """Send a request; answer what comes before its result, and return that."""
        return self.result_of(self.server.start_request(method, params))

    def result_of(self, request_id: int) -> JsonValue:
        """Answer what comes before a response, and return its result."""
        while True:
            message = self.server.receive()
            if message.get("method") == "session/update":
                params = cast("Object", message["params"])
                self.updates.append(cast("Object", params["update"]))
            elif "method" in message:
                self._answer(message)
            elif message["id"] == request_id:
                return message["result"]

    def _answer(self, message: Object) -> None:
        method = str(message["method"])
        self.asked.append(method)
        result = self._answer_to(method, cast("Object", message["params"]))
        self.server.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _answer_to(self, method: str, params: Object) -> JsonValue:
        match method:
            case "fs/read_text_file":
                return {"content": Path(str(params["path"])).read_text(encoding="utf-8")}
            case "fs/write_text_file":
                Path(str(params["path"])).write_text(str(params["content"]), encoding="utf-8")
                return {}
            case "session/request_permission":
                options = cast("list[Mapping[str, str]]", params["options"])
                chosen = next(each for each in options if each["kind"] == "allow_once")
                return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}
            case _:
                pytest.fail(f"Zed was asked {method}")

    def kinds(self) -> list[JsonValue]:
        """Return the kinds of the updates so far, and forget them."""
        kinds = [each["sessionUpdate"] for each in self.updates]
        self.updates.clear()
        return kinds


def session_params(zed: Zed, session_id: str) -> JsonValue:
    return {"sessionId": session_id, "cwd": str(zed.project), "mcpServers": []}


def mention_parts(file: Path) -> JsonValue:
    """Return a prompt with a symbol, a selection and a folder mentioned, as Zed writes them."""
    return [
        {"type": "text", "text": "Look at "},
        {"type": "resource_link", "uri": f"{file.as_uri()}?symbol=main#L2:3", "name": "main"},
        {
            "type": "resource",
            "resource": {"uri": f"{file.as_uri()}?column=2#L1:1", "text": "one\n"},
        },
        {"type": "resource_link", "uri": f"{file.parent.as_uri()}/", "name": "project"},
        {"type": "resource_link", "uri": "zed:///agent/diagnostics", "name": "Diagnostics"},
    ]


def test_a_zed_thread_works_from_initialize_until_it_is_reopened(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    file = project / "a b.py"
    file.write_text("one\ntwo\nthree\n", encoding="utf-8")
    with start_server(home, SCRIPT) as server:
        zed = Zed(server, project)
        zed.call("initialize", INITIALIZE)
        assert zed.call("session/list", {"cwd": str(project)}) == {"sessions": []}
        session_id = open_thread(zed)
        set_defaults(zed, session_id)
        zed.kinds()
        prompt: JsonValue = {"sessionId": session_id, "prompt": mention_parts(file)}
        assert zed.call("session/prompt", prompt) == {"stopReason": "end_turn"}
        check_turn(zed, file)
        stop_a_turn(zed, session_id)
        reopen(zed, session_id)
        server.close_stdin()
        assert server.wait() == 0
        assert server.stderr() == ""


def open_thread(zed: Zed) -> str:
    """Open a thread: nothing of it may come before the answer that names it."""
    params: JsonValue = {"cwd": str(zed.project), "mcpServers": []}
    opened = cast("Object", zed.call("session/new", params))
    assert zed.kinds() == []
    options = cast("list[Object]", opened["configOptions"])
    assert [option["category"] for option in options][:2] == ["mode", "model"]
    return str(opened["sessionId"])


def set_defaults(zed: Zed, session_id: str) -> None:
    """Set a mode and an option: the answer has all options, as they are."""
    mode: JsonValue = {"sessionId": session_id, "modeId": "accept_edits"}
    assert zed.call("session/set_mode", mode) == {}
    option: JsonValue = {"sessionId": session_id, "configId": "mode", "value": "ask"}
    answer = cast("Object", zed.call("session/set_config_option", option))
    options = cast("list[Object]", answer["configOptions"])
    assert {each["id"]: each["currentValue"] for each in options}["mode"] == "ask"


def check_turn(zed: Zed, file: Path) -> None:
    """An edit goes through Zed's buffers, by leave; a command shows by Zed's convention."""
    edits = ["fs/read_text_file", "session/request_permission", "fs/write_text_file"]
    assert list(dict.fromkeys(zed.asked)) == edits
    assert zed.asked.count("session/request_permission") == 2, "the edit and the command"
    assert file.read_text(encoding="utf-8") == "new"
    metas = [set(cast("Object", each["_meta"])) for each in zed.updates if "_meta" in each]
    assert [{"terminal_info"}, {"terminal_exit"}] == [metas[0], metas[-1]]
    assert zed.kinds()[-1] == "agent_message_chunk"
    zed.asked.clear()


def stop_a_turn(zed: Zed, session_id: str) -> None:
    """Stop, as Zed does: by a notification, and the prompt is answered."""
    prompt: JsonValue = [{"type": "text", "text": "wait"}]
    request_id = zed.server.start_request(
        "session/prompt", {"sessionId": session_id, "prompt": prompt}
    )
    kind = None
    while kind != "agent_message_chunk":
        kind = json_at(zed.server.receive_update(), "params", "update", "sessionUpdate")
    params: JsonValue = {"sessionId": session_id}
    zed.server.send({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
    assert zed.result_of(request_id) == {"stopReason": "cancelled"}


def reopen(zed: Zed, session_id: str) -> None:
    """Close the thread, find it in the list, and open it with all that was said."""
    assert zed.call("session/close", {"sessionId": session_id}) == {}
    listed = cast("Object", zed.call("session/list", {}))
    assert [each["sessionId"] for each in cast("list[Object]", listed["sessions"])] == [session_id]
    zed.kinds()
    loaded = cast("Object", zed.call("session/load", session_params(zed, session_id)))
    assert set(loaded) >= {"modes", "configOptions"}
    replayed = zed.kinds()
    assert replayed[0] == "user_message_chunk"
    assert {"tool_call", "agent_message_chunk"} <= set(replayed)
