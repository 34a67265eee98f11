"""The official TypeScript SDK takes the real server through a session."""

import json
import subprocess
from pathlib import Path

from pydantic import JsonValue

from tests.handlers import expected
from tests.smoke import server
from tests.support.editor import json_at
from tests.support.node_clients import node_clients
from tests.support.server_process import command_line, environment, forked, model_id

PROGRAM = Path(__file__).with_name("typescript_client.mjs")


def update(content: JsonValue) -> JsonValue:
    return ["update", {"sessionId": "sess_1", "update": content}]


def test_the_typescript_sdk_works_through_a_session_from_initialize_to_close(
    tmp_path: Path,
) -> None:
    clients = node_clients()
    workspace = tmp_path / "work space"
    workspace.mkdir()

    completed = subprocess.run(
        [
            server.find_node(),
            str(PROGRAM),
            str(clients),
            str(workspace),
            *forked(command_line(tmp_path, server.SCRIPT)),
        ],
        env=environment(tmp_path),
        capture_output=True,
        timeout=server.DEADLINE_SECONDS,
        check=True,
    )

    assert completed.stderr == b""
    assert expected.shorten_ids(server.drop_info_updates(json.loads(completed.stdout))) == [
        ["initialize", expected.INITIALIZED],
        [
            "session/new",
            expected.new_session_result("sess_1", model=model_id(tmp_path), network="hosts"),
        ],
        *map(update, server.greeting_updates(first_message=1)),
        ["session/prompt", expected.END_TURN],
        ["session/set_mode", {}],
        update(expected.options_update("plan", model_id(tmp_path), "hosts")),
        [
            "session/set_config_option",
            {"configOptions": expected.config_options("accept_edits", model_id(tmp_path), "hosts")},
        ],
        update(expected.mode_update("accept_edits")),
        update(expected.message_chunk("msg_3", "Working")),
        ["session/prompt", expected.CANCELLED],
        *map(update, server.greeting_updates(first_message=4)),
        ["session/prompt", expected.END_TURN],
        ["session/close", {}],
        [
            "session/prompt failed",
            json_at(expected.unknown_session(0, "sess_1"), "error"),
        ],
        ["exit code", 0],
    ]
