"""The real server in a process of its own, and an endpoint in a thread of the test's."""

import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from acp_server.permissions.trust import TrustStore
from tests.support.editor import json_at
from tests.support.messages_api import (
    FakeApiServerInThread,
    HttpFailure,
    call,
    messages_api_in_thread,
    overloaded,
    reply,
    say,
    think,
    unauthorized,
)
from tests.support.server_process import ServerProcess, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS, finishes_within

SECRET = "sk-ant-api03-a-key-that-nobody-must-ever-see"  # noqa: S105  not a real one
SOON_SECONDS = 3.0
SLOW_IMPORT_SCRIPT = """
import sys, time
from pathlib import Path

FOLDER = Path(__file__).parent

class Held:
    def find_spec(self, name, path=None, target=None):
        if name == "anthropic":
            sys.meta_path.remove(self)
            (FOLDER / "has-begun").touch()
            while not (FOLDER / "may-end").exists():
                time.sleep(0.01)

sys.meta_path.insert(0, Held())
"""
"""Holds up the import of the SDK, in whatever process finds this first on its path."""


@contextmanager
def serve(
    home: Path,
    api: FakeApiServerInThread,
    more: Mapping[str, str] | None = None,
    *,
    new_interpreter: bool = False,
) -> Generator[ServerProcess]:
    """Start a server whose endpoint is `api`; a new interpreter has yet to import the SDK."""
    variables = {
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "test-key",
        "ACP_SERVER_MAX_RETRIES": "1",
        **(more or {}),
    }
    command = [sys.executable, "-m", "acp_server", "serve", "--log-level", "debug"]
    with start_server(
        home, command=command, variables=variables, new_interpreter=new_interpreter
    ) as server:
        yield server


def test_a_prompt_in_a_new_home_is_built_for_the_model_that_answers(tmp_path: Path) -> None:
    with (
        messages_api_in_thread(["Hello.", "Yes?"]) as api,
        serve(tmp_path, api, new_interpreter=True) as server,
    ):
        server.initialize()
        session_id = server.new_session()
        first, second = server.prompt(session_id), server.prompt(session_id)
        system_prompts = [each.body["system"] for each in api.requests if "system" in each.body]
        assert system_prompts[0] == system_prompts[1]
        assert f"The model is {api.requests[-1].body['model']}." in str(system_prompts[0])
        usages = [json_at(each, "result", "_meta", "hermes", "usage") for each in (first, second)]
        assert json_at(usages[1], "cacheReadTokens") == json_at(usages[0], "cacheWriteTokens")
        assert json_at(usages[0], "costUsd")


def test_a_project_can_choose_a_listed_model_before_the_list_is_loaded(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".hermes.md").write_text("---\nmodel: claude-haiku-5-5\n---\nBe kind.\n")
    TrustStore(tmp_path / "acp" / "trust.json").save(project, "trusted")
    chosen = {"ACP_SERVER_MODEL": "claude-opus-5-5"}
    with (
        messages_api_in_thread(["Hello."]) as api,
        serve(tmp_path, api, chosen, new_interpreter=True) as server,
    ):
        server.initialize()
        server.prompt(server.new_session(str(project)))
        assert api.requests[-1].body["model"] == "claude-haiku-5-5"


def test_a_redirected_conversation_is_not_sent(tmp_path: Path) -> None:
    with messages_api_in_thread(["Hello."]) as other:
        redirect = HttpFailure(307, b"", location=f"{other.url}/v1/messages")
        with messages_api_in_thread([redirect]) as api, serve(tmp_path, api) as server:
            server.initialize()
            assert "redirects to" in str(server.prompt(server.new_session()))
            assert len(api.model_requests) == 1
        assert other.requests == ()


@dataclass(frozen=True, slots=True)
class SlowImport:
    """The import of the SDK in a server's process."""

    folder: Path

    def wait_for_start(self) -> None:
        deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
        while not (self.folder / "has-begun").exists():
            assert time.monotonic() < deadline, "nobody imports the SDK"
            time.sleep(0.01)

    def allow_end(self) -> None:
        (self.folder / "may-end").touch()


@contextmanager
def serve_with_slow_import(
    home: Path, api: FakeApiServerInThread
) -> Generator[tuple[ServerProcess, SlowImport]]:
    """Start a server that imports the SDK for as long as the test wants."""
    (home / "sitecustomize.py").write_text(SLOW_IMPORT_SCRIPT)
    path = f"{home}{os.pathsep}{Path.cwd()}"
    with serve(home, api, {"PYTHONPATH": path}, new_interpreter=True) as server:
        yield server, SlowImport(home)


def test_a_slow_import_delays_neither_other_requests_nor_a_cancel(tmp_path: Path) -> None:
    with (
        messages_api_in_thread(["Hello."]) as api,
        serve_with_slow_import(tmp_path, api) as (server, sdk),
    ):
        server.initialize()
        session_id = server.new_session()
        sdk.wait_for_start()
        cancelled = server.start_prompt(session_id)
        server.send(
            {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}}
        )
        response = server.receive_response(cancelled)
        assert json_at(response, "result", "stopReason") == "cancelled"
        server.new_session()
        prompt = server.start_prompt(session_id)
        server.new_session()
        assert api.requests == ()
        sdk.allow_end()
        assert json_at(server.receive_response(prompt), "result", "stopReason") == "end_turn"
        assert api.model_requests[0].verdict == "answered"


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_an_api_key_is_never_shown(tmp_path: Path, variable: str) -> None:
    script = [overloaded(), reply(think("Hm."), say("Hello."), call("look")), unauthorized()]
    log = tmp_path / "server.log"
    variables = {"ANTHROPIC_API_KEY": "", variable: SECRET, "ACP_SERVER_LOG_FILE": str(log)}
    with (
        messages_api_in_thread(script) as api,
        serve(tmp_path, api, variables) as server,
    ):
        server.initialize()
        session_id = server.new_session()
        server.prompt(session_id)
        server.prompt(session_id)
        server.close_stdin()
        server.receive_until_end()
        assert server.wait() == 0
        assert api.requests, "it was asked"
        assert SECRET not in server.stderr()
        assert SECRET not in str(server.messages)
        written = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert log in written
        assert all(SECRET.encode() not in file.read_bytes() for file in written)


def test_the_server_exits_immediately_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    slow = reply(say("word " * 20_000), pause_seconds=0.05)
    with messages_api_in_thread([slow]) as api, serve(tmp_path, api) as server:
        server.initialize()
        session_id = server.new_session()
        server.start_prompt(session_id)
        while json_at(server.receive_update(), "params", "update", "sessionUpdate") != (
            "agent_message_chunk"
        ):
            pass
        server.close_stdin()
        assert finishes_within(SOON_SECONDS, lambda: server.wait(0) is not None)
        assert server.wait() == 0
        assert "Traceback" not in server.stderr()
        assert "unclosed" not in server.stderr()


def test_a_second_server_knows_the_models_immediately(tmp_path: Path) -> None:
    with messages_api_in_thread(["Hello."]) as api:
        with serve(tmp_path, api) as server:
            server.initialize()
            server.prompt(server.new_session())
            server.close_stdin()
            server.wait()
        with serve(tmp_path, api) as server:
            server.initialize()
            result = server.call("session/new", {"cwd": "/", "mcpServers": []})
            assert "Claude Opus 5.5" in str(json_at(result, "result", "configOptions"))
