"""The queue of a session's turns, what becomes of a cancelled one, and its gate."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from acp_server.session import turn_queue
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


class TurnQueueHarness:
    """A queue under test: runs turns in tasks and notes down what became of them, in order."""

    def __init__(self) -> None:
        self.turns = TurnQueue()
        self.sink = MemorySink()
        self.log: list[str] = []
        self.is_answerable: anyio.Event | None = None
        self.is_flushed = anyio.Event()

    def _flush(self, name: str) -> None:
        self.log.append(f"{name} settled")
        self.is_flushed.set()

    async def run(self, name: str, ticket: QueuedPrompt, work: Doing) -> None:
        """Run a turn and note its outcome."""
        try:
            reason = await self.turns.run(
                ticket,
                RevocableSink(self.sink),
                TurnJob(
                    work,
                    flush=lambda: self._flush(name),
                    abandon=lambda: self.log.append(f"{name} abandoned"),
                    is_answerable=self.is_answerable,
                ),
            )
        except ModelFailedError as error:
            self.log.append(f"{name} failed: {error.reason}")
        else:
            self.log.append(f"{name} {reason}")

    def logs_name(self, name: str) -> Doing:
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


async def test_only_the_first_queued_prompt_is_next() -> None:
    turns = TurnQueue()
    first, second = turns.enqueue(), turns.enqueue()
    assert (first.is_next.is_set(), second.is_next.is_set()) == (True, False)


async def test_turns_run_in_queue_order_regardless_of_arrival() -> None:
    queue = TurnQueueHarness()
    one, two, three = (queue.turns.enqueue() for _ in range(3))
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "three", three, queue.logs_name("three"))
            tasks.start_soon(queue.run, "two", two, queue.logs_name("two"))
            tasks.start_soon(queue.run, "one", one, queue.logs_name("one"))
    assert queue.log == [
        "one runs",
        "one end_turn",
        "two runs",
        "two end_turn",
        "three runs",
        "three end_turn",
    ]
    assert queue.sink.text == "onetwothree"


async def test_a_queued_prompt_cancelled_before_its_turn_never_runs() -> None:
    queue = TurnQueueHarness()
    ticket = queue.turns.enqueue()
    ticket.cancel()
    await queue.run("one", ticket, queue.logs_name("one"))
    assert queue.log == ["one cancelled"]


async def test_a_queued_prompt_can_be_cancelled_alone() -> None:
    queue = TurnQueueHarness()
    one, two, three = (queue.turns.enqueue() for _ in range(3))
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.is_blocked("one"))
            tasks.start_soon(queue.run, "two", two, queue.logs_name("two"))
            tasks.start_soon(queue.run, "three", three, queue.logs_name("three"))
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


async def test_cancelling_all_stops_running_and_queued_turns_but_not_later_ones() -> None:
    queue = TurnQueueHarness()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.is_blocked("one"))
            tasks.start_soon(queue.run, "two", two, queue.logs_name("two"))
            await anyio.wait_all_tasks_blocked()
            queue.turns.cancel_all()
            three = queue.turns.enqueue()
            tasks.start_soon(queue.run, "three", three, queue.logs_name("three"))
    assert sorted(queue.log[:3]) == ["one cancelled", "one runs", "two cancelled"]
    assert queue.log[3:] == ["three runs", "three end_turn"]


def test_cancelling_all_of_an_empty_queue_does_nothing() -> None:
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
        await turns.run(ticket, RevocableSink(MemorySink()), TurnJob(fail, ended, ended))
    assert (raised.value, raised.value.__cause__) == (error, cause)
    assert following.is_next.is_set()


async def test_a_crashed_turn_raises_its_own_error_instead_of_an_exception_group() -> None:
    turns = TurnQueue()

    async def divide(sink: TurnSink) -> StopReason:
        del sink
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await turns.run(turns.enqueue(), RevocableSink(MemorySink()), TurnJob(divide, ended, ended))


async def test_a_turn_that_fails_because_it_was_cancelled_is_cancelled() -> None:
    queue = TurnQueueHarness()

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


async def test_a_turn_that_swallows_its_cancellation_is_cancelled() -> None:
    queue = TurnQueueHarness()

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


def test_the_cancellation_grace_period_is_short_enough() -> None:
    assert GRACE_SECONDS < 0.3


async def test_a_turn_that_does_not_end_is_abandoned_once_and_the_next_one_runs() -> None:
    queue, may_end = TurnQueueHarness(), anyio.Event()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.ignores_cancelling("one", may_end))
            tasks.start_soon(queue.run, "two", two, queue.logs_name("two"))
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


# A cancelled prompt that may not be answered yet.


@pytest.fixture
def long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let events alone end the wait for the answer, however slow the machine is."""
    monkeypatch.setattr(turn_queue, "SETTLE_SECONDS", HANG_TIMEOUT_SECONDS)


@pytest.mark.usefixtures("long_wait")
async def test_a_cancelled_prompt_is_answered_once_it_may_be() -> None:
    queue = TurnQueueHarness()
    queue.is_answerable = anyio.Event()
    ticket = queue.turns.enqueue()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", ticket, queue.is_blocked("one"))
            await anyio.wait_all_tasks_blocked()
            ticket.cancel()
            await anyio.wait_all_tasks_blocked()
            assert (queue.log, ticket.is_done.is_set()) == (["one runs"], False)
            queue.is_answerable.set()
    assert queue.log == ["one runs", "one cancelled"]


@pytest.mark.usefixtures("long_wait")
async def test_an_abandoned_prompt_is_answered_once_it_may_be() -> None:
    queue, may_end = TurnQueueHarness(), anyio.Event()
    queue.is_answerable = anyio.Event()
    ticket = queue.turns.enqueue()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", ticket, queue.ignores_cancelling("one", may_end))
            await anyio.wait_all_tasks_blocked()
            ticket.cancel()
            await queue.is_flushed.wait()
            await anyio.wait_all_tasks_blocked()
            assert queue.log == ["one runs", "one settled"]
            queue.is_answerable.set()
            await ticket.is_done.wait()
            may_end.set()
    assert queue.log == ["one runs", "one settled", "one abandoned", "one cancelled"]
    assert queue.sink.text == ""


@pytest.mark.usefixtures("long_wait")
@pytest.mark.parametrize("end", [TurnQueue.cancel_all, TurnQueue.close])
async def test_a_second_cancel_or_a_close_ends_the_wait_for_the_answer(
    end: Callable[[TurnQueue], None],
) -> None:
    queue = TurnQueueHarness()
    queue.is_answerable = anyio.Event()
    ticket = queue.turns.enqueue()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", ticket, queue.is_blocked("one"))
            await anyio.wait_all_tasks_blocked()
            queue.turns.cancel_all()
            await anyio.wait_all_tasks_blocked()
            assert not ticket.is_done.is_set()
            end(queue.turns)
            await ticket.is_done.wait()
    assert queue.log == ["one runs", "one cancelled"]


@pytest.mark.usefixtures("long_wait")
async def test_prompts_of_a_closing_queue_are_answered_without_a_wait() -> None:
    queue = TurnQueueHarness()
    queue.is_answerable = anyio.Event()
    ticket = queue.turns.enqueue()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.run, "one", ticket, queue.is_blocked("one"))
        await anyio.wait_all_tasks_blocked()
        queue.turns.close()
        await anyio.wait_all_tasks_blocked()
        assert queue.log == ["one runs", "one cancelled"]


async def test_the_wait_for_the_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_queue, "SETTLE_SECONDS", 0)
    queue = TurnQueueHarness()
    queue.is_answerable = anyio.Event()
    ticket = queue.turns.enqueue()
    ticket.cancel()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        await queue.run("one", ticket, queue.logs_name("one"))
    assert queue.log == ["one cancelled"]


async def test_waiting_until_idle_covers_queued_turns_but_no_later_one() -> None:
    queue, may_end, is_idle = TurnQueueHarness(), anyio.Event(), anyio.Event()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()

    async def wait() -> None:
        await queue.turns.wait_until_idle()
        is_idle.set()

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, "one", one, queue.ignores_cancelling("one", may_end))
            tasks.start_soon(queue.run, "two", two, queue.logs_name("two"))
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


async def test_a_turn_whose_task_is_cancelled_externally_lets_the_next_run() -> None:
    queue = TurnQueueHarness()
    one, two = queue.turns.enqueue(), queue.turns.enqueue()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.run, "one", one, queue.is_blocked("one"))
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert queue.log == ["one runs"]
    assert (one.is_done.is_set(), two.is_next.is_set()) == (True, True)


# The gate.


async def test_a_sink_passes_events_until_it_is_revoked() -> None:
    sink = MemorySink()
    revocable = RevocableSink(sink)
    await revocable.emit(MessageChunk("m", "before"))
    revocable.is_open = False
    await revocable.emit(MessageChunk("m", "after"))
    assert sink.events == [MessageChunk("m", "before")]


async def test_events_blocked_on_a_slow_reader_are_dropped_when_the_sink_is_revoked() -> None:
    sink = BlockedSink()
    revocable = RevocableSink(sink)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(revocable.emit, MessageChunk("m", "waiting"))
            await sink.wait_started.wait()
            revocable.is_open = False
            sink.opened.set()
    assert sink.events == []


async def test_an_immediate_event_does_not_wait_and_is_dropped_by_a_revoked_sink() -> None:
    sink = BlockedSink()
    revocable = RevocableSink(sink)
    revocable.emit_now(MessageChunk("m", "now"))
    revocable.is_open = False
    revocable.emit_now(MessageChunk("m", "late"))
    assert sink.events == [MessageChunk("m", "now")]
    assert not sink.wait_started.is_set()


async def test_a_revoked_sink_does_not_block() -> None:
    sink = BlockedSink()
    revocable = RevocableSink(sink)
    revocable.is_open = False
    await revocable.emit(MessageChunk("m", "late"))
    assert not sink.wait_started.is_set()


def ended() -> None:
    pytest.fail("a turn was settled or abandoned that had ended")
