"""Replayer of model traffic: answers requests from a recording, without a network or a key."""

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

import httpx2
from pydantic import JsonValue

from acp_server.models.recordings.exchange import Exchange
from acp_server.models.recordings.masking import RecordingMask
from acp_server.models.recordings.matching import ExchangeFinder
from acp_server.models.traffic import NoRecordedAnswerError
from acp_server.text.json_values import as_object

logger = logging.getLogger(__name__)

NAME = "the recording"
COUNTED_METHOD = "POST"
"""Others are no questions to a model: they list the models that there are."""


@dataclass(slots=True)
class ReplayReport:
    """How a recording has answered."""

    exact: int = 0
    """Requests that are exactly as recorded."""
    nearest: list[tuple[str, tuple[str, ...]]] = field(
        default_factory=list[tuple[str, tuple[str, ...]]]
    )
    """The file that answered each other request, and how that request differs."""
    missing: list[str] = field(default_factory=list[str])
    """Requests without an answer."""
    unused: tuple[str, ...] = ()
    """Files that answered nothing."""

    def as_json(self) -> dict[str, JsonValue]:
        """Return the report as JSON."""
        return {
            "exact": self.exact,
            "nearest": [
                {"recorded": name, "differences": [*differences]}
                for name, differences in self.nearest
            ],
            "missing": [*self.missing],
            "unused": [*self.unused],
        }

    def lines(self) -> list[str]:
        """Return the report for people; the first line is the summary."""
        summary = f"replay: {self.exact} exact, {len(self.nearest)} by the nearest request"
        summary += f", {len(self.missing)} without an answer" if self.missing else ""
        summary += f"; {len(self.unused)} recorded answers not used" if self.unused else ""
        lines = [summary]
        shown = set[str]()
        for name, differences in self.nearest:
            lines.append(f"  unlike {name}:")
            for each in differences:
                # A changed system prompt is in every request: show it once.
                text = "(as above)" if each in shown else ""
                shown.add(each)
                first, *more = each.splitlines()
                lines += [
                    f"    {first} {text}".rstrip(),
                    *(() if text else map("    {}".format, more)),
                ]
        lines += [f"  not recorded: {each}" for each in self.missing]
        return lines


@dataclass(slots=True)
class TrafficReplayer:
    """Answers the requests of all providers; implements `models.traffic.ModelTraffic`."""

    finder: ExchangeFinder
    mask: RecordingMask
    is_strict: bool = False
    """Whether a request that is not exactly as recorded is refused."""
    report: ReplayReport = field(default_factory=ReplayReport, init=False)
    endpoint_name: str = field(default=NAME, init=False)

    def transport(self) -> httpx2.AsyncBaseTransport:
        """Return the transport that answers."""
        return _ReplayTransport(self)

    def response_hooks(self) -> list[Callable[[httpx2.Response], Awaitable[None]]]:
        """Return none: a replay is not observed."""
        return []

    def answer(self, method: str, path: str, content: bytes) -> httpx2.Response:
        """Return the answer to a request.

        Raises:
            NoRecordedAnswerError: There is none, or only one of a request that differs.
        """
        body = self.mask.request(as_object(cast("JsonValue", json.loads(content or b"{}"))))
        found = self.finder.find(method, path, body)
        is_counted = method == COUNTED_METHOD
        self.report.unused = tuple(
            each.name for each in self.finder.unused() if each.method == COUNTED_METHOD
        )
        if found is None:
            if is_counted:
                self.report.missing.append(f"{method} {path}")
            raise NoRecordedAnswerError(
                f"the recording has no answer to {method} {path}; record again with --record"
            )
        if not found.differences:
            self.report.exact += is_counted
            return self._respond(found.exchange)
        described = found.exchange.name, found.differences
        if self.is_strict:
            self.report.missing.append(f"{method} {path}, unlike {found.exchange.name}")
            differences = "; ".join(found.differences)
            raise NoRecordedAnswerError(
                f"this request differs from the recorded one (--strict): {differences}"
            )
        logger.info("a request differs from %s: %s", *described)
        self.report.nearest.append(described)
        return self._respond(found.exchange)

    def _respond(self, exchange: Exchange) -> httpx2.Response:
        headers = {"content-type": exchange.content_type}
        if exchange.status >= HTTPStatus.BAD_REQUEST:
            headers["retry-after"] = "0"  # there is nothing to wait for
        chunks: list[bytes] = []
        for event in exchange.events:
            filled = self.mask.fill_in(event)
            data = filled if isinstance(filled, str) else json.dumps(filled)
            chunks.append(f"data: {data}\n\n".encode())
        if not exchange.events:
            filled = self.mask.fill_in(exchange.answer)
            text = filled if isinstance(filled, str) else json.dumps(filled)
            chunks.append(b"" if filled is None else text.encode())
        stream = _ReplayedStream(chunks, is_complete=exchange.is_complete)
        return httpx2.Response(exchange.status, headers=headers, stream=stream)


class _ReplayTransport(httpx2.AsyncBaseTransport):
    def __init__(self, replayer: TrafficReplayer) -> None:
        self._replayer = replayer

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        return self._replayer.answer(request.method, request.url.path, content)


class _ReplayedStream(httpx2.AsyncByteStream):
    def __init__(self, chunks: list[bytes], *, is_complete: bool) -> None:
        self._chunks = chunks
        self._is_complete = is_complete

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        if not self._is_complete:
            raise httpx2.ReadError("the recorded answer ends here")
