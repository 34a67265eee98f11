"""Recording of all messages between the client and the agent, as raw lines."""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, Self

from acp_server.jsonrpc.framing import Line, OversizedLine
from acp_server.jsonrpc.outbox import CoalesceKey
from acp_server.jsonrpc.transport import Transport

Sender = Literal["client", "agent"]


@dataclass(frozen=True, slots=True)
class WireLine:
    """One raw line without its newline, and its sender."""

    sender: Sender
    line: bytes

    def to_json(self) -> str:
        """Return `{"from": ..., "message": ...}`; a line that is not JSON becomes a string."""
        text = self.line.decode("utf-8", "replace")
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            text = json.dumps(text, ensure_ascii=False)
        return f'{{"from":"{self.sender}","message":{text}}}'


RecordLine = Callable[[WireLine], None]


def ignore_line(line: WireLine) -> None:
    """Ignore a line."""
    del line


class RecordingTransport:
    """Transport wrapper that records every line and can stop sending.

    Lines are recorded in the order in which this end queues and reads them.
    """

    def __init__(self, transport: Transport, record: RecordLine) -> None:
        self._transport = transport
        self._record = record
        self._is_sending = True
        self.finishes_requests_at_end = transport.finishes_requests_at_end

    async def __aenter__(self) -> Self:
        """Start the transport."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the transport."""
        await self._transport.__aexit__(None, None, None)

    async def receive(self) -> Sequence[Line]:
        """Return the next lines, recorded."""
        batch = await self._transport.receive()
        for line in batch:
            self._record_line("agent", line.head if isinstance(line, OversizedLine) else line)
        return batch

    def send(
        self, line: bytes, replace_key: Hashable = None, coalesce_key: CoalesceKey | None = None
    ) -> None:
        """Record and queue a line; drop it after `stop_sending`."""
        if self._is_sending:
            self._record_line("client", line.removesuffix(b"\n"))
            self._transport.send(line, replace_key, coalesce_key)

    def stop_sending(self) -> None:
        """Drop all further lines: the underlying descriptor is about to be closed."""
        self._is_sending = False

    @property
    def has_capacity(self) -> bool:
        """Whether the queue is below its bound."""
        return self._transport.has_capacity

    async def wait_for_capacity(self) -> None:
        """Wait until the queue is below its bound."""
        await self._transport.wait_for_capacity()

    async def flush(self) -> None:
        """Wait until everything queued is written, or the other end has disconnected."""
        await self._transport.flush()

    def _record_line(self, sender: Sender, line: bytes) -> None:
        """Record a line; a recorder that raises ends the connection and is not called again."""
        record, self._record = self._record, ignore_line
        record(WireLine(sender, line))
        self._record = record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
