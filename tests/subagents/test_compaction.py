"""A sub-agent's conversation is summarized like the session's: its task list survives."""

import json
from pathlib import Path

from pydantic import JsonValue

from acp_server.turn.compaction import SUMMARY_HEADING
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.messages_api import (
    KEY,
    ParsedRequest,
    ScriptedReply,
    call,
    messages_api,
    reply,
    say,
)

GOAL = "Look at everything."
PLAN = "Look at the roof"
HOME = """\
model: {{default: claude-opus-4-6, context_length: 32000}}
anthropic: {{base_url: "{url}"}}
default_mode: bypass
"""


def respond(ask: ParsedRequest) -> ScriptedReply:
    """Play a session that delegates a task, and a task that writes more than its window holds."""
    text = json.dumps(ask.request.model_dump(mode="json")["messages"])
    if "This conversation is about to be shortened" in ask.last_text:
        return reply("## Task\nGo on.")
    if not text.count(GOAL) or "delegate_task" in text:
        is_first = "delegate_task" not in text
        return reply(call("delegate_task", goal=GOAL) if is_first else say("Finished."))
    if SUMMARY_HEADING in text:
        return reply("I looked.")
    if PLAN not in text:
        todos: list[JsonValue] = [{"id": "1", "content": PLAN, "status": "pending"}]
        return reply(call("todo", todos=todos))
    thoughts = say("I think about the roof. " * 800)
    look = call("read_file", path=f"{len(text)}.txt")
    return reply(thoughts, look, chunk_characters=1_000)


async def test_a_task_list_survives_the_summary_of_its_sub_agent(tmp_path: Path) -> None:
    async with messages_api(respond) as api:
        (tmp_path / "config.yaml").write_text(HOME.format(url=api.url))
        configuration = make_configuration(tmp_path, environment={"ANTHROPIC_API_KEY": KEY})
        async with open_editor(configuration) as editor:
            await editor.initialize()
            session = await editor.new_session(tmp_path)
            assert json_at(await editor.prompt(session, "go"), "stopReason") == "end_turn"
        bodies = [json.dumps(each.body["messages"]) for each in api.model_requests]
        (last,) = [each for each in bodies if SUMMARY_HEADING in each]
        assert PLAN in last
        assert {each.verdict for each in api.model_requests} == {"answered"}
