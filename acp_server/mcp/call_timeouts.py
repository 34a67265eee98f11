"""Timeouts of calls: restarted by progress, paused while the user is asked a question."""

import math
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar
from uuid import uuid4

import anyio

from acp_server.mcp.ports import McpLimits
from acp_server.session.ports.elicitation import (
    ElicitationForm,
    ElicitationResult,
    ElicitationUrl,
    Elicitor,
)

T = TypeVar("T")

CANCELLED = ElicitationResult("cancel")
MAX_PAGES = 100
"""URL elicitations per server whose completion the server can report later."""


class CallTimeout:
    """Timeout of one call."""

    def __init__(self, limits: McpLimits) -> None:
        self._limits = limits
        self._max_deadline = anyio.current_time() + limits.max_call_seconds
        self.scope = anyio.CancelScope()
        self.restart()

    def restart(self) -> None:
        """Restart the timeout, because of progress; the total limit stays."""
        self.scope.deadline = min(
            anyio.current_time() + self._limits.call_seconds, self._max_deadline
        )

    def pause(self) -> None:
        """Pause the timeout."""
        self.scope.deadline = math.inf


class CallTimeouts:
    """Timeouts of all running calls of one server, and the questions that the server asks."""

    def __init__(self, limits: McpLimits, elicitor: Elicitor) -> None:
        self._limits = limits
        self._elicitor = elicitor
        self._running_calls: set[CallTimeout] = set()
        self._open_question_count = 0
        self._question_scopes: set[anyio.CancelScope] = set()
        self._page_ids: dict[str, str] = {}
        """URL elicitations: the server's id to the id used with the editor."""

    @contextmanager
    def limit_call(self) -> Generator[CallTimeout]:
        """Limit a call: the block is cancelled when the call's timeout expires."""
        clock = CallTimeout(self._limits)
        if self._open_question_count:
            clock.pause()
        self._running_calls.add(clock)
        try:
            with clock.scope:
                yield clock
        finally:
            self._running_calls.discard(clock)
            # MCP does not say which call a question belongs to: cancel questions only when no call
            # is left that could need the answer.
            if not self._running_calls:
                for scope in self._question_scopes:
                    scope.cancel()

    @property
    def can_ask(self) -> bool:
        """Whether the user can be asked."""
        return self._elicitor.can_ask

    @property
    def shows_pages(self) -> bool:
        """Whether the user can be asked to visit a web page."""
        return self._elicitor.shows_pages

    async def ask(self, question: ElicitationForm | ElicitationUrl) -> ElicitationResult:
        """Ask the user, without a time limit."""
        if isinstance(question, ElicitationUrl):
            # A new id: different servers can use the same ids.
            own_id = uuid4().hex
            self._page_ids[question.id] = own_id
            if len(self._page_ids) > MAX_PAGES:
                del self._page_ids[next(iter(self._page_ids))]
            question = replace(question, id=own_id)
        return await self.pause_while(partial(self._elicitor.ask, question), CANCELLED)

    async def pause_while(self, answer: Callable[[], Awaitable[T]], if_cancelled: T) -> T:
        """Return the answer to a request of the server, or `if_cancelled` once no call is left.

        All timeouts are paused, because the protocol does not say which call a request is for.
        """
        self._open_question_count += 1
        for clock in self._running_calls:
            clock.pause()
        scope = anyio.CancelScope()
        if self._running_calls:
            self._question_scopes.add(scope)
        try:
            with scope:
                return await answer()
            return if_cancelled
        finally:
            self._question_scopes.discard(scope)
            self._open_question_count -= 1
            if not self._open_question_count:
                for clock in self._running_calls:
                    clock.restart()

    async def complete(self, page_id: str) -> None:
        """Report that a URL elicitation is complete, once; `page_id` is the server's own id."""
        own_id = self._page_ids.pop(page_id, None)
        if own_id is not None:
            await self._elicitor.complete(own_id)
