"""The queue of a session's turns, what becomes of a cancelled one, and its gate."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from acp_server.session.turn_queue import (
    GRACE_SECONDS,
    QueuedPrompt,
    RevocableSink,
    TurnJob,
    TurnQueue,
)
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import StopReason, TurnSink
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.turn.fake_sinks import BlockedSink, MemorySink

Doing = Callable[[TurnSink], Awaitable[StopReason]]


class Queue:
    """A queue under test: runs turns in tasks and notes down what became of them, in order."""

    def __init__(self) -> None:
        self.turns = TurnQueue()
        self.sink = MemorySink()
        self.log: list[str] = []

    async def run(self, name: str, ticket: QueuedPrompt, work: Doing) -> None:
        """Run a turn and note its outcome."""
        try:
            reason = await self.turns.run(
                ticket,
                self.sink,
                TurnJob(
                    work,
                    flush=lambda: self.log.append(f"{name} settled"),
                    abandon=lambda: self.log.append(f"{name} abandoned"),
                ),
            )
        except ModelFailedError as error:
            self.log.append(f"{name} failed: {error.reason}")
        else:
            self.log.append(f"{name} {reason}")

    def says(self, name: str) -> Doing:
        """A turn that notes that it runs, and ends."""

        async def work(sink: TurnSink) -> StopReason:
            self.log.append(f"{name} runs")
            await sink.emit(MessageChunk("m", name))
            return "end_turn"

        return work

    def is_blocked(self, name: str) -> Doing:
        """A turn that notes that it runs, and waits to be cancelled."""

        async def work(sink: TurnSink) -> StopReason:
            del sink
            self.log.append(f"{name} runs")
            await anyio.sleep_forever()
            return "end_turn"

        return work

    def ignores_cancelling(self, name: str, may_end: anyio.Event) -> Doing:
        """A turn that cannot be cancelled, and says something after it was told to end."""

        async def work(sink: TurnSink) -> StopReason:
            self.log.append(f"{name} runs")
            with anyio.move_on_after(HANG_TIMEOUT_SECONDS, shield=True):
                await may_end.wait()
                await sink.emit(MessageChunk("m", f"{name} too late"))
            return "end_turn"

        return work


async def test_only_the_first_ticket_is_next() -> None:
    turns = TurnQueue()
    first, second = turns.enqueue(), turns.enqueue()
    assert (first.is_next.is_set(), second.is_next.is_set()) == (True, False)


async def test_turns_run_in_the_order_of_their_tickets_whoever_comes_first() -> None:
    queue = Queue()
    one, two, three = (queue.turns.enqueue() for _ in range(3))
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "three", three, queue.says("three"))
            tasks.start_soon(queue.run, "two", two, queue.says("two"))
            tasks.start_soon(queue.run, "one", one, queue.says("one"))
    assert queue.log == [
        "one runs",
        "one end_turn",
        "two runs",
        "two end_turn",
        "three runs",
        "three end_turn",
    ]
    assert queue.sink.text == "onetwothree"


async def test_a_ticket_that_is_cancelled_before_its_turn_never_runs() -> None:
    queue = Queue()
    ticket = queue.turns.enqueue()
    ticket.cancel()
    await queue.run("one", ticket, queue.says("one"))
    assert queue.log == ["one cancelled"]


async def test_a_waiting_ticket_can_be_cancelled_alone() -> None:
    queue = Queue()
    one, two, three = (queue.turns.enqueue() for _ in range(3))
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.is_blocked("one"))
            tasks.start_soon(queue.run, "two", two, queue.says("two"))
            tasks.start_soon(queue.run, "three", three, queue.says("three"))
            await anyio.wait_all_tasks_blocked()
            two.cancel()
            await two.is_done.wait()
            await anyio.wait_all_tasks_blocked()
            assert queue.log == ["one runs", "two cancelled"]
            one.cancel()
    assert queue.log == [
        "one runs",
        "two cancelled",
        "one cancelled",
        "three runs",
        "three end_turn",
    ]


async def test_cancelling_all_stops_the_running_and_the_waiting_and_not_the_next() -> None:
    queue = Queue()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.is_blocked("one"))
            tasks.start_soon(queue.run, "two", two, queue.says("two"))
            await anyio.wait_all_tasks_blocked()
            queue.turns.cancel_all()
            three = queue.turns.enqueue()
            tasks.start_soon(queue.run, "three", three, queue.says("three"))
    assert sorted(queue.log[:3]) == ["one cancelled", "one runs", "two cancelled"]
    assert queue.log[3:] == ["three runs", "three end_turn"]


def test_cancelling_all_of_nothing_is_nothing() -> None:
    TurnQueue().cancel_all()


async def test_a_turn_that_fails_raises_its_own_error_and_the_next_one_runs() -> None:
    cause = OSError("unplugged")
    error = ModelFailedError("the endpoint is down")
    turns = TurnQueue()
    ticket, following = turns.enqueue(), turns.enqueue()

    async def fail(sink: TurnSink) -> StopReason:
        del sink
        raise error from cause

    with pytest.raises(ModelFailedError) as raised:
        await turns.run(ticket, MemorySink(), TurnJob(fail, ended, ended))
    assert (raised.value, raised.value.__cause__) == (error, cause)
    assert following.is_next.is_set()


async def test_a_turn_that_breaks_raises_its_own_error_too_not_a_group_of_one() -> None:
    turns = TurnQueue()

    async def divide(sink: TurnSink) -> StopReason:
        del sink
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await turns.run(turns.enqueue(), MemorySink(), TurnJob(divide, ended, ended))


async def test_a_turn_that_fails_because_it_was_cancelled_is_cancelled() -> None:
    queue = Queue()

    async def fail_when_cancelled(sink: TurnSink) -> StopReason:
        del sink
        try:
            await anyio.sleep_forever()
            return "end_turn"
        finally:
            raise ModelFailedError("cut off")

    ticket = queue.turns.enqueue()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.run, "one", ticket, fail_when_cancelled)
        await anyio.wait_all_tasks_blocked()
        ticket.cancel()
    assert queue.log == ["one cancelled"]


async def test_a_turn_that_swallows_being_cancelled_and_ends_is_cancelled() -> None:
    queue = Queue()

    async def swallow(sink: TurnSink) -> StopReason:
        with anyio.move_on_after(HANG_TIMEOUT_SECONDS, shield=True):
            await ticket.is_cancelled.wait()
            await sink.emit(MessageChunk("m", "a last word"))
        return "end_turn"

    ticket = queue.turns.enqueue()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.run, "one", ticket, swallow)
        await anyio.wait_all_tasks_blocked()
        ticket.cancel()
    assert (queue.log, queue.sink.text) == (["one cancelled"], "a last word")


def test_the_time_that_a_cancelled_turn_has_leaves_some_for_its_answer() -> None:
    assert GRACE_SECONDS < 0.3


async def test_a_turn_that_does_not_end_is_abandoned_once_and_the_next_one_runs() -> None:
    queue, may_end = Queue(), anyio.Event()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.ignores_cancelling("one", may_end))
            tasks.start_soon(queue.run, "two", two, queue.says("two"))
            await anyio.wait_all_tasks_blocked()
            one.cancel()
            await two.is_done.wait()
            one.cancel()
            may_end.set()
    assert queue.log == [
        "one runs",
        "one settled",
        "one abandoned",
        "two runs",
        "two end_turn",
        "one cancelled",
    ]
    assert queue.sink.text == "two"


async def test_waiting_for_idleness_waits_for_every_turn_so_far_and_for_no_later_one() -> None:
    queue, may_end, is_idle = Queue(), anyio.Event(), anyio.Event()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()

    async def wait() -> None:
        await queue.turns.wait_until_idle()
        is_idle.set()

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.ignores_cancelling("one", may_end))
            tasks.start_soon(queue.run, "two", two, queue.says("two"))
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            three = queue.turns.enqueue()
            tasks.start_soon(queue.run, "three", three, queue.is_blocked("three"))
            two.cancel()
            await two.is_done.wait()
            assert not is_idle.is_set()
            one.cancel()
            await is_idle.wait()
            assert not three.is_done.is_set()
            may_end.set()
            three.cancel()


async def test_an_idle_queue_is_idle() -> None:
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        await TurnQueue().wait_until_idle()


async def test_a_turn_whose_task_is_cancelled_from_outside_makes_room_for_the_next() -> None:
    queue = Queue()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.run, "one", one, queue.is_blocked("one"))
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert queue.log == ["one runs"]
    assert (one.is_done.is_set(), two.is_next.is_set()) == (True, True)


# The gate.


async def test_a_gate_passes_everything_on_until_it_is_shut() -> None:
    sink = MemorySink()
    gate = RevocableSink(sink)
    await gate.emit(MessageChunk("m", "before"))
    gate.is_open = False
    await gate.emit(MessageChunk("m", "after"))
    assert sink.events == [MessageChunk("m", "before")]


async def test_what_waits_for_a_slow_reader_when_the_gate_is_shut_is_dropped() -> None:
    sink = BlockedSink()
    gate = RevocableSink(sink)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(gate.emit, MessageChunk("m", "waiting"))
            await sink.wait_started.wait()
            gate.is_open = False
            sink.opened.set()
    assert sink.events == []


async def test_what_must_be_shown_now_does_not_wait_and_does_not_pass_a_shut_gate() -> None:
    sink = BlockedSink()
    gate = RevocableSink(sink)
    gate.emit_now(MessageChunk("m", "now"))
    gate.is_open = False
    gate.emit_now(MessageChunk("m", "late"))
    assert sink.events == [MessageChunk("m", "now")]
    assert not sink.wait_started.is_set()


async def test_a_shut_gate_does_not_wait() -> None:
    sink = BlockedSink()
    gate = RevocableSink(sink)
    gate.is_open = False
    await gate.emit(MessageChunk("m", "late"))
    assert not sink.wait_started.is_set()


def ended() -> None:
    pytest.fail("a turn was settled or abandoned that had ended")
