"""Recorder of model traffic: keeps each answered request in a directory.

Works in the response hooks of an HTTP client, so that proxies and certificates stay as they are. An
answer is recorded while it is passed on, and saved when its body is closed.
"""

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import anyio
import httpx2
from anyio import to_thread
from pydantic import JsonValue

from acp_server.models.recordings.exchange import Exchange, RecordedEndpoint, save_exchange
from acp_server.models.recordings.masking import RecordingMask
from acp_server.models.sse import SseDecoder
from acp_server.text.json_values import Object, as_object, as_text

logger = logging.getLogger(__name__)

EVENT_STREAM = "event-stream"
MAX_ANSWER_BYTES = 64 * 1024 * 1024
SECRET_HEADERS = ("authorization", "x-api-key", "api-key")
LAST_EVENTS = frozenset(
    {"message_stop", "response.completed", "response.incomplete", "response.failed"}
)
LAST_DATA = "[DONE]"


@dataclass(slots=True)
class TrafficRecorder:
    """Recorder of one provider's traffic; implements `models.traffic.ModelTraffic`."""

    directory: Path
    mask: RecordingMask
    endpoint: RecordedEndpoint
    on_problem: Callable[[str], None]
    """Called with the reason if an exchange cannot be written."""
    endpoint_name: str = field(default="", init=False)

    def transport(self) -> None:
        """Return None: requests go to the network."""

    def response_hooks(self) -> list[Callable[[httpx2.Response], Awaitable[None]]]:
        """Return the hook that records each answer."""
        return [self._record]

    async def _record(self, response: httpx2.Response) -> None:
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101  the client is asynchronous
        response.stream = _RecordedStream(stream, response, self._save)

    async def _save(
        self, response: httpx2.Response, chunks: list[bytes], *, is_exhausted: bool
    ) -> None:
        try:
            await to_thread.run_sync(self._save_now, response, b"".join(chunks), is_exhausted)
        except (OSError, ValueError) as error:
            # Recording never fails a turn: the answer has reached the user.
            logger.warning("an answer could not be recorded: %s", error)
            self.on_problem(f"an answer could not be recorded in {self.directory}: {error}")

    def _save_now(self, response: httpx2.Response, raw: bytes, is_exhausted: bool) -> None:  # noqa: FBT001  called by a thread
        request = response.request
        # Credentials of every source pass here, also those that no setting names.
        secrets = [
            value.rpartition(" ")[2]
            for name in SECRET_HEADERS
            if (value := request.headers.get(name, ""))
        ]
        body = as_object(_parse_json(request.content))
        content_type = response.headers.get("content-type", "").partition(";")[0]
        exchange = Exchange(
            method=request.method,
            path=request.url.path,
            body=self.mask.request(body, secrets),
            status=response.status_code,
            content_type=content_type,
            is_complete=is_exhausted,
            retry_after=response.headers.get("retry-after", ""),
            endpoint=replace(self.endpoint, model=as_text(body.get("model"))),
        )
        data = _decode(response, raw)
        if EVENT_STREAM in content_type:
            events = [_parse_json(each) for each in SseDecoder().feed(data + b"\n\n")]
            is_ended = is_exhausted or any(map(_is_last, events[-2:]))
            exchange = replace(
                exchange,
                events=tuple(self.mask.answer(events, secrets)),
                is_complete=is_ended,
            )
        else:
            (answer,) = self.mask.answer([_parse_json(data)], secrets)
            exchange = replace(exchange, answer=answer)
        save_exchange(self.directory, exchange)


class _RecordedStream(httpx2.AsyncByteStream):
    """Body of an answer that is kept while it is read."""

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        response: httpx2.Response,
        save: Callable[..., Awaitable[None]],
    ) -> None:
        self._stream = stream
        self._response = response
        self._save = save
        self._chunks: list[bytes] = []
        self._size = 0
        self._is_exhausted = False
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            if self._size <= MAX_ANSWER_BYTES:
                self._chunks.append(chunk)
                self._size += len(chunk)
            yield chunk
        self._is_exhausted = True

    async def aclose(self) -> None:
        """Close the body and save the exchange, also if the request was cancelled."""
        try:
            await self._stream.aclose()
        finally:
            if not self._is_closed:
                self._is_closed = True
                with anyio.CancelScope(shield=True):
                    await self._save(self._response, self._chunks, is_exhausted=self._is_exhausted)


def _decode(response: httpx2.Response, raw: bytes) -> bytes:
    """Return the body without its content encoding."""
    encoding = response.headers.get("content-encoding")
    if not encoding or not raw:
        return raw
    # The client's own decoders: the same that the adapter reads with.
    return httpx2.Response(200, headers={"content-encoding": encoding}, content=raw).content


def _parse_json(data: bytes) -> JsonValue:
    text = data.decode("utf-8", "replace")
    try:
        return cast("JsonValue", json.loads(text)) if text else None
    except (ValueError, RecursionError):
        return text


def _is_last(event: JsonValue) -> bool:
    fields: Object = as_object(event)
    return event == LAST_DATA or fields.get("type") in LAST_EVENTS
