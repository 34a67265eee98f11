"""Instructions of the client: added to the system prompt, marked, and kept with the session."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.anthropic_model.model_session import KEY
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.messages_api import messages_api

RULE = "Answer in verse."
DRAFT: JsonValue = {"mode": "append", "content": [{"type": "text", "text": RULE}]}


@pytest.mark.parametrize(
    "asked", [{"systemPrompt": DRAFT}, {"_meta": {"systemPrompt": {"append": RULE}}}]
)
async def test_they_are_part_of_the_system_prompt_and_survive_a_restart(
    tmp_path: Path, asked: dict[str, JsonValue]
) -> None:
    async with messages_api(["One."] * 4) as api:
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        configuration = make_configuration(
            tmp_path, options={"--model": "claude-opus-5"}, environment=environment
        )
        async with open_editor(configuration) as editor:
            await editor.initialize()
            session = await editor.new_session(tmp_path, **asked)
            await editor.prompt(session, "hi")
        reopened: dict[str, JsonValue] = {
            "sessionId": session,
            "cwd": str(tmp_path),
            "mcpServers": [],
        }
        other: dict[str, JsonValue] = {"_meta": {"systemPrompt": {"append": "Answer in prose."}}}
        for more in ({}, asked, other):
            async with open_editor(configuration) as editor:
                await editor.initialize()
                await editor.call("session/resume", {**reopened, **more})
                await editor.prompt(session, "again")
        systems = [str(json_at(each.body, "system")) for each in api.model_requests]
    assert ["Instructions from the client" in each for each in systems] == [True] * 4
    assert [RULE in each for each in systems] == [True, True, True, False]
    assert systems[0] == systems[1] == systems[2], "an unchanged prompt stays cached"
    assert "Answer in prose." in systems[3]
