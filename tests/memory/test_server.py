"""The memory in the server as it is built from its configuration."""

from pathlib import Path
from typing import cast

import pytest

from acp_server.config import settings
from tests.support.editor import Editor, Object, json_at, open_editor

SCRIPT = """\
prompt: *
call: memory
  target: {target}
  action: add
  content: {content}
step:
say: Done.
"""


async def called(editor: Editor, root: Path) -> Object:
    """Have the model call the tool; return the last update of the call."""
    await editor.initialize()
    session_id = await editor.new_session(root)
    await editor.prompt(session_id, "go")
    updates = cast("list[Object]", editor.updates_of(session_id))
    return [each for each in updates if json_at(each, "sessionUpdate") == "tool_call_update"][-1]


@pytest.mark.parametrize(
    ("config", "target", "said"),
    [
        ("", "memory", '"usage": "6/2,200"'),
        ("{memory_char_limit: 100}", "memory", '"usage": "6/100"'),
        ("{user_char_limit: 5}", "user", '"usage": "0/5"'),
        ("{user_profile_enabled: false}", "user", "the store 'user' is switched off"),
        ("{memory_enabled: false}", "user", '"usage": "6/1,375"'),
        ("{memory_enabled: false, user_profile_enabled: false}", "user", "no tool 'memory'"),
    ],
)
async def test_the_settings_control_which_facts_are_remembered(
    config: str, target: str, said: str, tmp_path: Path
) -> None:
    script = tmp_path / "model.script"
    script.write_text(SCRIPT.format(target=target, content="a fact"), encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text(f"memory: {config or '{}'}", encoding="utf-8")
    configuration = settings.load(
        {"--model": f"scripted:{script}", "--mode": "ask"}, {"HERMES_HOME": str(home)}
    )
    async with open_editor(configuration) as editor:
        last = await called(editor, tmp_path)
    assert said in str(json_at(last, "rawOutput", "text"))
