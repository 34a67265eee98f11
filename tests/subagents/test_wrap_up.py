"""A sub-agent that used up its budget reports what it did, also if its window is full."""

import json
from pathlib import Path

from acp_server.subagents.subagent import WRAP_UP
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.messages_api import (
    KEY,
    MessagesServerConfig,
    ParsedRequest,
    ScriptedReply,
    call,
    messages_api,
    reply,
    say,
)

GOAL = "Read everything."
WINDOW = 32_000
HOME = """\
model: {{default: claude-opus-4-6, context_length: {window}}}
anthropic: {{base_url: "{url}"}}
delegation: {{max_turn_requests: 2}}
default_mode: bypass
"""


def respond(ask: ParsedRequest) -> ScriptedReply:
    """Play a session that delegates a task, and a task that reads until its budget ends."""
    text = json.dumps(ask.request.model_dump(mode="json")["messages"])
    if WRAP_UP in text:
        return reply(say("I read half of it."))
    if "delegate_task" in text:
        return reply(say("Finished."))
    if GOAL not in text:
        return reply(call("delegate_task", goal=GOAL))
    first = 4 if "read_file" in text else 0
    return reply(*(call("read_file", path=f"{number}.txt") for number in range(first, first + 4)))


async def test_the_last_request_of_a_task_fits_the_window(tmp_path: Path) -> None:
    for number in range(8):
        lines = (f"{number} {line} of many words, one after the other" for line in range(900))
        (tmp_path / f"{number}.txt").write_text("\n".join(lines))
    config = MessagesServerConfig(context_window=WINDOW)
    async with messages_api(respond, config) as api:
        (tmp_path / "config.yaml").write_text(HOME.format(url=api.url, window=WINDOW))
        configuration = make_configuration(tmp_path, environment={"ANTHROPIC_API_KEY": KEY})
        async with open_editor(configuration) as editor:
            await editor.initialize()
            session = await editor.new_session(tmp_path)
            assert json_at(await editor.prompt(session, "go"), "stopReason") == "end_turn"
        assert [each.verdict for each in api.model_requests] == ["answered"] * 5
        assert "I read half of it." in json.dumps(api.model_requests[-1].body["messages"])
