"""Timeouts of calls: restarted by progress, paused while the user is asked a question."""

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import anyio

from acp_server.mcp.ports import Limits
from acp_server.session.ports.elicitation import Answer, Elicitor, Form, Page

TAKEN_BACK = Answer("cancel")
MOST_PAGES = 100
"""URL elicitations per server whose completion the server can report later."""


class Clock:
    """Timeout of one call."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._latest = anyio.current_time() + limits.most_call_seconds
        self.scope = anyio.CancelScope()
        self.wind()

    def wind(self) -> None:
        """Restart the timeout, because of progress; the total limit stays."""
        self.scope.deadline = min(anyio.current_time() + self._limits.call_seconds, self._latest)

    def stop(self) -> None:
        """Pause the timeout."""
        self.scope.deadline = math.inf


class Clocks:
    """Timeouts of all running calls of one server, and the questions that the server asks."""

    def __init__(self, limits: Limits, elicitor: Elicitor) -> None:
        self._limits = limits
        self._elicitor = elicitor
        self._running: set[Clock] = set()
        self._questions = 0
        self._asked: set[anyio.CancelScope] = set()
        self._pages: dict[str, str] = {}
        """URL elicitations: the server's id to the id used with the editor."""

    @contextmanager
    def timed(self) -> Generator[Clock]:
        """Limit a call: the block is cancelled when the call's timeout expires."""
        clock = Clock(self._limits)
        if self._questions:
            clock.stop()
        self._running.add(clock)
        try:
            with clock.scope:
                yield clock
        finally:
            self._running.discard(clock)
            # MCP does not say which call a question belongs to: cancel questions only when no call
            # is left that could need the answer.
            if not self._running:
                self._take_back()

    @property
    def can_ask(self) -> bool:
        """Whether the user can be asked."""
        return self._elicitor.can_ask

    async def ask(self, question: Form | Page) -> Answer:
        """Ask the user, without a time limit.

        All timeouts are paused, because the protocol does not say which call a question is for.
        """
        if isinstance(question, Page):
            question = self._noted(question)
        self._questions += 1
        for clock in self._running:
            clock.stop()
        scope = anyio.CancelScope()
        if self._running:
            self._asked.add(scope)
        try:
            with scope:
                return await self._elicitor.ask(question)
            return TAKEN_BACK
        finally:
            self._asked.discard(scope)
            self._questions -= 1
            if not self._questions:
                for clock in self._running:
                    clock.wind()

    async def complete(self, page_id: str) -> None:
        """Report that a URL elicitation is complete, once; `page_id` is the server's own id."""
        ours = self._pages.pop(page_id, None)
        if ours is not None:
            await self._elicitor.complete(ours)

    def _noted(self, page: Page) -> Page:
        """Return a page with a new id: different servers can use the same ids."""
        ours = uuid4().hex
        self._pages[page.id] = ours
        if len(self._pages) > MOST_PAGES:
            del self._pages[next(iter(self._pages))]
        return replace(page, id=ours)

    def _take_back(self) -> None:
        """Cancel the questions that were asked during calls: no call needs the answers."""
        for scope in self._asked:
            scope.cancel()
