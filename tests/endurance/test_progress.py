"""What counts as a stuck server: one that sleeps, not one that gets no processor."""

import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import count

import anyio
import psutil
import pytest

from tests.endurance import progress
from tests.endurance.progress import ProgressWatch, StuckError, wait_for_exit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stops processes by signals")

SAMPLE_SECONDS = 0.002
SLEEP = "import time; time.sleep(600)"
WORK = "while True: pass"


@contextmanager
def running(*code: str) -> Generator[list[subprocess.Popen[bytes]]]:
    processes = [subprocess.Popen([sys.executable, "-S", "-c", each]) for each in code]
    try:
        yield processes
    finally:
        for each in processes:
            each.kill()
            each.wait()


async def wait_until_asleep(process_id: int) -> None:
    while not progress.read_activity(process_id).is_asleep:  # noqa: ASYNC110  no event for it
        await anyio.sleep(SAMPLE_SECONDS)


def watch(process_id: int, requests: Sequence[str] = ("1: session/prompt",)) -> ProgressWatch:
    return ProgressWatch(process_id, lambda: requests, lambda: 0, SAMPLE_SECONDS)


async def test_a_server_that_sleeps_on_a_request_is_stuck() -> None:
    with running(SLEEP) as (server,):
        await wait_until_asleep(server.pid)
        with pytest.raises(
            StuckError, match=r"the server sleeps, but has not answered: .*session/prompt"
        ):
            await watch(server.pid).run()


async def test_a_server_that_works_on_one_request_without_an_end_is_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "MAX_PROCESSOR_SECONDS", 0.05)
    with (
        running(WORK) as (server,),
        pytest.raises(StuckError, match="works without an end on: 1: session/prompt"),
    ):
        await watch(server.pid).run()


async def test_a_server_that_gets_no_processor_answers_or_was_not_asked_is_not_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stopped process stands for one that gets no processor: neither sleeps."""
    monkeypatch.setattr(progress, "IDLE_SAMPLES", 3)
    messages = count()
    with running(*[SLEEP] * 4) as (stopped, talking, unasked, silent):
        for each in (stopped, talking, unasked, silent):
            await wait_until_asleep(each.pid)
        stopped.send_signal(signal.SIGSTOP)
        talk = ProgressWatch(
            talking.pid, lambda: ["1: session/prompt"], lambda: next(messages), SAMPLE_SECONDS
        )
        async with anyio.create_task_group() as tasks:
            for each in (watch(stopped.pid), talk, watch(unasked.pid, ())):
                tasks.start_soon(each.run)
            with pytest.raises(StuckError):  # it is looked at last and as often
                await watch(silent.pid).run()
            tasks.cancel_scope.cancel()


async def test_the_watch_ends_with_its_server() -> None:
    with running("") as (server,):
        await watch(server.pid).run()
        assert server.wait() == 0


async def test_processes_that_stay_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EXIT_POLLS", 3)
    monkeypatch.setattr(progress, "POLL_SECONDS", SAMPLE_SECONDS)
    with running(SLEEP, "") as processes:
        staying, ended = (psutil.Process(each.pid) for each in processes)
        assert await wait_for_exit([staying, ended], staying=1) == [staying]
        assert await wait_for_exit([staying]) == [staying]
