"""A strict service of one process on loopback: refuses what the real one would refuse.

Requests are validated by our own reading of the service's published description
(`check_openapi.py` compares both), with a key, and with no field that is not described.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import cast
from urllib.parse import parse_qsl, urlsplit

from jsonschema import ValidationError, validate
from pydantic import JsonValue
from typing_extensions import override

KEY = "key-of-the-service"
Json = dict[str, JsonValue]


class RefusedError(Exception):
    """The service refuses a request, with a status."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Request:
    """A request that was accepted so far."""

    path: Mapping[str, str]
    """Values of the placeholders in the route's path."""
    query: Mapping[str, str]
    body: JsonValue


@dataclass(frozen=True, slots=True)
class Route:
    """An operation of the service; `/a/{b}` has a placeholder."""

    method: str
    path: str
    answer: Callable[[Request], JsonValue]
    body: Mapping[str, JsonValue] | None = None
    """The JSON schema of the body; None if there is none."""
    query: frozenset[str] = frozenset()
    status: int = 200


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked and answered, for comparison with a published description."""

    method: str
    route: str
    body: JsonValue
    status: int
    answer: JsonValue


@dataclass(slots=True)
class Service:
    """A running service."""

    url: str
    header: str
    """The header that must hold the key."""
    routes: Sequence[Route]
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    failures: list[str] = field(default_factory=list[str])
    """Refusals, so that a test sees what a client hides."""

    def respond(self, method: str, target: str, key: str, raw: bytes) -> tuple[int, JsonValue]:
        """Return status and body of the answer."""
        parts = urlsplit(target)
        try:
            route, path = self._find(method, parts.path)
            if key != KEY:
                raise RefusedError(401, "Invalid API key.")
            query = dict(parse_qsl(parts.query))
            if unknown := query.keys() - route.query:
                raise RefusedError(422, f"unknown query parameters {sorted(unknown)}")
            body = cast("JsonValue", json.loads(raw)) if raw else None
            if route.body is not None:
                _validate(body, route.body)
            elif body is not None:
                raise RefusedError(422, "this operation has no body")
            answer = route.answer(Request(path, query, body))
        except RefusedError as error:
            self.failures.append(f"{method} {target}: {error.status} {error.detail}")
            return error.status, {"detail": error.detail}
        self.exchanges.append(Exchange(method, route.path, body, route.status, answer))
        return route.status, answer

    def _find(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        for route in self.routes:
            pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path)
            match = re.fullmatch(pattern, path)
            if route.method == method and match:
                return route, match.groupdict()
        raise RefusedError(404, "Not Found")


def _validate(body: JsonValue, schema: Mapping[str, JsonValue]) -> None:
    try:
        validate(body, schema)
    except ValidationError as error:
        raise RefusedError(422, error.message) from error


@contextmanager
def serve(header: str, make_routes: Callable[[], Sequence[Route]]) -> Generator[Service]:
    """Run a service on a free port."""
    service = Service("", header, make_routes())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            key = (self.headers.get(header) or "").rpartition(" ")[2]
            status, answer = service.respond(self.command, self.path, key, raw)
            data = b"" if status == 204 else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815  names of the base class

        @override
        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def object_of(required: Sequence[str] = (), **properties: JsonValue) -> Json:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "required": list[JsonValue](required),
        "properties": dict(properties),
        "additionalProperties": False,
    }
