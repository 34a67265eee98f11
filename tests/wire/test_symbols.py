"""`symbols` in the real process: nothing of it is loaded before, and the index is its child."""

import json
import sys
from pathlib import Path

from tests.prompting.test_size import CONFIG
from tests.support.editor import json_at
from tests.support.messages_api import call, messages_api_in_thread, reply
from tests.support.server_process import start_server


def test_an_outline_and_a_definition_reach_the_model(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    folder.mkdir()
    for number in range(50):
        text = f"class C{number}:\n    def total(self): ...\n"
        (folder / f"m{number}.py").write_text(text, encoding="utf-8")
    answers = [
        reply(call("symbols", action="outline", path="m7.py")),
        reply(call("symbols", action="definition", name="C7.total")),
        "Done.",
    ]
    with messages_api_in_thread(answers) as api:
        (home / "config.yaml").write_text(CONFIG.format(url=api.url))
        command = [sys.executable, "-m", "acp_server"]
        with start_server(home, command=command, new_interpreter=True) as server:
            server.initialize()
            session_id = server.new_session(str(folder))
            if sys.platform == "linux":
                assert "tree_sitter" not in Path(f"/proc/{server.process.pid}/maps").read_text()
            answer = server.prompt(session_id, "Where is it?")
        assert json_at(answer, "result", "stopReason") == "end_turn"
        sent = json.dumps(api.model_requests[-1].body)
    assert "1-2:class C7:" in sent
    assert "m7.py:2 method C7.total" in sent
