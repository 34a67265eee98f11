"""Queue of session updates for display: in order, one at a time, none lost."""

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from pydantic import JsonValue, ValidationError

from acp_server.protocol.updates import SessionNotification, SessionUpdate


@dataclass(frozen=True, slots=True)
class UnknownUpdate:
    """An update of an unknown kind or shape, with the params as received."""

    params: JsonValue

    @property
    def kind(self) -> str:
        """The agent's name for the kind, or "unknown"."""
        update = self.params.get("update") if isinstance(self.params, dict) else None
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        return kind if isinstance(kind, str) else "unknown"


Update: TypeAlias = SessionUpdate | UnknownUpdate
ShowUpdate = Callable[[str, Update], Awaitable[None]]
"""Called with the session id and the update; awaited before the next update."""


class UpdateQueue:
    """Decouples reading updates from showing them, which runs in its own task.

    Unbounded, so that slow display never delays reading responses.
    """

    def __init__(self, show: ShowUpdate) -> None:
        self._show = show
        self._sender, self._receiver = anyio.create_memory_object_stream[
            tuple[str, Update] | anyio.Event
        ](math.inf)
        self._task_id: int | None = None

    def put(self, params: JsonValue) -> None:
        """Queue the params of a `session/update`; dropped after the queue was closed."""
        with suppress(anyio.ClosedResourceError):
            self._sender.send_nowait(_parse_update(params))

    def close(self) -> None:
        """Close the queue; `run` returns once the remaining updates are shown."""
        self._sender.close()

    async def run(self) -> None:
        """Show queued updates until the queue is closed."""
        self._task_id = anyio.get_current_task().id
        with self._sender, self._receiver:
            async for item in self._receiver:
                if isinstance(item, anyio.Event):
                    item.set()
                else:
                    await self._show(*item)

    async def join(self) -> None:
        """Wait until all updates queued so far are shown; return at once if called by `show`."""
        if anyio.get_current_task().id == self._task_id:
            return  # the showing task would wait for itself
        reached = anyio.Event()
        try:
            self._sender.send_nowait(reached)
        except anyio.ClosedResourceError:
            return
        await reached.wait()


def _parse_update(params: JsonValue) -> tuple[str, Update]:
    try:
        notification = SessionNotification.from_wire(params)
    except ValidationError:
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        return session_id if isinstance(session_id, str) else "", UnknownUpdate(params)
    return notification.session_id, notification.update
