"""What has not been imported when the first session is open: a user waits for all that is."""

import json
import subprocess
import sys
from pathlib import Path

from pydantic import JsonValue

from tests.support.editor import json_at
from tests.support.server_process import HELLO_SCRIPT, environment, start_server

HEAVY = {
    *("anthropic", "attr", "httpx", "jsonschema", "keyring", "mcp", "re2", "tomllib", "watchfiles"),
    *(
        "difflib",
        "email",
        "http.server",
        "httpcore2",
        "importlib.metadata",
        "pathspec",
        "psutil",
        "tree_sitter",
        "yaml",
    ),
    *("acp_server.permissions.gate", "acp_server.permissions.run_rules"),
    *("acp_server.permissions.policy", "acp_server.permissions.questions"),
    *("acp_server.permissions.rule_store", "acp_server.permissions.shell"),
    *(
        "acp_server.checkpoints.manager",
        "acp_server.subagents.subagent",
        "acp_server.hooks.toolbox",
    ),
    *(
        "acp_server.mcp.ports",
        "acp_server.session.ports.editor",
        "acp_server.session.ports.elicitation",
    ),
    *(
        "acp_server.models.scripted",
        "acp_server.session.prompting.workspace_prompt",
        "acp_server.tools.factory",
    ),
    *(
        "acp_server.handlers.workspace",
        "acp_server.protocol.terminals",
        "acp_server.protocol.initialize_response",
    ),
    *("acp_server.learning.review", "acp_server.skills.service", "prompt_engine.assemble"),
}
TOOLS = {
    *("acp_server.tools.factory", "acp_server.tools.tool", "acp_server.tools.shell.terminal"),
    *("acp_server.permissions.gate", "acp_server.checkpoints.manager", "acp_server.mcp.binder"),
    *("acp_server.handlers.workspace", "acp_server.protocol.elicitation"),
}
"""What a first turn does without."""
PROGRAM = """
import os, sys
from acp_server import __main__; from acp_server.startup import handshake
from acp_server.session.registry import SessionRegistry

async def wait_for_nothing(registry, session, lull):
    "Stand in for what is imported behind the answer."

def report(code):
    print(*sys.modules, flush=True)  # stdout has become stderr
    os._exit(code)

SessionRegistry.warm_up = wait_for_nothing
handshake.exit_process = report
__main__.main()
"""


def test_no_heavy_module_is_imported_before_the_first_session_opens(tmp_path: Path) -> None:
    calls: list[tuple[str, JsonValue]] = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": {}}),
        ("session/new", {"cwd": str(tmp_path), "mcpServers": []}),
    ]
    asked = "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in enumerate(calls)
    )

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "serve", "--model", "scripted:demo"],
        input=asked.encode(),
        capture_output=True,
        check=True,
        env=environment(tmp_path),
    )

    assert b'"sessionId"' in done.stdout
    assert set(done.stderr.decode().split()) & HEAVY == set()


def test_a_first_turn_without_calls_imports_no_tools(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Build with make.\n")
    script = tmp_path / "hello.script"
    script.write_text(HELLO_SCRIPT)
    command = [sys.executable, "-c", PROGRAM, "serve", "--model", f"scripted:{script}"]
    with start_server(tmp_path, command=command, new_interpreter=True) as server:
        server.initialize()
        answer = server.prompt(server.new_session(str(tmp_path)))
        assert json_at(answer, "result", "stopReason") == "end_turn"
        server.close_stdin()
        assert server.wait() == 0
        assert set(server.stderr().split()) & TOOLS == set()
