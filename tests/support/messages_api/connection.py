"""One HTTP/1.1 connection, which sends responses step by step.

Independent of the API. While it waits, it detects that the client disconnects.
"""

from collections.abc import Callable

import anyio
import h11
from anyio.abc import ByteStream

from tests.support.messages_api.records import HttpRequest, SendState
from tests.support.messages_api.response_steps import (
    Abort,
    ResponseGate,
    ResponsePlan,
    ResponseStep,
    Wait,
    WaitForGate,
    Write,
)

RECEIVED_BYTES = 65_536
GATE_POLL_SECONDS = 0.005
"""Polling interval of a gate, which another thread may open."""

Respond = Callable[[HttpRequest], tuple[ResponsePlan, SendState]]


class _ResponseAbortedError(Exception):
    """Raised by the step that drops the connection."""


class HttpConnection:
    """Server side of a client connection."""

    def __init__(self, stream: ByteStream, respond: Respond, body_limit_bytes: int) -> None:
        self._stream = stream
        self._respond = respond
        self._body_limit_bytes = body_limit_bytes
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)

    async def serve(self) -> None:
        """Answer requests until the client disconnects or a response drops the connection."""
        try:
            while await self._serve_one():
                self._http.start_next_cycle()
        except (anyio.BrokenResourceError, anyio.EndOfStream, h11.RemoteProtocolError):
            pass  # the client disconnected, or does not speak HTTP
        finally:
            # shielded: the server closes connections by cancelling them
            with anyio.CancelScope(shield=True):
                await anyio.aclose_forcefully(self._stream)

    async def _serve_one(self) -> bool:
        """Answer a request and return whether the connection can take another."""
        request = await self._read()
        if request is None:
            return False
        answer, sending = self._respond(request)
        try:
            await self._send(answer)
        except _ResponseAbortedError:
            sending.mark_ended("aborted")
            return False
        except (anyio.BrokenResourceError, anyio.EndOfStream):
            sending.mark_ended("left")
            return False
        sending.mark_ended("sent")
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    # Receiving requests.

    async def _read(self) -> HttpRequest | None:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        body = await self._read_body()
        return HttpRequest(
            head.method.decode(),
            head.target.decode(),
            {name.decode().lower(): value.decode("latin-1") for name, value in head.headers},
            body,
        )

    async def _read_body(self) -> bytes | None:
        received = bytearray()
        is_too_large = False
        while isinstance(event := await self._next_event(), h11.Data):
            is_too_large = is_too_large or len(received) + len(event.data) > self._body_limit_bytes
            if not is_too_large:
                received += event.data
        return None if is_too_large else bytes(received)

    async def _next_event(self) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            await self._send_continue()
            try:
                self._http.receive_data(await self._stream.receive(RECEIVED_BYTES))
            except anyio.EndOfStream:
                self._http.receive_data(b"")

    async def _send_continue(self) -> None:
        if self._http.they_are_waiting_for_100_continue:
            await self._send_event(h11.InformationalResponse(status_code=100, headers=[]))

    # Sending responses.

    async def _send(self, answer: ResponsePlan) -> None:
        for step in answer.before_head:
            await self._run_step(step)
        assert answer.status is not None, "an answer without a status is dropped before its head"
        if answer.on_start is not None:
            answer.on_start()
        await self._send_event(h11.Response(status_code=answer.status, headers=_headers(answer)))
        for step in answer.body:
            await self._run_step(step)
        await self._send_event(h11.EndOfMessage())

    async def _run_step(self, step: ResponseStep) -> None:
        match step:
            case Write(data):
                await self._send_event(h11.Data(data=data))
            case Wait(seconds):
                with anyio.move_on_after(seconds):
                    await self._receive_until_closed()
            case WaitForGate(gate):
                await self._wait_for_gate(gate)
            case Abort():
                raise _ResponseAbortedError

    async def _wait_for_gate(self, gate: ResponseGate) -> None:
        while not gate.is_open:
            with anyio.move_on_after(GATE_POLL_SECONDS):
                await self._receive_until_closed()

    async def _receive_until_closed(self) -> None:
        """Receive until the client disconnects; data that arrives belongs to its next request."""
        while True:
            self._http.receive_data(await self._stream.receive(RECEIVED_BYTES))

    async def _send_event(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            await self._stream.send(data)


def _headers(answer: ResponsePlan) -> list[tuple[str, str]]:
    if answer.is_chunked:
        return [*answer.headers, ("cache-control", "no-cache"), ("transfer-encoding", "chunked")]
    size = sum(len(step.data) for step in answer.body if isinstance(step, Write))
    return [*answer.headers, ("content-length", str(size))]
