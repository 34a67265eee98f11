"""An external memory beside a session: asked, shown to the model, told what was said."""

import json
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.memory.local.store import FactStore
from tests.memory.example_provider import write_dist_info
from tests.support.editor import Editor, json_at, open_editor
from tests.support.messages_api import KEY, FakeApiServer, RecordedRequest, messages_api

MODEL = "claude-opus-5-5"
NAME = "said-before"
MISSING = "The memory provider 'absent' was skipped: it is not installed"
RECALLED = "[What the memory 'said-before' recalls; the user did not say it:"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, as if its package were installed; returns a home."""
    packages = tmp_path / "packages"
    write_dist_info(packages, NAME)
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    return tmp_path


def configured(home: Path, api: FakeApiServer, provider: str) -> Configuration:
    """A server whose memory is the provider of a name."""
    (home / "config.yaml").write_text(f"memory: {{provider: '{provider}'}}\n")
    environment = {
        "HERMES_HOME": str(home),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": KEY,
    }
    return settings.load({"--mode": "bypass", "--model": MODEL}, environment)


def system_of(recorded: RecordedRequest) -> str:
    """The system prompt of a request."""
    return json.dumps(recorded.body["system"], ensure_ascii=False)


def last_message(recorded: RecordedRequest) -> str:
    """What the user said last in a request, with all that goes with it."""
    return json.dumps(
        json_at(recorded.body, "messages", len(messages_of(recorded)) - 1), ensure_ascii=False
    )


def messages_of(recorded: RecordedRequest) -> list[JsonValue]:
    """The conversation of a request."""
    messages = recorded.body["messages"]
    assert isinstance(messages, list)
    return messages


async def test_stored_messages_are_recalled_by_the_next_server(installed: Path) -> None:
    async with messages_api(["Noted.", "Yes.", "Indeed.", "Still."]) as api:
        setup = configured(installed, api, NAME)
        async with open_editor(setup) as editor:
            await editor.initialize()
            session = await editor.new_session(installed)
            await editor.prompt(session, "the parser is slow")
        stored = (installed / "said-before.jsonl").read_text(encoding="utf-8")
        assert [json.loads(line) for line in stored.splitlines()] == ["the parser is slow"]
        async with open_editor(setup) as editor:
            await editor.initialize()
            await load(editor, session, installed)
            await editor.prompt(session, "which parser then")
            other = await editor.new_session(installed)
            await editor.prompt(other, "parser? mend the parser")
        first, second, third = api.model_requests
    assert "Said before: 0 things." in system_of(first)
    assert RECALLED not in last_message(first)
    assert system_of(second) == system_of(first)
    assert f"{RECALLED}\\nthe parser is slow\\n]" in last_message(second)
    assert "Said before: 2 things." in system_of(third)
    assert "which parser then" in last_message(third)


async def load(editor: Editor, session: str, folder: Path) -> None:
    """Take a session up again."""
    params: JsonValue = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
    assert "result" in await editor.call("session/load", params)


async def test_a_missing_provider_is_reported_once_and_work_continues(
    tmp_path: Path,
) -> None:
    async with (
        messages_api(["One.", "Two."]) as api,
        open_editor(configured(tmp_path, api, "absent")) as editor,
    ):
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        for _ in range(2):
            assert json_at(await editor.prompt(session, "hi"), "stopReason") == "end_turn"
        output = editor.agent_text(session)
    assert output.count(MISSING) == 1


async def test_without_a_provider_none_of_its_modules_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with messages_api(["One."]) as api:
        monkeypatch.delitem(sys.modules, "acp_server.memory.providers", raising=False)
        async with open_editor(configured(tmp_path, api, "")) as editor:
            await editor.initialize()
            await editor.prompt(await editor.new_session(tmp_path), "hi")
        assert "acp_server.memory.providers" not in sys.modules


def tool_names(recorded: RecordedRequest) -> list[JsonValue]:
    """The names of the tools of a request."""
    tools = recorded.body["tools"]
    assert isinstance(tools, list)
    return [json_at(tool, "name") for tool in tools]


async def test_the_local_memory_has_its_text_and_tools_in_the_first_prompt(tmp_path: Path) -> None:
    async with (
        messages_api(["Noted.", "Frankfurt."]) as api,
        open_editor(configured(tmp_path, api, "local")) as editor,
    ):
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "We deploy the billing service from Frankfurt.")
        await editor.call("session/close", {"sessionId": session})
        await editor.prompt(await editor.new_session(tmp_path), "Where do we deploy billing?")
        first, second = api.model_requests
    assert "# Local memory\\nFacts from earlier sessions on this machine: 0." in system_of(first)
    assert "Facts from earlier sessions on this machine: 1." in system_of(second)
    for request in (first, second):
        assert tool_names(request)[-2:] == ["fact_search", "fact_store"]
    recalled = "- We deploy the billing service from Frankfurt. (20"
    assert f"[What the memory 'local' recalls; the user did not say it:\\n{recalled}" in (
        last_message(second)
    )


@pytest.mark.parametrize(
    ("mode", "said"), [("ask", "Stored as 1."), ("plan", "plan mode is on: nothing is written")]
)
async def test_a_provider_tool_that_changes_follows_the_rules_of_the_memory(
    mode: str, said: str, tmp_path: Path
) -> None:
    script = tmp_path / "model.script"
    script.write_text(
        "prompt: *\ncall: fact_store\n  text: Tests run with just\nstep:\nsay: Done.\n"
    )
    (tmp_path / "config.yaml").write_text("memory: {provider: local}\n")
    configuration = settings.load(
        {"--model": f"scripted:{script}", "--mode": mode}, {"HERMES_HOME": str(tmp_path)}
    )
    async with open_editor(configuration) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "go")
        updates = json.dumps(editor.updates_of(session), ensure_ascii=False)
    assert said in updates


async def test_changes_of_the_built_in_memory_reach_the_provider(tmp_path: Path) -> None:
    script = tmp_path / "model.script"
    call = "call: memory\n  action: add\n  target: user\n  content: Prefers tabs over spaces\n"
    script.write_text(f"prompt: *\n{call}step:\nsay: Done.\n")
    (tmp_path / "config.yaml").write_text("memory: {provider: local}\n")
    configuration = settings.load(
        {"--model": f"scripted:{script}", "--mode": "ask"}, {"HERMES_HOME": str(tmp_path)}
    )
    async with open_editor(configuration) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "go")
        await editor.call("session/close", {"sessionId": session})
    facts = FactStore(tmp_path / "acp" / "facts.db").search("tabs or spaces?", 5)
    assert [(fact.text, fact.source) for fact in facts] == [("Prefers tabs over spaces", "memory")]
