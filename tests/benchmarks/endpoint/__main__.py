"""Endpoint process: `python -m tests.benchmarks.endpoint` prints its port and serves.

It exits when its stdin closes. `GET /taken` returns the requests received since the last such call,
`POST /keeping` switches the recording of request bodies. All other paths belong to model APIs.
"""

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from pydantic import JsonValue

from tests.benchmarks.endpoint.answers import BenchmarkAnswer, answer
from tests.benchmarks.endpoint.model_requests import PATHS, ApiFormat, Object, parse_request
from tests.benchmarks.endpoint.stream_encoders import BYTES_PER_TOKEN, StreamStep, encode_stream

BLOCK_BYTES = 16 * 1024
MODELS: JsonValue = {
    "data": [
        {"id": name, "object": "model", "type": "model", "display_name": name, "created": 1}
        for name in ("claude-opus-4-5", "claude-sonnet-4-5", "gpt-5")
    ],
    "has_more": False,
}


class RequestLog:
    """Requests received since the last call of `take_all`."""

    def __init__(self) -> None:
        self.is_recording = False
        self._requests: list[JsonValue] = []
        self._lock = threading.Lock()

    def add(self, path: str, body: Object, size: int) -> None:
        """Record a request."""
        if self.is_recording and body:  # an empty body only opens a connection
            with self._lock:
                self._requests.append({"path": path, "body": {**body}, "bytes": size})

    def take_all(self) -> list[JsonValue]:
        """Return the recorded requests and clear the list."""
        with self._lock:
            requests, self._requests = self._requests, []
        return requests


class ModelRequestHandler(BaseHTTPRequestHandler):
    """Handler of one client connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    taken = RequestLog()

    def do_GET(self) -> None:
        """List the models, or return the recorded requests."""
        self._send_json(self.taken.take_all() if self.path == "/taken" else MODELS)

    def do_HEAD(self) -> None:
        """Confirm that the server is up."""
        self._send_json({})

    def do_POST(self) -> None:
        """Answer as the model."""
        data = self._read()
        body = cast("Object", json.loads(data or b"{}"))
        path = self.path.partition("?")[0]
        form = _form_at(path)
        if path == "/keeping":
            self.taken.is_recording = bool(body["is_keeping"])
            self._send_json({})
        elif path.endswith("/count_tokens"):
            self._send_json({"input_tokens": len(data) // BYTES_PER_TOKEN})
        elif form is None:  # telemetry, or an unsupported API format
            self.send_error(404)
        else:
            self.taken.add(path, body, len(data))
            self._answer(form, body, len(data))

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, form: ApiFormat, body: Object, size: int) -> None:
        reply = answer(parse_request(form, body, size))
        model = str(body.get("model"))
        if body.get("stream") is not True and ":stream" not in self.path:
            self._send_json(_unstreamed_answer(form, reply, model))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for block in _merge_bytes(encode_stream(form, reply, model, size)):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))
        self.wfile.write(b"0\r\n\r\n")

    def _send_json(self, value: JsonValue) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Log nothing."""


def _form_at(path: str) -> ApiFormat | None:
    return next((form for end, form in PATHS.items() if path.endswith(end)), None)


def _merge_bytes(steps: Iterable[StreamStep]) -> Iterator[bytes]:
    """Yield the bytes between pauses, merged; sleep for the pauses."""
    block = b""
    for step in steps:
        if isinstance(step, bytes):
            block += step
        if block and (step or len(block) > BLOCK_BYTES) and not isinstance(step, bytes):
            yield block
            block = b""
        if not isinstance(step, bytes) and step:
            time.sleep(step)
    if block:  # an empty HTTP chunk would end the response
        yield block


def _unstreamed_answer(form: ApiFormat, reply: BenchmarkAnswer, model: str) -> JsonValue:
    """Return a response without streaming. Text only: only side requests ask for that."""
    text = "".join(reply.text)
    match form:
        case "messages":
            return {
                "id": "msg_0",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        case "chat":
            message: JsonValue = {"role": "assistant", "content": text}
            return {
                "id": "chatcmpl-0",
                "object": "chat.completion",
                "created": 1,
                "model": model,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        case "gemini":
            parts: JsonValue = {"role": "model", "parts": [{"text": text}]}
            return {"candidates": [{"index": 0, "content": parts, "finishReason": "STOP"}]}
        case "responses":
            content: JsonValue = [{"type": "output_text", "text": text, "annotations": []}]
            item: JsonValue = {"type": "message", "role": "assistant", "content": content}
            return {"id": "resp_0", "object": "response", "model": model, "output": [item]}


class ModelHttpServer(ThreadingHTTPServer):
    """HTTP server with a backlog of fifty connections."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: agents may disconnect at any time."""


def main() -> None:
    """Serve until stdin closes."""
    with ModelHttpServer(("127.0.0.1", 0), ModelRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
