"""One reading for all who ask at the same time: who shares which, and what becomes of failures."""

import threading
from collections.abc import Hashable

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from acp_server.session.prompting.single_flight import SingleFlight
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


class SingleFlightHarness:
    """Reads numbers, one after the other, each when it is let."""

    def __init__(self) -> None:
        self.readings = SingleFlight[int]()
        self.started_reads = 0
        self.may_end = threading.Semaphore(0)
        self.failures: list[Exception] = []
        self.got: list[int] = []

    async def run(self, key: Hashable = "the same") -> None:
        """Ask, and keep what comes."""
        self.got.append(await self.readings.run(key, self.read))

    def read(self) -> int:
        """Return how many readings there were."""
        self.started_reads += 1
        number = self.started_reads
        assert self.may_end.acquire(timeout=HANG_TIMEOUT_SECONDS)
        if self.failures:
            raise self.failures.pop()
        return number

    async def wait_until_started(self, count: int) -> None:
        """Wait until so many readings have begun."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while self.started_reads < count:
                await to_thread.run_sync(bool)
                await anyio.lowlevel.checkpoint()

    def let(self, count: int) -> None:
        """Let readings end."""
        self.may_end.release(count)


async def test_concurrent_readers_share_one_read() -> None:
    harness = SingleFlightHarness()
    harness.let(1)
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(harness.run)
    assert harness.got == [1] * 50


async def test_a_caller_that_arrives_during_a_read_gets_the_next_one() -> None:
    harness = SingleFlightHarness()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.run)
        await harness.wait_until_started(1)
        for _ in range(3):
            tasks.start_soon(harness.run)
        await anyio.wait_all_tasks_blocked()
        harness.let(2)
    assert harness.got == [1, 2, 2, 2]


async def test_reads_with_different_keys_do_not_wait_for_each_other() -> None:
    harness = SingleFlightHarness()
    async with anyio.create_task_group() as tasks:
        for key in ("one", "two", "two"):
            tasks.start_soon(harness.run, key)
        await harness.wait_until_started(2)
        harness.let(2)
    assert sorted(harness.got) in ([1, 1, 2], [1, 2, 2])


async def test_a_failure_is_raised_to_one_caller_and_another_one_retries() -> None:
    harness = SingleFlightHarness()
    harness.failures.append(OSError("no disk"))
    harness.let(2)
    failed: list[str] = []

    async def ask() -> None:
        try:
            await harness.run()
        except OSError as error:
            failed.append(str(error))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask)
    assert (failed, harness.got) == (["no disk"], [2, 2])


@pytest.mark.parametrize("has_begun", [False, True], ids=["while it waits", "while it reads"])
async def test_a_cancelled_caller_does_not_cancel_the_read_of_the_others(
    *, has_begun: bool
) -> None:
    harness, scope = SingleFlightHarness(), anyio.CancelScope()

    async def ask_in_scope() -> None:
        with scope:
            await harness.readings.run("the same", harness.read)

    async with anyio.create_task_group() as tasks:
        if not has_begun:
            tasks.start_soon(harness.run)
            await harness.wait_until_started(1)
        tasks.start_soon(ask_in_scope)
        await harness.wait_until_started(1)
        tasks.start_soon(harness.run)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        harness.let(3)
    assert len(harness.got) == 2 - has_begun


async def test_results_are_not_cached() -> None:
    harness = SingleFlightHarness()
    harness.let(2)
    await harness.run()
    await harness.run()
    assert harness.got == [1, 2]
