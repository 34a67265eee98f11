"""The turns of one session: one runs, the others wait in the order of their prompts.

A ticket is taken the moment a prompt is read, before any task runs, so that a cancel right behind
it finds it. A cancelled turn gets a short time to come to its end; a turn that ignores being
cancelled is abandoned: its answer is given, its events go nowhere, the next prompt runs.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from acp_server.frozen import frozen
from acp_server.turn.errors import TurnError
from acp_server.turn.events import Event
from acp_server.turn.ports import Sink, StopReason

GRACE_SECONDS = 0.2


class Ticket:
    """A prompt's place in the queue, and the means to cancel it wherever it stands."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.is_next = anyio.Event()
        self.is_cancelled = anyio.Event()
        self.is_over = anyio.Event()

    def cancel(self) -> None:
        """Stop waiting or running. The prompt is answered `cancelled`."""
        self.is_cancelled.set()
        self.scope.cancel()


class Screen(Protocol):
    """Where a session's events are shown."""

    async def ready(self) -> None:
        """Wait while the user's side is slow; an event shown right then overtakes nobody."""
        ...

    def show(self, event: Event) -> None:
        """Show an event at once, however much is unsent."""
        ...


class Gate:
    """A turn's sink, which can be shut: nothing comes through once the turn was given up.

    Not even what waited for a slow reader when it was shut: it would come out behind the answer.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.is_open = True

    async def emit(self, event: Event) -> None:
        """Pass the event on, unless the turn was given up."""
        if self.is_open:
            await self._screen.ready()
        self.emit_now(event)

    def emit_now(self, event: Event) -> None:
        """Pass the event on at once, unless the turn was given up."""
        if self.is_open:
            self._screen.show(event)


@frozen
class Work:
    """What a ticket is for, and what to do when it does not end."""

    run: Callable[[Sink], Awaitable[StopReason]]
    settle: Callable[[], None]
    """Writes down what is half done, before the next turn begins."""
    abandon: Callable[[], None]
    """Answers without waiting any longer."""


class TurnQueue:
    """The tickets of one session, first come first served."""

    def __init__(self) -> None:
        self._tickets: deque[Ticket] = deque()

    def admit(self) -> Ticket:
        """Take a place at the end of the queue."""
        ticket = Ticket()
        self._tickets.append(ticket)
        self._let_first_run()
        return ticket

    def cancel_all(self) -> None:
        """Cancel the running prompt and every waiting one."""
        for ticket in tuple(self._tickets):
            ticket.cancel()

    @property
    def is_empty(self) -> bool:
        """Whether no prompt runs or waits."""
        return not self._tickets

    async def wait_until_idle(self) -> None:
        """Wait until every prompt admitted so far is over."""
        for ticket in tuple(self._tickets):
            await ticket.is_over.wait()

    async def run(self, ticket: Ticket, screen: Screen, work: Work) -> StopReason:
        """Wait for the ticket's place, then do its work; `cancelled` if that came first.

        Raises:
            TurnError: as the work does, unless it was cancelled.
        """
        gate = Gate(screen)
        reason: StopReason = "cancelled"
        try:
            async with anyio.create_task_group() as watch:
                watch.start_soon(self._give_up, ticket, gate, work)
                with ticket.scope:
                    await ticket.is_next.wait()
                    reason = await _undisturbed(work.run(gate), ticket)
                watch.cancel_scope.cancel()
        except ExceptionGroup as group:  # so a task group raises what its body raised
            failure = group.exceptions[0]
            raise failure from failure.__cause__
        finally:
            self._release(ticket)
        return "cancelled" if ticket.is_cancelled.is_set() else reason

    async def _give_up(self, ticket: Ticket, gate: Gate, work: Work) -> None:
        """Some time after a cancel, go on without a turn that does not end."""
        await ticket.is_cancelled.wait()
        await anyio.sleep(GRACE_SECONDS)
        work.settle()
        gate.is_open = False
        work.abandon()
        self._release(ticket)

    def _release(self, ticket: Ticket) -> None:
        ticket.is_over.set()
        if ticket in self._tickets:
            self._tickets.remove(ticket)
        self._let_first_run()

    def _let_first_run(self) -> None:
        if self._tickets:
            self._tickets[0].is_next.set()


async def _undisturbed(turn: Awaitable[StopReason], ticket: Ticket) -> StopReason:
    """Await a turn; what goes wrong because it is being cancelled is not a failure."""
    try:
        return await turn
    except TurnError:
        if ticket.is_cancelled.is_set():
            return "cancelled"
        raise
