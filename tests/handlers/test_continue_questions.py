"""The question whether a turn may go on: a form, or a permission request of its own."""

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from tests.support.case_table import named_case
from tests.support.editor import (
    Editor,
    Object,
    is_update,
    json_at,
    make_configuration,
    open_editor,
)
from tests.support.messages_api import KEY, ScriptedTurn, call, messages_api, reply
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

MODEL = "claude-opus-5-5"
FORMS: JsonValue = {"elicitation": {"form": {}}}


def selected(option: str) -> Object:
    """Return the answer of a user who chose this option."""
    return {"outcome": {"outcome": "selected", "optionId": option}}


def make_environment(url: str) -> dict[str, str]:
    """Return the variables of a server that asks this endpoint."""
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}


def make_folders(folder: Path) -> tuple[Path, Path]:
    """Return a home and a workspace; settings in a workspace would be asked about."""
    folders = folder / "home", folder / "workspace"
    for each in folders:
        each.mkdir()
    return folders


STOPPED, CONTINUED = 5, 7
"""Model requests of a turn that repeats a call, by the user's decision."""
ANSWERS: dict[str, list[tuple[Object, int]]] = {
    "permission requests": [
        (selected("continue"), CONTINUED),
        (selected("stop"), STOPPED),
        (selected("allow_always"), STOPPED),
        ({"outcome": {"outcome": "cancelled"}}, STOPPED),
    ],
    "forms": [
        ({"action": "accept", "content": {"continue": True}}, CONTINUED),
        ({"action": "accept", "content": {"continue": False}}, STOPPED),
        ({"action": "decline"}, STOPPED),
        ({"action": "cancel"}, STOPPED),
    ],
}


@pytest.mark.parametrize("way", ANSWERS)
async def test_the_user_decides_whether_a_model_that_repeats_itself_goes_on(
    tmp_path: Path, way: str
) -> None:
    home, workspace = make_folders(tmp_path)
    repeated = reply(call("read_file", path="nope.py"))
    script: list[ScriptedTurn] = []
    for _, requests in ANSWERS[way]:
        script += [*[repeated] * min(requests, 6), *["I give up."] * (requests > 6)]
    async with messages_api(script) as api:
        environment = make_environment(api.url)
        configuration = make_configuration(
            home, options={"--model": MODEL}, environment=environment
        )
        async with open_editor(configuration) as editor:
            await editor.initialize(clientCapabilities=FORMS if way == "forms" else {})
            session = await editor.new_session(workspace)
            for answer, requests in ANSWERS[way]:
                with named_case(str(answer)):
                    before = len(editor.messages), len(api.model_requests)
                    await _decide(editor, session, answer)
                    assert len(api.model_requests) - before[1] == requests
                    # A call that was made for the question ends with it.
                    updates = [each for each in editor.messages[before[0] :] if is_update(each)]
                    asked = [each for each in updates if "continue_" in str(each)]
                    ends = [json_at(each, "params", "update", "status") for each in asked][-1:]
                    end = "completed" if requests == CONTINUED else "failed"
                    assert ends == ([] if way == "forms" else [end])


async def _decide(editor: Editor, session: str, answer: Object) -> None:
    """Prompt, and answer the question that the repeated call leads to."""
    start = len(editor.messages)
    pending = editor.start_prompt(session, "go")
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        asked = await editor.wait_until(
            lambda: next(
                (each for each in editor.messages[start:] if "id" in each and "method" in each),
                None,
            ),
            "question",
        )
    assert 'read_file {"path": "nope.py"}' in str(asked["params"])
    editor.reply(asked, answer)
    assert json_at(await pending.response(), "result", "stopReason") == "end_turn"


async def test_a_client_that_cannot_be_asked_ends_the_turn_with_the_repeated_call(
    tmp_path: Path,
) -> None:
    home, workspace = make_folders(tmp_path)
    script = [reply(call("read_file", path="nope.py"))] * 5
    async with messages_api(script) as api:
        environment = make_environment(api.url)
        configuration = make_configuration(
            home, options={"--model": MODEL}, environment=environment
        )
        async with open_editor(configuration) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace)
            pending = editor.start_prompt(session, "go")
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                asked = await editor.wait_for_response(lambda m: "id" in m and "method" in m)
            editor.record_blocked_call(asked, -32601, "no such method")
            error = (await pending.response())["error"]
            assert json_at(error, "data", "kind") == "repetition"
            assert "nope.py" in str(json_at(error, "data", "details"))


@pytest.mark.parametrize(("choice", "requests"), [("continue", 2), ("stop", 1)])
async def test_a_session_that_reaches_its_cost_limit_asks_whether_to_continue(
    tmp_path: Path, choice: str, requests: int
) -> None:
    home, workspace = make_folders(tmp_path)
    (workspace / "a.txt").write_text("hello\n")
    async with messages_api([reply(call("read_file", path="a.txt")), "Done."]) as api:
        environment = make_environment(api.url) | {"ACP_SERVER_MAX_COST": "0.000001"}
        configuration = make_configuration(
            home, options={"--model": MODEL}, environment=environment
        )
        async with open_editor(configuration) as editor:
            await editor.initialize()
            session = await editor.new_session(workspace)
            pending = editor.start_prompt(session, "go")
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                asked = await editor.wait_for_response(lambda m: "id" in m and "method" in m)
            assert "max_cost" in str(asked["params"])
            editor.reply(asked, selected(choice))
            assert json_at(await pending.response(), "result", "stopReason") == "end_turn"
            assert len(api.model_requests) == requests
