"""Runs a command's coroutine and cancels it when the process receives a termination signal."""

import signal
from collections.abc import Awaitable, Callable

import anyio

from acp_server.cli.shutdown_signals import Endings
from acp_server.headless.errors import ungrouped

ENDINGS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
ENDED_BY_SIGNAL = 128


def run(work: Callable[[], Awaitable[int]]) -> int:
    """Run a coroutine function; return its exit code, or 128 + N if signal N cancelled it.

    SIGHUP (a closed terminal) and SIGTERM cancel the work as Ctrl-C does, so that child processes
    are stopped and temporary directories removed.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the work has cleaned up.
    """
    return anyio.run(_until_signal, work)


async def _until_signal(work: Callable[[], Awaitable[int]]) -> int:
    exit_code = 0
    endings: list[int] = []

    async def watch(scope: anyio.CancelScope) -> None:
        # SIGINT too: asyncio's own handler cancels the task once, and any code on the way may
        # swallow that; an anyio cancel scope keeps cancelling.
        with anyio.open_signal_receiver(*ENDINGS) as signals:
            endings.append(await anext(signals))
            scope.cancel()
            await anyio.sleep_forever()

    with ungrouped():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks.cancel_scope)
            exit_code = await work()
            tasks.cancel_scope.cancel()
    if signal.SIGINT in endings:
        raise KeyboardInterrupt
    return ENDED_BY_SIGNAL + endings[0] if endings else exit_code


def run_until_asked(work: Callable[[], Awaitable[int]], endings: Endings) -> int:
    """Run a coroutine function; return its exit code, or 128 + N if signal N cancelled it.

    The first signal recorded by `endings` cancels the work, Ctrl-C included; later ones are
    ignored, so that the clean-up is never interrupted.
    """
    return anyio.run(_until_asked, work, endings)


async def _until_asked(work: Callable[[], Awaitable[int]], endings: Endings) -> int:
    exit_code: int | None = None

    async def watch(scope: anyio.CancelScope) -> None:
        await anyio.wait_readable(endings)
        scope.cancel()

    with ungrouped():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks.cancel_scope)
            exit_code = await work()
            tasks.cancel_scope.cancel()
    return ENDED_BY_SIGNAL + (endings.number or 0) if exit_code is None else exit_code
