"""The main job by the real process, over each form: read, edit, ask, run, and go on after faults.

The home is one that Hermes has written: `model` of its config.yaml, and nothing of ours.
"""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    CutAfterEvents,
    FakeApiServerInThread,
    ScriptedTurn,
    call,
    messages_api_in_thread,
    rate_limited,
    reply,
    say,
    think,
)
from tests.support.openai_api import OpenAiServerConfig, openai_api_in_thread
from tests.support.server_process import ServerProcess, start_server

NEW_TEXT = "".join(f"line {number}\n" for number in range(200))
HOME = """\
model:
  default: {model}
  provider: custom
  base_url: {url}
  api_key: test-key
  context_length: 65536
  api_mode: {mode}
"""
FORMS = {
    "messages": {"mode": "anthropic_messages", "model": "claude-opus-4-6"},
    "chat": {"mode": "chat_completions", "model": "gpt-5.1"},
    "responses": {"mode": "codex_responses", "model": "gpt-5.1"},
}


@contextmanager
def endpoint_of(form: str, script: Sequence[ScriptedTurn]) -> Generator[FakeApiServerInThread]:
    """Serve an endpoint of a form, in a thread."""
    if form == "messages":
        with messages_api_in_thread(script) as api:
            yield api
        return
    endpoint = OpenAiServerConfig(form="chat" if form == "chat" else "responses")
    with openai_api_in_thread(script, endpoint) as api:
        yield api


@pytest.mark.parametrize(
    "form",
    # Each hour of `tests/journeys` is such a job in the form of messages.
    [pytest.param(each, marks=pytest.mark.full if each == "messages" else ()) for each in FORMS],
)
def test_a_file_is_read_edited_and_tested_in_one_turn(tmp_path: Path, form: str) -> None:
    (tmp_path / "old.txt").write_text("the old text\n")
    script: list[ScriptedTurn] = [
        rate_limited(0.01),
        reply(think("First I read."), say("I read it."), call("read_file", path="old.txt")),
        reply(
            call("write_file", path="new.txt", content=NEW_TEXT),
            chunk_characters=60,
            pause_seconds=0.03,
        ),
        reply(say("Now I run it, and then I count. " * 5), faults=[CutAfterEvents(5)]),
        reply(say("So I do."), call("terminal", command="touch done; wc -l < new.txt")),
        "It has 200 lines.",
    ]
    home = tmp_path / "home"
    home.mkdir()
    with endpoint_of(form, script) as api:
        (home / "config.yaml").write_text(HOME.format(url=api.url, **FORMS[form]))
        with start_server(home, command=[sys.executable, "-m", "acp_server"]) as server:
            server.initialize()
            session = server.new_session(str(tmp_path))
            request = server.start_prompt(session, "write it and run it")
            asked = [_allow_next(server) for _ in range(2)]
            assert json_at(server.receive_response(request), "result", "stopReason") == "end_turn"
            messages = list(server.messages)
            server.close_stdin()
            assert server.wait() == 0
        verdicts = [ask.verdict for ask in api.model_requests]
        assert verdicts == ["failed"] + ["answered"] * 5
        assert "the old text" in str(api.model_requests[2].body)
        assert "200" in str(api.model_requests[-1].body)
    assert (tmp_path / "new.txt").read_text() == NEW_TEXT
    assert [json_at(each, "params", "toolCall", "kind") for each in asked] == ["edit", "execute"]
    updates = [each for each in messages if each.get("method") == "session/update"]
    sizes = [size for each in updates for size in _diff_sizes(json_at(each, "params", "update"))]
    assert len(set(sizes)) > 3, "the diff grew while it was written"
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(NEW_TEXT)
    usage = [each for each in updates if "usage_update" in str(each)]
    assert json_at(usage[-1], "params", "update", "size") == 65_536
    assert ("'cost'" in str(usage)) is (form == "messages"), "an unknown price is not shown as 0"


def _allow_next(server: ServerProcess) -> Object:
    """Wait for a question and allow it, once."""
    while True:
        message = server.receive()
        if message.get("method") == "session/request_permission":
            answer: JsonValue = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
            return message


def _diff_sizes(update: JsonValue) -> list[int]:
    """Return how long the new texts of an update's diffs are."""
    content = update.get("content") if isinstance(update, dict) else None
    blocks = content if isinstance(content, list) else []
    diffs = [each for each in blocks if isinstance(each, dict) and each.get("type") == "diff"]
    return [len(str(each["newText"])) for each in diffs]
