"""aimock, a stub of model servers that others wrote, answers the real server over each form."""

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.cli.command_line import run
from tests.smoke.server import find_node
from tests.support.editor import Object, is_update, json_at
from tests.support.node_clients import node_clients
from tests.support.server_process import ServerProcess, start_server

PROGRAM = Path(__file__).with_name("model_server.mjs")
NEW_TEXT = "".join(f"line {number}\n" for number in range(200))
HOME = """\
model:
  default: {model}
  provider: custom
  base_url: {url}
  api_key: any-key
  api_mode: {mode}
"""
FORMS = {
    "messages": ("anthropic_messages", "claude-opus-4-6", ""),
    "chat": ("chat_completions", "gpt-5.1", "/v1"),
    "chat as OpenRouter gives it": ("chat_completions", "openai/gpt-5.1", "/api/v1"),
    "responses": ("codex_responses", "gpt-5.1", "/v1"),
}


def text_response(number: int, text: str, **match: JsonValue) -> Object:
    """Return a text that follows so many answers, as aimock's files have it."""
    return {"match": {"turnIndex": number, **match}, "response": {"content": text}}


def call_response(number: int, name: str, **arguments: JsonValue) -> Object:
    """Return a call that follows so many answers; text beside it counts as another in Responses."""
    call: JsonValue = {"name": name, "arguments": json.dumps(arguments)}
    return {"match": {"turnIndex": number}, "response": {"toolCalls": [call]}}


ANSWERS = (
    text_response(0, "All is well.", userMessage="Say how all is"),
    call_response(0, "read_file", path="old.txt"),
    call_response(1, "write_file", path="new.txt", content=NEW_TEXT),
    call_response(2, "terminal", command="touch done; wc -l < new.txt"),
    text_response(3, "It has 200 lines."),
)


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Serve the answers; provide the address. A request says itself how far its turn is."""
    file = tmp_path_factory.mktemp("model") / "answers.json"
    file.write_text(json.dumps({"fixtures": list(ANSWERS)}))
    command = [find_node(), str(PROGRAM), str(node_clients()), str(file)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def home_for(folder: Path, form: str, url: str) -> Path:
    """Make a home as Hermes has written it, for a form of that server."""
    mode, model, root = FORMS[form]
    home = folder / "home"
    home.mkdir()
    (home / "config.yaml").write_text(HOME.format(mode=mode, model=model, url=url + root))
    return home


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_read_written_and_counted_in_one_turn(
    tmp_path: Path, model_server: str, form: str
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "old.txt").write_text("the old text\n")
    home = home_for(tmp_path, form, model_server)
    with start_server(home, command=[sys.executable, "-m", "acp_server"]) as server:
        server.initialize()
        session = server.new_session(str(workspace))
        request = server.start_prompt(session, "write it and run it")
        asked = [_allow_next(server) for _ in range(2)]
        assert json_at(server.receive_response(request), "result", "stopReason") == "end_turn"
    assert server.agent_text() == "It has 200 lines."
    assert [json_at(each, "params", "toolCall", "kind") for each in asked] == ["edit", "execute"]
    assert {each.name for each in workspace.iterdir()} == {"old.txt", "new.txt", "done"}
    assert (workspace / "new.txt").read_text() == NEW_TEXT
    sizes = _diff_sizes(server.messages)
    assert (len(set(sizes)) > 3, sizes) == (True, sorted(sizes)), "the diff grew"
    assert "usage_update" in str(server.messages)


@pytest.mark.parametrize(
    "form", [pytest.param(each, marks=() if each == "chat" else pytest.mark.full) for each in FORMS]
)
def test_a_headless_run_ends_with_the_text_of_the_model_server(
    tmp_path: Path, model_server: str, form: str
) -> None:
    home, workspace = home_for(tmp_path, form, model_server), tmp_path / "workspace"
    workspace.mkdir()
    options = ("--cwd", str(workspace), "--format", "json")
    done = run(home, "run", "Say how all is", *options)
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    assert (result["exit_code"], result["text"]) == (0, "All is well.")


def _allow_next(server: ServerProcess) -> Object:
    """Wait for a question and allow it, once."""
    while True:
        message = server.receive()
        if message.get("method") == "session/request_permission":
            chosen: JsonValue = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": chosen})
            return message


def _diff_sizes(messages: Sequence[Object]) -> list[int]:
    """Return how long the new texts of all diffs of the written file were, in order."""
    updates = [json_at(each, "params", "update") for each in messages if is_update(each)]
    contents = [each.get("content") for each in updates if isinstance(each, dict)]
    blocks = [block for each in contents if isinstance(each, list) for block in each]
    diffs = [each for each in blocks if isinstance(each, dict) and each.get("type") == "diff"]
    written = [each for each in diffs if str(each["path"]).endswith("new.txt")]
    return [len(str(each["newText"])) for each in written]
