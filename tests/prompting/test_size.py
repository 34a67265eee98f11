"""How much a model is sent for a greeting: the system prompt and the schemas of all tools."""

import json
import sys
from pathlib import Path
from typing import cast

from acp_server.tools.factory import TOOL_NAMES
from tests.support.editor import Object, json_at
from tests.support.messages_api import messages_api_in_thread
from tests.support.server_process import start_server

MOST_CHARACTERS = 20_000
CONFIG = """\
model:
  default: claude-opus-4-6
  provider: custom
  base_url: {url}
  api_key: test-key
  api_mode: anthropic_messages
"""


def test_a_greeting_with_all_tools_uses_few_characters(tmp_path: Path) -> None:
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
    system = "".join(str(each["text"]) for each in cast("list[Object]", body["system"]))
    assert [each["name"] for each in tools] == list(TOOL_NAMES)
    assert len(system) + len(json.dumps(tools)) <= MOST_CHARACTERS
