"""Runs a command's coroutine and cancels it when the process receives a termination signal."""

import signal
from collections.abc import Awaitable, Callable

import anyio

from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.headless.errors import unwrap_single_exception

SIGNAL_EXIT_BASE = 128


def run_async(work: Callable[[], Awaitable[int]]) -> int:
    """Run a coroutine function; return its exit code, or 128 + N if signal N came.

    SIGHUP (a closed terminal) and SIGTERM cancel the work as Ctrl-C does, so that child processes
    are stopped and temporary directories removed.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the work has cleaned up.
    """
    with ShutdownSignals() as signals:
        exit_code = run_until_signal(work, signals)
    if signals.signal_number == signal.SIGINT:
        raise KeyboardInterrupt
    number = signals.signal_number
    return exit_code if number is None else SIGNAL_EXIT_BASE + number


def run_until_signal(work: Callable[[], Awaitable[int]], signals: ShutdownSignals) -> int:
    """Run a coroutine function; return its exit code, or 128 + N if signal N cancelled it.

    The first recorded signal cancels the work, Ctrl-C included; later ones are ignored, so that
    the clean-up is never interrupted.
    """
    exit_code: int | None = None

    async def watch(scope: anyio.CancelScope) -> None:
        await anyio.wait_readable(signals)
        scope.cancel()

    async def run() -> None:
        nonlocal exit_code
        with unwrap_single_exception():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch, tasks.cancel_scope)
                exit_code = await work()
                tasks.cancel_scope.cancel()

    anyio.run(run)
    return SIGNAL_EXIT_BASE + (signals.signal_number or 0) if exit_code is None else exit_code
