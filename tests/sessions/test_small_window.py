"""A session in a small context window: loaded, it takes long prompts and repeats no notice."""

from pathlib import Path

from pydantic import JsonValue

from acp_server.session.tools import SMALL_WINDOW
from tests.support.editor import Editor, json_at, make_configuration, open_editor
from tests.support.messages_api import KEY, MessagesServerConfig, messages_api

WINDOW = 8_000
MODEL = "claude-opus-4-6"
HOME = """\
model: {{default: {model}, context_length: {window}}}
anthropic: {{base_url: "{url}"}}
"""
NOTICES: JsonValue = {"session": {"notices": {}}}
LONG_PROMPT = "Words, one after the other. " * 340
"""About 2,650 tokens, which fit beside instructions and tools."""


async def initialize(editor: Editor) -> None:
    await editor.initialize(clientCapabilities=NOTICES)


def count_notices(editor: Editor, session: str) -> int:
    """Return how often the session said that its window is small."""
    expected = SMALL_WINDOW.format(model=MODEL)
    return str(editor.updates_of(session)).count(expected)


async def test_a_loaded_session_takes_long_prompts_and_says_nothing_again(tmp_path: Path) -> None:
    config = MessagesServerConfig(context_window=WINDOW)
    async with messages_api(["Hello.", "Read.", "Again."], config) as api:
        (tmp_path / "config.yaml").write_text(HOME.format(url=api.url, model=MODEL, window=WINDOW))
        configuration = make_configuration(tmp_path, environment={"ANTHROPIC_API_KEY": KEY})
        async with open_editor(configuration) as editor:
            await initialize(editor)
            session = await editor.new_session(tmp_path)
            await editor.prompt(session, "hi")
            assert count_notices(editor, session) == 1
            # Another session of the same process knows how its model counts.
            other = await editor.new_session(tmp_path)
            assert json_at(await editor.prompt(other, LONG_PROMPT), "stopReason") == "end_turn"
        async with open_editor(configuration) as editor:
            await initialize(editor)
            where: JsonValue = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
            assert "result" in await editor.call("session/load", where)
            assert json_at(await editor.prompt(session, LONG_PROMPT), "stopReason") == "end_turn"
            assert count_notices(editor, session) == 0
        assert [each.verdict for each in api.model_requests] == ["answered"] * 3
