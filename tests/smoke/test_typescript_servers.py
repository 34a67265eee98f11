"""The official TypeScript SDK provides an MCP server over the ACP connection (draft)."""

import json
import subprocess
from pathlib import Path

from tests.smoke import server
from tests.support.node_clients import node_clients
from tests.support.published_schema import schema_errors
from tests.support.server_process import command_line, environment, forked
from tests.support.user_texts import SERVER_NOT_PROVIDED

PROGRAM = Path(__file__).with_name("typescript_servers.mjs")
SCRIPT = """\
prompt: *
call: tools__echo
  text: hello
step:
say: Done.
"""


def test_the_typescript_sdk_serves_tools_over_the_connection(tmp_path: Path) -> None:
    home, workspace = (tmp_path / name for name in ("home", "work space"))
    home.mkdir()
    workspace.mkdir()
    completed = subprocess.run(
        [
            server.find_node(),
            str(PROGRAM),
            str(node_clients()),
            str(workspace),
            *forked(command_line(home, SCRIPT)),
        ],
        env=environment(home),
        capture_output=True,
        timeout=server.DEADLINE_SECONDS,
        check=True,
    )
    assert completed.stderr == b""
    seen = json.loads(completed.stdout)
    assert seen["answers"] == [
        {"http": True, "sse": True, "acp": True},
        "end_turn",
        "end_turn",
    ]
    methods = ["server/discover", "tools/list", "tools/call"]
    assert seen["requests"] == [[method, "acp-server"] for method in methods]
    assert seen["questions"] == ["tools: echo", "tools: echo"]
    assert [
        fault for each in seen["updates"] for fault in schema_errors("SessionUpdate", each)
    ] == []
    calls = [each for each in seen["updates"] if each["sessionUpdate"] == "tool_call_update"]
    assert "half way" in json.dumps(calls)
    results = [json.dumps(each["content"]) for each in calls if each.get("status") == "completed"]
    assert ["echo: hello" in result for result in results] == [True]
    failed = [json.dumps(each["content"]) for each in calls if each.get("status") == "failed"]
    assert [SERVER_NOT_PROVIDED in each for each in failed] == [True]
