"""Claude at Amazon Bedrock and Google Vertex AI, through the SDK's own clients, on loopback."""

import json
from base64 import b64encode
from binascii import crc32
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from struct import pack
from threading import Thread

import pytest
from pydantic import JsonValue

from acp_server.models.anthropic import platforms
from tests.support.editor import json_at, make_configuration, open_editor

EVENTS: list[JsonValue] = [
    {
        "type": "message_start",
        "message": {"id": "m", "role": "assistant", "usage": {"input_tokens": 9}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 3},
    },
    {"type": "message_stop"},
]
EVENT_STREAM = "".join(f"event: x\ndata: {json.dumps(each)}\n\n" for each in EVENTS).encode()


def frame(payload: JsonValue, **headers: str) -> bytes:
    """Return a message in AWS's binary framing: lengths, headers, payload, checksums."""
    encoded = b"".join(
        pack("!B", len(name)) + name.encode() + b"\7" + pack("!H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    body = json.dumps(payload).encode()
    prelude = pack("!II", 16 + len(encoded) + len(body), len(encoded))
    message = prelude + pack("!I", crc32(prelude)) + encoded + body
    return message + pack("!I", crc32(message))


def event_frame(event: JsonValue) -> bytes:
    return frame(
        {"bytes": b64encode(json.dumps(event).encode()).decode()},
        **{":message-type": "event", ":event-type": "chunk"},
    )


FRAMES = b"".join(map(event_frame, EVENTS))
THROTTLED = event_frame(EVENTS[0]) + frame(
    {"message": "Too many requests"},
    **{":message-type": "exception", ":exception-type": "throttlingException"},
)
Recorded = list[tuple[str, dict[str, str], JsonValue]]


@contextmanager
def cloud(content_type: str, answer: bytes) -> Generator[tuple[str, Recorded]]:
    """Serve one answer to each request; yields the address and the requests."""
    recorded: Recorded = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            recorded.append((self.path, headers, json.loads(body)))
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", recorded
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def ask(home: Path, text: str, variables: str = "") -> tuple[JsonValue, str]:
    (home / "config.yaml").write_text(text)
    (home / ".env").write_text(variables)
    async with open_editor(make_configuration(home)) as editor:
        await editor.initialize()
        session = await editor.new_session(home)
        answer = await editor.call(
            "session/prompt",
            {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]},
        )
        return answer, editor.agent_text(session)


BEDROCK = (
    "model: {{provider: bedrock, default: eu.anthropic.claude-opus-5-v1, base_url: '{url}'}}\n"
    "bedrock: {{region: eu-west-1}}\nendpoint: {{max_retries: 0}}\n"
)
AWS_KEYS = "AWS_ACCESS_KEY_ID=AKIA\nAWS_SECRET_ACCESS_KEY=secret-of-aws\n"


async def test_bedrock_is_asked_with_a_signed_request(tmp_path: Path) -> None:
    with cloud("application/vnd.amazon.eventstream", FRAMES) as (url, recorded):
        answer, text = await ask(tmp_path, BEDROCK.format(url=url), AWS_KEYS)
    assert json_at(answer, "result", "stopReason") == "end_turn", answer
    assert text.endswith("Hello.")
    ((path, headers, body),) = recorded
    assert path == "/model/eu.anthropic.claude-opus-5-v1/invoke-with-response-stream"
    assert "Credential=AKIA/" in headers["authorization"]
    assert "/eu-west-1/bedrock/" in headers["authorization"]
    assert json_at(body, "anthropic_version")
    assert "secret-of-aws" not in json.dumps([headers, body])


async def test_an_error_in_a_stream_of_bedrock_is_told(tmp_path: Path) -> None:
    with cloud("application/vnd.amazon.eventstream", THROTTLED) as (url, _):
        answer, _ = await ask(tmp_path, BEDROCK.format(url=url), AWS_KEYS)
    assert "Too many requests" in json.dumps(answer)


async def test_vertex_is_asked_in_its_project(tmp_path: Path) -> None:
    text = (
        "model: {{provider: vertex, default: claude-opus-5, base_url: '{url}'}}\n"
        "vertex: {{region: europe-west1, project_id: p-1}}\n"
    )
    with cloud("text/event-stream", EVENT_STREAM) as (url, recorded):
        variables = "VERTEX_ACCESS_TOKEN=a-token\n"
        answer, shown = await ask(tmp_path, text.format(url=url), variables)
    assert json_at(answer, "result", "stopReason") == "end_turn", answer
    assert shown.endswith("Hello.")
    ((path, headers, _),) = recorded
    model = "publishers/anthropic/models/claude-opus-5:streamRawPredict"
    assert path == f"/projects/p-1/locations/europe-west1/{model}"
    assert headers["authorization"] == "Bearer a-token"


@pytest.mark.parametrize(
    ("platform", "command"),
    [("bedrock", "aws sso login"), ("vertex", "gcloud auth application-default login")],
)
async def test_missing_credentials_say_how_to_sign_in(
    tmp_path: Path, platform: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    text = (
        f"model: {{provider: {platform}, default: claude-opus-5, base_url: 'http://127.0.0.1:9'}}\n"
    )
    answer, _ = await ask(tmp_path, text)
    assert f"sign in again with `{command}`" in json.dumps(answer)


async def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(platforms.NEEDED_MODULES, "bedrock", "not_installed_here")
    answer, _ = await ask(tmp_path, BEDROCK.format(url="http://127.0.0.1:9"), AWS_KEYS)
    assert "hermes-acp-server[bedrock]" in json.dumps(answer)
