"""Session updates on their way to whoever shows them: in order, one at a time, none lost."""

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
    """An update of a kind, or in a shape, that this client does not know: the params as sent."""

    params: JsonValue

    @property
    def kind(self) -> str:
        """What the agent calls it."""
        update = self.params.get("update") if isinstance(self.params, dict) else None
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        return kind if isinstance(kind, str) else "unknown"


Update: TypeAlias = SessionUpdate | UnknownUpdate
ShowUpdate = Callable[[str, Update], Awaitable[None]]
"""Takes the session's id and the update; the next one waits for it."""


class UpdateQueue:
    """Takes updates while the wire is read, hands them on from a task of its own.

    Unbounded, so that a slow reader of updates keeps no answer from being read.
    """

    def __init__(self, show: ShowUpdate) -> None:
        self._show = show
        self._sender, self._receiver = anyio.create_memory_object_stream[
            tuple[str, Update] | anyio.Event
        ](math.inf)
        self._task_id: int | None = None

    def accept(self, params: JsonValue) -> None:
        """Take the params of a `session/update`; nobody looks at them once this was left."""
        with suppress(anyio.ClosedResourceError):
            self._sender.send_nowait(_read(params))

    def end(self) -> None:
        """Take no more; `run` returns once the rest is shown."""
        self._sender.close()

    async def run(self) -> None:
        """Show what comes, until the end."""
        self._task_id = anyio.get_current_task().id
        with self._sender, self._receiver:
            async for item in self._receiver:
                if isinstance(item, anyio.Event):
                    item.set()
                else:
                    await self._show(*item)

    async def settle(self) -> None:
        """Wait until everything taken so far is shown; at once, when called while showing."""
        if anyio.get_current_task().id == self._task_id:
            return
        reached = anyio.Event()
        try:
            self._sender.send_nowait(reached)
        except anyio.ClosedResourceError:
            return
        await reached.wait()


def _read(params: JsonValue) -> tuple[str, Update]:
    try:
        notification = SessionNotification.from_wire(params)
    except ValidationError:
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        return session_id if isinstance(session_id, str) else "", UnknownUpdate(params)
    return notification.session_id, notification.update
