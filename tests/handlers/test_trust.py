"""Trust in a workspace: asked at the first prompt that would use its settings, by form or call."""

from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.permissions.trust import TrustStore
from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SCRIPT = "prompt: *\nsay: Done."
FORMS: JsonValue = {"elicitation": {"form": {}}}
WIDE = {"--mode": "accept_edits"}


def project(folder: Path, text: str) -> Path:
    """A workspace with settings of its own."""
    root = folder / "project"
    root.mkdir()
    (root / ".hermes.md").write_text(f"---\n{text}\n---\nBe kind.\n")
    return root


async def begin(editor: Editor, root: Path, can: JsonValue = None) -> str:
    """Open a session there."""
    await editor.initialize(**({} if can is None else {"clientCapabilities": can}))
    answer = await editor.call("session/new", {"cwd": str(root), "mcpServers": []})
    return str(json_at(answer, "result", "sessionId"))


async def prompted(editor: Editor, session: str, answer: Mapping[str, JsonValue]) -> Object:
    """Send a prompt, answer the question that it leads to; return the question."""
    params: Object = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
    pending = editor.start_request("session/prompt", params)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        asked = await editor.wait_for_response(lambda m: "id" in m and "method" in m)
    editor.reply(asked, dict(answer))
    assert json_at(await pending.response(), "result", "stopReason") == "end_turn"
    return asked


def modes(editor: Editor, session: str) -> list[JsonValue]:
    """The modes that the client was told of."""
    updates = editor.updates_of(session)
    return [json_at(each, "currentModeId") for each in updates if "currentModeId" in str(each)]


@pytest.mark.parametrize(
    ("answer", "said", "shown"),
    [
        ({"action": "accept", "content": {"trust": True}}, "trusted", ["plan"]),
        ({"action": "accept", "content": {"trust": False}}, "declined", []),
        ({"action": "decline"}, "declined", []),
        ({"action": "cancel"}, None, []),
        ({"action": "a new one"}, None, []),
    ],
)
async def test_a_client_with_forms_is_asked_for_trust_by_a_form(
    tmp_path: Path, answer: Object, said: str | None, shown: list[JsonValue]
) -> None:
    root = project(tmp_path, "mode: plan")
    async with open_editor(make_configuration(tmp_path, SCRIPT, options=WIDE)) as editor:
        session = await begin(editor, root, FORMS)
        asked = await prompted(editor, session, answer)
        assert asked["method"] == "elicitation/create"
        assert json_at(asked, "params", "requestedSchema", "required") == ["trust"]
        assert "- mode: plan" in str(json_at(asked, "params", "message"))
        assert modes(editor, session) == shown
    assert TrustStore(tmp_path / "acp" / "trust.json").verdict(root) == said


@pytest.mark.parametrize(
    ("choice", "said", "status"),
    [
        ("trusted", "trusted", "completed"),
        ("declined", "declined", "failed"),
        ("not_now", None, "failed"),
    ],
)
async def test_any_other_client_is_asked_for_trust_by_a_permission_request(
    tmp_path: Path, choice: str, said: str | None, status: str
) -> None:
    root = project(tmp_path, "mode: ask")
    async with open_editor(make_configuration(tmp_path, SCRIPT, options=WIDE)) as editor:
        session = await begin(editor, root)
        outcome: JsonValue = {"outcome": "selected", "optionId": choice}
        asked = await prompted(editor, session, {"outcome": outcome})
        assert asked["method"] == "session/request_permission"
        assert [json_at(asked, "params", "options", n, "name") for n in range(3)] == [
            "Always trust this workspace",
            "Not now",
            "Never trust this workspace",
        ]
        call_id = json_at(asked, "params", "toolCall", "toolCallId")
        updates = [each for each in editor.updates_of(session) if str(call_id) in str(each)]
        assert json_at(updates[0], "sessionUpdate") == "tool_call"
        assert json_at(updates[-1], "status") == status
        assert modes(editor, session) == (["ask"] if said == "trusted" else [])
    assert TrustStore(tmp_path / "acp" / "trust.json").verdict(root) == said


async def test_a_stored_trust_decision_is_not_asked_for_again(tmp_path: Path) -> None:
    root = project(tmp_path, "mode: plan")
    TrustStore(tmp_path / "acp" / "trust.json").save(root, "trusted")
    async with open_editor(make_configuration(tmp_path, SCRIPT, options=WIDE)) as editor:
        session = await begin(editor, root)
        await editor.prompt(session, "go")
        assert modes(editor, session) == ["plan"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hooks: {}", "sets hooks (a project cannot set it); it is not used"),
        ("mode: bypass", "sets mode (a project can only set ask or plan); it is not used"),
    ],
)
async def test_forbidden_project_requests_are_named_without_a_question(
    tmp_path: Path, text: str, shown: str
) -> None:
    root = project(tmp_path, text)
    async with open_editor(make_configuration(tmp_path, SCRIPT, options=WIDE)) as editor:
        session = await begin(editor, root)
        await editor.prompt(session, "go")
        assert shown in editor.agent_text(session)
        await editor.prompt(session, "again")
        assert editor.agent_text(session).count(shown) == 1
        assert modes(editor, session) == []
