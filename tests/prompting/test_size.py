"""How much a model is sent for a greeting, which is mostly the system prompt and the schemas."""

import json
import sys
from pathlib import Path
from typing import cast

from acp_server.tools.tool_names import TOOL_NAMES
from tests.support.editor import Object, json_at
from tests.support.messages_api import messages_api_in_thread
from tests.support.server_process import start_server

MAX_BYTES = 17_000
CONFIG = """\
model:
  default: claude-opus-4-6
  provider: custom
  base_url: {url}
  api_key: test-key
  api_mode: anthropic_messages
"""


def test_a_greeting_with_all_tools_is_a_small_request(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    folder.mkdir()
    with messages_api_in_thread(["Hello."]) as api:
        (home / "config.yaml").write_text(CONFIG.format(url=api.url))
        with start_server(home, command=[sys.executable, "-m", "acp_server"]) as server:
            server.initialize()
            answer = server.prompt(server.new_session(str(folder)), "hi")
        assert json_at(answer, "result", "stopReason") == "end_turn"
        body = api.model_requests[0].body
    tools = cast("list[Object]", body["tools"])
    assert [each["name"] for each in tools] == list(TOOL_NAMES)
    sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    assert len(sent.replace(str(folder), "").encode()) <= MAX_BYTES
