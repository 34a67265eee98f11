"""Values that the SDK's parser rejects, in the answers of a server over HTTP."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.mcp.lenient_messages import repair_message
from acp_server.session.ports.mcp_configs import HttpServerConfig
from tests.mcp.live_servers import POLL_SECONDS, open_factory


def _nested(depth: int) -> JsonValue:
    value: JsonValue = 1
    for _ in range(depth):
        value = [value]
    return value


def _tool(name: str, argument: JsonValue) -> JsonValue:
    return {"name": name, "inputSchema": {"type": "object", "properties": {"n": argument}}}


TOOLS: list[JsonValue] = [
    _tool("plain", {"type": "string"}),
    _tool("deep", {"default": _nested(230)}),
    _tool("half", {"type": "string", "description": "\ud800"}),
    {"name": "text", "inputSchema": "text"},
]
RESULTS: dict[str, JsonValue] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [{"type": "text", "text": "x" * 3_000_000}]},
}


class _Handler(BaseHTTPRequestHandler):
    """Answers requests as JSON, or as events at `/events`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self._answer(202, "application/json", "")
            return
        result = RESULTS.get(message["method"], {})
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        if self.path == "/events":
            self._answer(200, "text/event-stream", f"event: message\r\ndata: {text}\r\n\r\n")
        else:
            self._answer(200, "application/json", text)

    def do_GET(self) -> None:
        self._answer(405, "text/plain", "")

    def do_DELETE(self) -> None:
        self._answer(200, "text/plain", "")

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        del format, args


@contextmanager
def _listening() -> Generator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("path", ["mcp", "events"])
async def test_an_invalid_tool_is_left_out_by_itself_and_a_long_result_arrives(
    tmp_path: Path, path: str
) -> None:
    with _listening() as port:
        remote = HttpServerConfig("s", f"http://127.0.0.1:{port}/{path}")
        async with open_factory(tmp_path) as factory, factory.open_servers(remote) as live:
            page = live.servers.describe()
            specs = {tool.spec.name: tool.spec.schema for tool in live.servers.tools()}
            outcome = await live.call("s__plain")

    assert specs == {
        "s__plain": {"type": "object", "properties": {"n": {"type": "string"}}},
        "s__deep": {"type": "object", "properties": {"n": {}}},
        "s__half": {
            "type": "object",
            "properties": {"n": {"type": "string", "description": "\ufffd"}},
        },
    }
    assert "- skipped: text: its input schema is not an object" in page
    assert not outcome.is_error
    assert outcome.text.startswith("xxx")


@pytest.mark.parametrize("text", ['{"a": [1, "é"]}', "no JSON", "[" * 100_000, ""])
def test_other_messages_stay_as_they_are(text: str) -> None:
    assert repair_message(text.encode()) == text.encode()
