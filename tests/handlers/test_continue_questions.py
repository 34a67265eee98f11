"""The question whether a turn may go on: a form, or a permission request of its own."""

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from tests.support.editor import Object, json_at, make_configuration, open_editor
from tests.support.messages_api import KEY, call, messages_api, reply
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


@pytest.mark.parametrize(
    ("capabilities", "answer", "requests"),
    [
        ({}, selected("continue"), 7),
        ({}, selected("stop"), 5),
        ({}, selected("allow_always"), 5),
        ({}, {"outcome": {"outcome": "cancelled"}}, 5),
        (FORMS, {"action": "accept", "content": {"continue": True}}, 7),
        (FORMS, {"action": "accept", "content": {"continue": False}}, 5),
        (FORMS, {"action": "decline"}, 5),
        (FORMS, {"action": "cancel"}, 5),
    ],
)
async def test_the_user_decides_whether_a_model_that_repeats_itself_goes_on(
    tmp_path: Path, capabilities: JsonValue, answer: Object, requests: int
) -> None:
    home, workspace = make_folders(tmp_path)
    script = [*[reply(call("read_file", path="nope.py"))] * 6, "I give up."]
    async with messages_api(script) as api:
        environment = make_environment(api.url)
        configuration = make_configuration(
            home, options={"--model": MODEL}, environment=environment
        )
        async with open_editor(configuration) as editor:
            await editor.initialize(clientCapabilities=capabilities)
            session = await editor.new_session(workspace)
            pending = editor.start_prompt(session, "go")
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                asked = await editor.wait_for_response(lambda m: "id" in m and "method" in m)
            assert 'read_file {"path": "nope.py"}' in str(asked["params"])
            editor.reply(asked, answer)
            assert json_at(await pending.response(), "result", "stopReason") == "end_turn"
            assert len(api.model_requests) == requests
            # A call that was made for the question ends with it.
            question_calls = [
                each for each in editor.updates_of(session) if "continue_" in str(each)
            ]
            ends = [json_at(each, "status") for each in question_calls][-1:]
            is_accepted = requests > 5
            assert ends == ([] if capabilities else ["completed" if is_accepted else "failed"])


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
