"""How long a call may go on: a while without a word, and not while a user is asked."""

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import anyio

from acp_server.mcp.ports import Limits
from acp_server.session.elicitation import Answer, Elicitor, Form, Page

TAKEN_BACK = Answer("cancel")
MOST_PAGES = 100
"""Of one server, of which it can tell later that they have done their work."""


class Clock:
    """The time of one call."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._latest = anyio.current_time() + limits.most_call_seconds
        self.scope = anyio.CancelScope()
        self.wind()

    def wind(self) -> None:
        """Begin the wait anew, for there was a word."""
        self.scope.deadline = min(anyio.current_time() + self._limits.call_seconds, self._latest)

    def stop(self) -> None:
        """Let the wait rest."""
        self.scope.deadline = math.inf


class Clocks:
    """The times of all calls that run at one server, and of the questions that it asks."""

    def __init__(self, limits: Limits, elicitor: Elicitor) -> None:
        self._limits = limits
        self._elicitor = elicitor
        self._running: set[Clock] = set()
        self._questions = 0
        self._asked: set[anyio.CancelScope] = set()
        self._pages: dict[str, str] = {}
        """Pages that the user was asked to visit: the server's ids and, for each, ours."""

    @contextmanager
    def timed(self) -> Generator[Clock]:
        """Give a call its time; what is done in it is cancelled when that is over."""
        clock = Clock(self._limits)
        if self._questions:
            clock.stop()
        self._running.add(clock)
        try:
            with clock.scope:
                yield clock
        finally:
            self._running.discard(clock)
            if not self._running:
                self._take_back()

    @property
    def can_ask(self) -> bool:
        """Whether there is anybody to ask."""
        return self._elicitor.can_ask

    async def ask(self, question: Form | Page) -> Answer:
        """Ask; a person may take as long as they like. Which call it is for, nobody knows."""
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
        """Tell that a page has done its work, once; `page_id` is the server's own."""
        ours = self._pages.pop(page_id, None)
        if ours is not None:
            await self._elicitor.complete(ours)

    def _noted(self, page: Page) -> Page:
        """Return a page under an id of ours: servers may use the same ones."""
        ours = uuid4().hex
        self._pages[page.id] = ours
        if len(self._pages) > MOST_PAGES:
            del self._pages[next(iter(self._pages))]
        return replace(page, id=ours)

    def _take_back(self) -> None:
        """Take back the questions that came up while calls ran: nobody waits for an answer."""
        for scope in self._asked:
            scope.cancel()
