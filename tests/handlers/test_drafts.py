"""Drafts of the protocol: each is used only if the side that needs it has announced it."""

import json
from functools import cache
from pathlib import Path
from typing import cast

import pytest
from jsonschema_rs import Draft202012Validator
from pydantic import JsonValue

from tests.anthropic_model.model_session import KEY
from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor
from tests.support.messages_api import messages_api
from tests.support.node_clients import node_clients

DRAFTS = "node_modules/@agentclientprotocol/sdk/schema/v1/schema.unstable.json"
SCRIPT = """\
prompt: plan
call: todo
  {"todos": [{"id": "1", "content": "Look", "status": "in_progress"}]}
say: Planned.

prompt: *
say: Hello.
"""


@cache
def drafts() -> Object:
    return json.loads((node_clients() / DRAFTS).read_text(encoding="utf-8"))


def assert_draft(definition: str, value: JsonValue) -> None:
    """Check a value against a definition of the unstable schema, and its keys."""
    reference: JsonValue = f"#/$defs/{definition}"
    schema: Object = {"$ref": reference, "$defs": drafts()["$defs"]}
    assert [error.message for error in Draft202012Validator(schema).iter_errors(value)] == []
    known = json_at(drafts(), "$defs", definition, "properties")
    if isinstance(known, dict) and known:
        assert set(cast("Object", value)) <= set(known)


async def call(editor: Editor, method: str, definition: str, **params: JsonValue) -> Object:
    """Call a draft method and return its result, checked against the schema."""
    answer = await editor.call(method, params)
    assert "result" in answer, answer
    assert_draft(definition, answer["result"])
    return cast("Object", answer["result"])


async def test_the_agent_announces_its_drafts(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        answer = await editor.initialize()
    assert_draft("InitializeResponse", answer)
    sessions = cast("Object", json_at(answer, "agentCapabilities", "sessionCapabilities"))
    assert {"fork", "title", "systemPrompt"} <= set(sessions)
    assert json_at(answer, "agentCapabilities", "auth") == {"logout": {}, "status": {}}


async def test_asked_for_version_two_the_agent_answers_one(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        assert json_at(await editor.initialize(protocolVersion=2), "protocolVersion") == 1


async def test_a_session_is_named_open_and_closed(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "hi")
        for title, stored in (("  The\nparser ", "The parser"), ("x" * 999, "x" * 200)):
            named = await call(
                editor,
                "session/set_title",
                "SetSessionTitleResponse",
                sessionId=session,
                title=title,
            )
            assert named == {"title": stored}
            assert json_at(editor.session_infos[-1], "title") == stored
        await editor.call("session/close", {"sessionId": session})
        await call(
            editor, "session/set_title", "SetSessionTitleResponse", sessionId=session, title="Mine"
        )
        listed = json_at(await editor.call("session/list", {}), "result", "sessions", 0, "title")
        assert listed == "Mine"
        await editor.call(
            "session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        )
        await editor.prompt(session, "another topic")
        listed = json_at(await editor.call("session/list", {}), "result", "sessions", 0, "title")
        assert listed == "Mine", "no title of ours replaces that of the user"


@pytest.mark.parametrize(
    ("session", "title", "code"),
    [("ours", " \n", -32602), ("ours", None, -32602), ("no", "a", -32002)],
)
async def test_a_title_that_cannot_be_set_is_refused(
    tmp_path: Path, session: str, title: JsonValue, code: int
) -> None:
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        opened = await editor.new_session(tmp_path)
        named = opened if session == "ours" else session
        answer = await editor.call("session/set_title", {"sessionId": named, "title": title})
        assert json_at(answer, "error", "code") == code


@pytest.mark.parametrize(
    ("script", "environment", "status"),
    [
        (SCRIPT, {}, {"state": "not_required"}),
        (None, {}, {"state": "unauthenticated"}),
        (
            None,
            {"ANTHROPIC_API_KEY": "sk-ant-test"},
            {
                "state": "authenticated",
                "accounts": [{"label": "Anthropic API key", "active": True}],
            },
        ),
    ],
)
async def test_the_sign_in_state_is_told_without_signing_in(
    tmp_path: Path, script: str | None, environment: dict[str, str], status: JsonValue
) -> None:
    configuration = make_configuration(tmp_path, script, environment=environment)
    async with open_editor(configuration) as editor:
        await editor.initialize()
        assert await call(editor, "auth/status", "AuthStatusResponse") == status


async def test_plans_have_an_id_only_for_clients_that_ask_for_it(tmp_path: Path) -> None:
    cases: list[tuple[JsonValue, str]] = [({}, "plan"), ({"plan": {}}, "plan_update")]
    for capabilities, kind in cases:
        async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
            await editor.initialize(clientCapabilities=capabilities)
            session = await editor.new_session(tmp_path)
            await editor.prompt(session, "plan")
            plans = [each for each in editor.updates if "entries" in json.dumps(each)]
            for each in plans:
                assert_draft("SessionNotification", each)
            assert [json_at(each, "update", "sessionUpdate") for each in plans] == [kind]


@pytest.mark.parametrize(
    ("capabilities", "options", "has_usage"),
    [({}, {}, False), ({"plan": {}}, {}, True), ({}, {"--unstable": "true"}, True)],
)
async def test_usage_is_sent_only_to_clients_that_know_drafts(
    tmp_path: Path, capabilities: JsonValue, options: dict[str, str], *, has_usage: bool
) -> None:
    async with messages_api(["One."]) as api:
        configuration = make_configuration(
            tmp_path,
            options={"--model": "claude-opus-5", **options},
            environment={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url},
        )
        async with open_editor(configuration) as editor:
            await editor.initialize(clientCapabilities=capabilities)
            session = await editor.new_session(tmp_path)
            answer = cast("Object", await editor.prompt(session, "hi"))
    assert ("usage" in answer) == has_usage
    if has_usage:
        assert_draft("PromptResponse", answer)
        usage = cast("dict[str, int]", answer["usage"])
        parts = ("inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens")
        assert usage["totalTokens"] == sum(usage[part] for part in parts) > 0


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"systemPrompt": {"mode": "override", "content": []}}, "cannot be replaced"),
        ({"systemPrompt": {"mode": "prepend", "content": []}}, "only `append`"),
        ({"systemPrompt": {"mode": "append", "content": []}}, "it is empty"),
        (
            {
                "systemPrompt": {
                    "mode": "append",
                    "content": [{"type": "resource_link", "uri": "file:///a", "name": "a"}],
                }
            },
            "only blocks of type `text`",
        ),
        ({"systemPrompt": {"content": []}}, "systemPrompt.mode"),
        ({"_meta": {"systemPrompt": "You are a pirate."}}, "cannot be replaced"),
        ({"_meta": {"systemPrompt": {"prepend": "x"}}}, "expected"),
        ({"_meta": {"systemPrompt": {"append": "x" * 50_001}}}, "at most 50,000"),
    ],
)
async def test_instructions_that_cannot_be_added_open_no_session(
    tmp_path: Path, asked: Object, reason: str
) -> None:
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        params: Object = {"cwd": str(tmp_path), "mcpServers": [], **asked}
        answer = await editor.call("session/new", params)
        assert json_at(answer, "error", "code") == -32602
        assert reason in str(json_at(answer, "error", "message"))
