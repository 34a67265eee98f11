"""Signing in to a server of the MCP SDK through the real process: what is told, kept and shown."""

from pathlib import Path

import httpx2
from pydantic import JsonValue

from tests.anthropic_model.test_process import serve
from tests.mcp.sign_in_server import sign_in_server
from tests.support.editor import Object, json_at
from tests.support.messages_api import call, messages_api_in_thread, reply
from tests.support.server_process import ServerProcess
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import PAGE_CAN_BE_CLOSED, WAITING_FOR_SIGN_IN

CAPABILITIES: JsonValue = {"elicitation": {"url": {}}}


def run(server: ServerProcess, session: str, text: str) -> str:
    """Run a prompt as a user who opens all pages that are shown; return what they read."""
    before = server.agent_text()
    number = server.start_prompt(session, text)
    while True:
        message = server.receive()
        if message.get("method") == "elicitation/create":
            page = str(json_at(message, "params", "url"))
            answer = httpx2.get(
                page, follow_redirects=True, timeout=HANG_TIMEOUT_SECONDS, trust_env=False
            )
            assert PAGE_CAN_BE_CLOSED in answer.text
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": {"action": "accept"}})
        elif "method" not in message and message["id"] == number:
            assert json_at(message, "result", "stopReason") == "end_turn"
            return server.agent_text().removeprefix(before)


def cancel_sign_in(server: ServerProcess, session: str) -> None:
    """Begin to sign in, and stop once the page is shown."""
    number = server.start_prompt(session, "/mcp sign-in")
    while server.receive().get("method") != "elicitation/create":
        pass
    params: Object = {"sessionId": session}
    server.send({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
    answer = server.receive_response(number)
    assert json_at(answer, "result", "stopReason") == "cancelled"


def test_a_server_that_wants_a_sign_in_is_told_once_and_then_used_and_its_tokens_stay_secret(
    tmp_path: Path,
) -> None:
    (tmp_path / "workspace").mkdir()
    with messages_api_in_thread([]) as api, sign_in_server() as remote:
        settings = f"mcp_servers: {{notes: {{url: '{remote.url}', auth: oauth}}}}\n"
        # The first prompt waits for the server, however slow the machine is: it tells the user.
        settings += f"mcp: {{startup_wait_seconds: {HANG_TIMEOUT_SECONDS}}}\n"
        (tmp_path / "config.yaml").write_text(settings)
        with serve(tmp_path, api) as server:
            server.call("initialize", {"protocolVersion": 1, "clientCapabilities": CAPABILITIES})
            session = server.new_session(str(tmp_path / "workspace"))
            mode: Object = {"sessionId": session, "modeId": "bypass"}
            assert "result" in server.call("session/set_mode", mode)
            for _ in range(2):
                api.add("Done.")
            texts = [run(server, session, "hello") for _ in range(2)]
            cancel_sign_in(server, session)
            assert WAITING_FOR_SIGN_IN in run(server, session, "/mcp")
            signed_in = run(server, session, "/mcp sign-in")
            api.add(reply(call("notes__show_tokens")))
            api.add("Done.")
            run(server, session, "go")
            asked = str([each.body for each in api.model_requests])
            server.close_stdin()
            assert server.wait() == 0
            logged = server.stderr()

    assert ["`/mcp sign-in notes`" in text for text in texts] == [True, False]
    assert "You are signed in to notes" in signed_in
    assert "notes__echo" in asked
    assert "[hidden]" in asked
    kept = [
        each.read_bytes()
        for each in tmp_path.rglob("*")
        if each.is_file() and each.name != "credentials.json"
    ]
    seen = (asked + str(server.messages) + logged).encode()
    for token in remote.provider.issued:
        assert token in (tmp_path / "acp" / "credentials.json").read_text()
        assert not any(token.encode() in each for each in (seen, *kept))
