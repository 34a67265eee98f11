"""Runs a command's coroutine and cancels it when the process receives a termination signal."""

import signal
from collections.abc import Awaitable, Callable

import anyio

from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.headless.errors import unwrap_single_exception

HANDLED_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
SIGNAL_EXIT_BASE = 128


def run_async(work: Callable[[], Awaitable[int]]) -> int:
    """Run a coroutine function; return its exit code, or 128 + N if signal N cancelled it.

    SIGHUP (a closed terminal) and SIGTERM cancel the work as Ctrl-C does, so that child processes
    are stopped and temporary directories removed.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the work has cleaned up.
    """
    return anyio.run(_until_signal, work)


async def _until_signal(work: Callable[[], Awaitable[int]]) -> int:
    exit_code = 0
    received: list[int] = []

    async def watch(scope: anyio.CancelScope) -> None:
        # SIGINT too: asyncio's own handler cancels the task once, and any code on the way may
        # swallow that; an anyio cancel scope keeps cancelling.
        with anyio.open_signal_receiver(*HANDLED_SIGNALS) as signals:
            received.append(await anext(signals))
            scope.cancel()
            await anyio.sleep_forever()

    with unwrap_single_exception():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks.cancel_scope)
            exit_code = await work()
            tasks.cancel_scope.cancel()
    if signal.SIGINT in received:
        raise KeyboardInterrupt
    return SIGNAL_EXIT_BASE + received[0] if received else exit_code


def run_until_signal(work: Callable[[], Awaitable[int]], signals: ShutdownSignals) -> int:
    """Run a coroutine function; return its exit code, or 128 + N if signal N cancelled it.

    The first signal recorded by `endings` cancels the work, Ctrl-C included; later ones are
    ignored, so that the clean-up is never interrupted.
    """
    return anyio.run(_until_recorded_signal, work, signals)


async def _until_recorded_signal(
    work: Callable[[], Awaitable[int]], signals: ShutdownSignals
) -> int:
    exit_code: int | None = None

    async def watch(scope: anyio.CancelScope) -> None:
        await anyio.wait_readable(signals)
        scope.cancel()

    with unwrap_single_exception():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks.cancel_scope)
            exit_code = await work()
            tasks.cancel_scope.cancel()
    return SIGNAL_EXIT_BASE + (signals.signal_number or 0) if exit_code is None else exit_code
