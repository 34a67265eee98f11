"""The turn queue of one session: one turn runs, the others wait in the order of their prompts.

A prompt is enqueued the moment it is read, before any task runs, so that a cancel that follows
immediately finds it. A cancelled turn gets a short grace period to finish. A turn that ignores its
cancellation is abandoned: its prompt is answered, its events are dropped, the next prompt runs.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.errors import TurnError
from acp_server.turn.events import Event
from acp_server.turn.ports import Sink, StopReason

GRACE_SECONDS = 0.2


class Ticket:
    """A prompt's place in the queue; cancels the prompt in any state."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.is_next = anyio.Event()
        self.is_cancelled = anyio.Event()
        self.is_over = anyio.Event()

    def cancel(self) -> None:
        """Stop waiting or running. The prompt is answered with `cancelled`."""
        # The scope only interrupts the job; the event wakes the watcher that may abandon it.
        self.is_cancelled.set()
        self.scope.cancel()


class Screen(Protocol):
    """Receives a session's events."""

    async def ready(self) -> None:
        """Wait while the client is slow. An event shown right after returning keeps its order."""
        ...

    def show(self, event: Event) -> None:
        """Show an event immediately, regardless of the amount of unsent output."""
        ...


class Gate:
    """A sink that drops events after its turn is abandoned.

    This includes events that were waiting for a slow client: they would appear after the response.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.is_open = True

    async def emit(self, event: Event) -> None:
        """Forward the event unless the turn was abandoned."""
        if self.is_open:
            await self._screen.ready()
        self.emit_now(event)  # checks again: the gate may have been closed during the wait

    def emit_now(self, event: Event) -> None:
        """Forward the event immediately unless the turn was abandoned."""
        if self.is_open:
            self._screen.show(event)


@frozen
class Work:
    """A queued prompt's job, and its clean-up if it does not end."""

    run: Callable[[Sink], Awaitable[StopReason]]
    settle: Callable[[], None]
    """Records unfinished work before the next turn starts."""
    abandon: Callable[[], None]
    """Answers the prompt without waiting for the job."""


class TurnQueue:
    """The queued prompts of one session, first in, first out."""

    def __init__(self) -> None:
        self._tickets: deque[Ticket] = deque()

    def admit(self) -> Ticket:
        """Enqueue a prompt."""
        # Synchronous on purpose: no cancel can slip in between reading and enqueueing a prompt.
        ticket = Ticket()
        self._tickets.append(ticket)
        self._let_first_run()
        return ticket

    def cancel_all(self) -> None:
        """Cancel the running prompt and all waiting ones."""
        # A copy: cancelling may release a ticket, which changes the queue during the iteration.
        for ticket in tuple(self._tickets):
            ticket.cancel()

    @property
    def is_empty(self) -> bool:
        """Whether no prompt is running or waiting."""
        return not self._tickets

    async def wait_until_idle(self) -> None:
        """Wait until every prompt queued so far has ended."""
        # Only prompts queued by now: with later ones a busy client could keep this from returning.
        for ticket in tuple(self._tickets):
            await ticket.is_over.wait()

    async def run(self, ticket: Ticket, screen: Screen, work: Work) -> StopReason:
        """Wait for the prompt's place, then run its job; return `cancelled` if it was cancelled.

        Raises:
            TurnError: raised by the job, unless it was cancelled.
        """
        gate = Gate(screen)
        reason: StopReason = "cancelled"
        try:
            # The watcher runs outside the ticket's scope, or a cancel would stop it together with
            # the job.
            async with anyio.create_task_group() as watch:
                watch.start_soon(self._give_up, ticket, gate, work)
                with ticket.scope:
                    await ticket.is_next.wait()
                    reason = await _undisturbed(work.run(gate), ticket)
                watch.cancel_scope.cancel()  # the job ended in time: stop the watcher
        except ExceptionGroup as group:
            # The task group wraps the job's error; callers expect the bare TurnError.
            failure = group.exceptions[0]
            raise failure from failure.__cause__
        finally:
            self._release(ticket)  # after an abandoned turn this is the second, harmless call
        # Even a job that completed despite its cancel: ACP demands `cancelled` as the answer.
        return "cancelled" if ticket.is_cancelled.is_set() else reason

    async def _give_up(self, ticket: Ticket, gate: Gate, work: Work) -> None:
        """Abandon the turn if it has not ended some time after its cancellation."""
        await ticket.is_cancelled.wait()
        await anyio.sleep(GRACE_SECONDS)
        # The order matters. Settle while the gate is open, so that unfinished calls are shown as
        # failed; close the gate, so that nothing follows the response; answer; let the next run.
        work.settle()
        gate.is_open = False
        work.abandon()
        self._release(ticket)

    def _release(self, ticket: Ticket) -> None:
        ticket.is_over.set()
        if ticket in self._tickets:  # an abandoned turn was removed before
            self._tickets.remove(ticket)
        self._let_first_run()

    def _let_first_run(self) -> None:
        if self._tickets:
            self._tickets[0].is_next.set()


async def _undisturbed(turn: Awaitable[StopReason], ticket: Ticket) -> StopReason:
    """Await a turn; an error caused by its cancellation is not a failure."""
    try:
        return await turn
    except TurnError:
        if ticket.is_cancelled.is_set():
            return "cancelled"
        raise  # a real failure: reported as an error response
