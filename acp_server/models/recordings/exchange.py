"""File format of recordings: one JSON file per request and its answer, in a private directory.

`0001-messages-1f3a….json` holds an exchange; its number is its place in the order of answers. A
long part of a request (system prompt, tools, a message) is kept once, in `parts/SHA256.json`, since
each request repeats the one before. Files are written in one step, so that several processes may
record into one directory and a killed one leaves no half file.
"""

import json
import secrets
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.models.traffic import RecordingError
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_list, as_object, as_text
from skills_store.atomic import write_atomically

FORMAT = 1
PARTS = "parts"
PART_KEY = "$part"
"""Key of an object that stands for a part in a file of its own."""
MIN_PART_CHARACTERS = 600
PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700


@frozen_dataclass
class RecordedEndpoint:
    """Where an exchange took place: enough to configure the same API for a replay."""

    provider: str = ""
    api_format: str = ""
    """`messages`, `chat` or `responses`."""
    base_url: str = ""
    """Scheme, host and path; empty for the provider's own address."""
    model: str = ""


@frozen_dataclass
class Exchange:
    """A request and its answer."""

    method: str
    path: str
    """Path of the URL."""
    body: Object
    """Body of the request; empty for a request without one."""
    status: int
    content_type: str
    events: tuple[JsonValue, ...] = ()
    """The data of the answer's events; a text if it is not JSON."""
    answer: JsonValue = None
    """The answer, if it is not a stream of events."""
    is_complete: bool = True
    """Whether the answer was received to its end."""
    retry_after: str = ""
    endpoint: RecordedEndpoint = RecordedEndpoint()
    name: str = ""
    """Name of its file."""


def save_exchange(directory: Path, exchange: Exchange) -> Path:
    """Write an exchange into a directory, which is created if need be; return its file. Blocks.

    Raises:
        OSError: It cannot be written.
    """
    directory.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    number = 1 + max((_number_of(file) for file in directory.glob("*.json")), default=0)
    kind = exchange.path.rstrip("/").rpartition("/")[2] or "request"
    # The random part keeps processes apart that record at the same time.
    file = directory / f"{number:04}-{kind}-{secrets.token_hex(4)}.json"
    response: Object = {
        "status": exchange.status,
        "content_type": exchange.content_type,
        "is_complete": exchange.is_complete,
    }
    if exchange.retry_after:
        response["retry_after"] = exchange.retry_after
    if exchange.events:
        response["events"] = list(exchange.events)
    else:
        response["body"] = exchange.answer
    endpoint = exchange.endpoint
    document: Object = {
        "format": FORMAT,
        "endpoint": {
            "provider": endpoint.provider,
            "api_format": endpoint.api_format,
            "base_url": endpoint.base_url,
            "model": endpoint.model,
        },
        "request": {
            "method": exchange.method,
            "path": exchange.path,
            "body": _store_parts(directory / PARTS, exchange.body),
        },
        "response": response,
    }
    write_atomically(file, _encode(document), PRIVATE_FILE)
    return file


def load_exchanges(directory: Path) -> Sequence[Exchange]:
    """Read all exchanges of a recording, in the order of their answers. Blocks.

    Raises:
        RecordingError: There are none, or a file is damaged.
    """
    files = sorted(directory.glob("*.json"), key=lambda file: (_number_of(file), file.name))
    if not files:
        raise RecordingError(f"{directory} holds no recording: record one with --record DIRECTORY")
    return [_load_exchange(file) for file in files]


def _load_exchange(file: Path) -> Exchange:
    document = as_object(_read_json(file))
    if document.get("format") != FORMAT:
        raise RecordingError(f"{file}: is not a recording of format {FORMAT}; record it again")
    request, response = as_object(document.get("request")), as_object(document.get("response"))
    endpoint, status = as_object(document.get("endpoint")), response.get("status")
    if not isinstance(status, int):
        raise RecordingError(f"{file}: has no status; record it again")
    return Exchange(
        method=as_text(request.get("method")),
        path=as_text(request.get("path")),
        body=as_object(_load_parts(file.parent / PARTS, request.get("body"))),
        status=status,
        content_type=as_text(response.get("content_type")),
        events=tuple(as_list(response.get("events"))),
        answer=response.get("body"),
        is_complete=response.get("is_complete") is not False,
        retry_after=as_text(response.get("retry_after")),
        endpoint=RecordedEndpoint(
            as_text(endpoint.get("provider")),
            as_text(endpoint.get("api_format")),
            as_text(endpoint.get("base_url")),
            as_text(endpoint.get("model")),
        ),
        name=file.name,
    )


def _store_parts(directory: Path, body: Object) -> Object:
    """Return a body with its long values, and long items of its lists, in files of their own."""
    return {
        name: [_store_part(directory, each) for each in value]
        if isinstance(value, list) and name != "tools"
        else _store_part(directory, value)
        for name, value in body.items()
    }


def _store_part(directory: Path, value: JsonValue) -> JsonValue:
    data = _encode(value)
    if len(data) < MIN_PART_CHARACTERS:
        return value
    digest = sha256(data).hexdigest()
    file = directory / f"{digest}.json"
    if not file.exists():
        directory.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        write_atomically(file, data, PRIVATE_FILE)
    return {PART_KEY: digest}


def _load_parts(directory: Path, value: JsonValue) -> JsonValue:
    match value:
        case {"$part": str(digest)} if len(value) == 1 and digest.isalnum():
            return _read_json(directory / f"{digest}.json")
        case dict():
            return {name: _load_parts(directory, each) for name, each in value.items()}
        case list():
            return [_load_parts(directory, each) for each in value]
        case _:
            return value


def _encode(value: JsonValue) -> bytes:
    # Indented: recordings are kept in repositories and reviewed as diffs.
    return f"{json.dumps(value, indent=1)}\n".encode()


def _read_json(file: Path) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise RecordingError(f"{file}: {error}") from None


def _number_of(file: Path) -> int:
    number = file.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0
