"""A model that is out of service is replaced for the rest of the turn, in the real process."""

import json
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from pydantic import JsonValue

from acp_server.models.families import cost_usd, family_for
from tests.openai_model.test_main_job import endpoint_of
from tests.support import server_process
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    CutAfterEvents,
    FakeApiServerInThread,
    HttpFailure,
    MessagesServerConfig,
    ScriptedTurn,
    call,
    messages_api_in_thread,
    overloaded,
    reply,
    say,
    think,
    unauthorized,
)
from tests.support.openai_api import OpenAiServerConfig, openai_api_in_thread
from tests.support.server_process import ServerProcess, start_server

HOME = """\
model:
  default: {model}
  provider: custom
  base_url: {url}
  api_key: test-key
  api_mode: {mode}
{fallbacks}
"""
FORMS = {
    "messages": ("anthropic_messages", "claude-opus-4-6", "claude-haiku-4-5"),
    "chat": ("chat_completions", "gpt-5.1", "gpt-4.1"),
    "responses": ("codex_responses", "gpt-5.1", "gpt-4.1"),
}
CLAUDE = "claude-sonnet-4-6"
"""The fallback of another provider."""
NOTICES: JsonValue = {"session": {"notices": {}}}


@contextmanager
def serve(
    folder: Path, api: FakeApiServerInThread, form: str, fallbacks: str, **variables: str
) -> Generator[tuple[ServerProcess, str]]:
    """Start a server for `api` that does not retry, and open a session."""
    mode, model, _ = FORMS[form]
    home = folder / "home"
    home.mkdir()
    (folder / "a.txt").write_text("the text\n")
    text = HOME.format(model=model, url=api.url, mode=mode, fallbacks=fallbacks)
    (home / "config.yaml").write_text(text)
    environment = {
        **server_process.environment(home),
        "ACP_SERVER_MAX_RETRIES": "0",
        **variables,
    }

    def given(_home: Path) -> dict[str, str]:
        return environment

    with (
        patch.object(server_process, "environment", given),
        start_server(home, command=[sys.executable, "-m", "acp_server"]) as server,
    ):
        parameters = {"protocolVersion": 1, "clientCapabilities": NOTICES}
        assert "result" in server.call("initialize", parameters)
        yield server, server.new_session(str(folder))


def notices(server: ServerProcess) -> list[str]:
    """Return the titles of all notices so far."""
    updates = [json_at(each, "params", "update") for each in server.messages if "params" in each]
    found = [each for each in updates if isinstance(each, dict)]
    return [str(each["title"]) for each in found if each.get("sessionUpdate") == "notice"]


def models(api: FakeApiServerInThread) -> list[JsonValue]:
    """Return the models that an endpoint was asked for."""
    return [each.body["model"] for each in api.model_requests]


def stop_reason(answer: Object) -> JsonValue:
    assert "result" in answer, answer
    return json_at(answer, "result", "stopReason")


def in_turn(forms: Iterable[str], others: Iterable[str]) -> list[object]:
    """Return parameters: each form with each other value, most of them in the full form alone.

    What is done about a failure does not depend on the form, so that each has one of the others.
    """
    values = list(others)
    return [
        pytest.param(form, value, marks=[] if number % len(values) == place else [pytest.mark.full])
        for number, form in enumerate(forms)
        for place, value in enumerate(values)
    ]


@pytest.mark.parametrize(("form", "failure"), in_turn(FORMS, ("overloaded", "gone")))
def test_the_next_model_takes_over_for_the_rest_of_the_turn(
    tmp_path: Path, form: str, failure: str
) -> None:
    _, own, other = FORMS[form]
    failed = overloaded() if failure == "overloaded" else HttpFailure(404, message="gone")
    script: list[ScriptedTurn] = [
        reply(think("Hm."), say("First."), call("read_file", path="a.txt")),
        failed,
        reply(say("Next."), call("read_file", path="a.txt")),
        "Done.",
        "Mine again.",
    ]
    fallbacks = f"  fallbacks: [{other}]"
    with (
        endpoint_of(form, script) as api,
        serve(tmp_path, api, form, fallbacks) as (server, session),
    ):
        assert stop_reason(server.prompt(session, "read it")) == "end_turn"
        (notice,) = [each for each in notices(server) if "Using" in each]
        assert notice.startswith(f"Using {other} for the rest of this turn: 127.0.0.1 ")
        assert stop_reason(server.prompt(session, "and on")) == "end_turn"
        assert models(api) == [own, own, other, other, own]
        verdicts = [each.verdict for each in api.model_requests]
        assert verdicts == ["answered", "failed", "answered", "answered", "answered"]
        assert server.agent_text().endswith("First.Next.Done.Mine again.")


def test_the_fallback_is_charged_at_its_own_price(tmp_path: Path) -> None:
    with (
        endpoint_of("messages", [overloaded(), "Done."]) as api,
        serve(tmp_path, api, "messages", "  fallbacks: claude-haiku-4-5") as (server, session),
    ):
        answer = server.prompt(session)
        usage = api.model_requests[-1].usage
        assert usage is not None
        read = usage.input
        expected = cost_usd(
            family_for("claude-haiku-4-5"),
            read.uncached,
            usage.output,
            read.read,
            read.written_5m,
            read.written_1h,
        )
        cost = json_at(answer, "result", "_meta", "hermes", "usage", "costUsd")
        assert expected is not None
        assert cost == pytest.approx(expected)


OTHER_PROVIDER = {
    "our setting": f"  fallbacks: ['anthropic:{CLAUDE}']",
    "Hermes' setting": (
        f"fallback_providers:\n- provider: nowhere\n- provider: anthropic\n  model: {CLAUDE}"
    ),
}


@pytest.mark.parametrize(("form", "setting"), in_turn(("chat", "responses"), OTHER_PROVIDER))
def test_a_model_of_another_provider_takes_over(tmp_path: Path, form: str, setting: str) -> None:
    written = OTHER_PROVIDER[setting]
    script: list[ScriptedTurn] = [
        reply(think("Hm."), say("First."), call("read_file", path="a.txt")),
        overloaded(),
        "Mine again.",
    ]
    with (
        endpoint_of(form, script) as api,
        messages_api_in_thread([reply(think("So."), say("From Claude."))]) as claude,
        serve(
            tmp_path,
            api,
            form,
            written,
            ANTHROPIC_BASE_URL=claude.url,
            ANTHROPIC_API_KEY="test-key",
        ) as (server, session),
    ):
        assert stop_reason(server.prompt(session, "read it")) == "end_turn"
        assert stop_reason(server.prompt(session, "and on")) == "end_turn"
        assert models(claude) == [CLAUDE]
        assert [each.verdict for each in claude.model_requests] == ["answered"]
        assert api.model_requests[-1].verdict == "answered"
        assert server.agent_text().endswith("First.From Claude.Mine again.")


OWN_ENDPOINT = """\
{key}:
- provider: custom
  model: gpt-4.1
  base_url: {url}
  key_env: SPARE_KEY
  context_length: 32000
  api_mode: {mode}
"""
SPARE_KEY = "spare-key-0123456789"


@pytest.mark.parametrize(
    ("form", "key"), in_turn(("chat", "responses"), ("fallback_providers", "model.fallbacks"))
)
def test_a_model_at_an_endpoint_of_its_own_takes_over_with_its_own_key(
    tmp_path: Path, form: str, key: str
) -> None:
    look = call("terminal", command="echo key: $SPARE_KEY")
    config = OpenAiServerConfig(
        form="chat" if form == "chat" else "responses", keys=frozenset({SPARE_KEY})
    )
    spare_script = [reply(look), "From the other endpoint."]
    with (
        endpoint_of("messages", [overloaded(), "Mine again."]) as api,
        openai_api_in_thread(spare_script, config) as spare,
    ):
        written = OWN_ENDPOINT.format(key=key, url=spare.url, mode=FORMS[form][0])
        if key == "model.fallbacks":
            written = "  " + written.replace("model.", "").replace("\n", "\n  ")
        with serve(tmp_path, api, "messages", written, SPARE_KEY=SPARE_KEY) as (server, session):
            mode: JsonValue = {"sessionId": session, "modeId": "bypass"}
            assert "result" in server.call("session/set_mode", mode)
            assert stop_reason(server.prompt(session)) == "end_turn"
            (notice,) = [each for each in notices(server) if "Using" in each]
            host = spare.url.split("/")[2]
            assert notice.startswith(f"Using gpt-4.1 at {host} for the rest of this turn: ")
            assert stop_reason(server.prompt(session)) == "end_turn"
            assert server.agent_text().endswith("From the other endpoint.Mine again.")
        assert models(api) == ["claude-opus-4-6", "claude-opus-4-6"]
        assert [each.verdict for each in spare.model_requests] == ["answered", "answered"]
        # No command sees the key, and the other endpoint is not sent the main one's.
        assert SPARE_KEY not in str([each.body for each in spare.model_requests])


@pytest.mark.parametrize(
    "form",
    [pytest.param(each, marks=() if each == "chat" else pytest.mark.full) for each in FORMS],
)
def test_an_endpoint_of_the_messages_form_takes_over(tmp_path: Path, form: str) -> None:
    config = MessagesServerConfig(keys=frozenset({SPARE_KEY}), context_window=32_000)
    spare_script: list[ScriptedTurn] = [
        reply(think("So."), say("Look. "), call("read_file", path="a.txt")),
        reply(think("Seen."), say("From the other endpoint.")),
    ]
    script: list[ScriptedTurn] = [
        reply(think("Hm."), say("First. "), call("read_file", path="a.txt")),
        overloaded(),
        "Mine again.",
    ]
    with (
        endpoint_of(form, script) as api,
        messages_api_in_thread(spare_script, config) as spare,
    ):
        written = OWN_ENDPOINT.format(
            key="fallbacks", url=spare.url, mode="anthropic_messages"
        ).replace("gpt-4.1", CLAUDE)
        written = "  " + written.replace("\n", "\n  ")
        with serve(tmp_path, api, form, written, SPARE_KEY=SPARE_KEY) as (server, session):
            assert stop_reason(server.prompt(session)) == "end_turn"
            (notice,) = [each for each in notices(server) if "Using" in each]
            host = spare.url.split("/")[2]
            assert notice.startswith(f"Using {CLAUDE} at {host} for the rest of this turn: ")
            assert stop_reason(server.prompt(session)) == "end_turn"
            assert server.agent_text().endswith("First. Look. From the other endpoint.Mine again.")
        assert models(spare) == [CLAUDE, CLAUDE]
        assert [each.verdict for each in spare.model_requests] == ["answered", "answered"]
        assert [each.verdict for each in api.model_requests] == ["answered", "failed", "answered"]
        # Reasoning of one model is not sent to another.
        later = json.dumps([each.body for each in (*spare.model_requests, api.model_requests[-1])])
        assert "So." not in later
        assert "Seen." not in later


FAILING: dict[str, Sequence[ScriptedTurn]] = {
    "a rejected key": [unauthorized()],
    "an answer that had begun": [reply(say("Half of it. " * 20), faults=[CutAfterEvents(6)])],
}


@pytest.mark.parametrize("name", FAILING)
def test_no_other_model_is_asked_if_the_own_one_is_not_out_of_service(
    tmp_path: Path, name: str
) -> None:
    with (
        endpoint_of("messages", FAILING[name]) as api,
        serve(tmp_path, api, "messages", "  fallbacks: claude-haiku-4-5") as (server, session),
    ):
        assert "error" in server.prompt(session)
        assert models(api) == ["claude-opus-4-6"]


def test_the_failure_of_the_own_model_is_reported_if_no_fallback_answers(tmp_path: Path) -> None:
    script = [overloaded(), unauthorized(), HttpFailure(500, message="broken")]
    fallbacks = "  fallbacks: [claude-haiku-4-5, claude-sonnet-4-6]"
    with (
        endpoint_of("messages", script) as api,
        serve(tmp_path, api, "messages", fallbacks) as (server, session),
    ):
        answer = server.prompt(session)
        assert json_at(answer["error"], "data", "kind") == "overloaded"
        assert models(api) == ["claude-opus-4-6", "claude-haiku-4-5", "claude-sonnet-4-6"]
        api.add("Here again.")
        assert stop_reason(server.prompt(session)) == "end_turn"
        assert models(api)[-1] == "claude-opus-4-6"
