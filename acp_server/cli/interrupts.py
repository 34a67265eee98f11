"""Runs a command's coroutine, and ends it in order when the process is asked to end."""

import signal
from collections.abc import Awaitable, Callable

import anyio

from acp_server.cli.endings import Endings
from acp_server.headless.errors import ungrouped

ENDINGS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
ENDED_BY_SIGNAL = 128


def run(work: Callable[[], Awaitable[int]]) -> int:
    """Run a coroutine function and return its exit code, or 128 and the signal that ended it.

    A closed terminal window and a polite kill cancel the work, as Ctrl-C does: children are left
    in order and temporary folders are removed.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed, and the work has cleaned up.
    """
    return anyio.run(_until_signal, work)


async def _until_signal(work: Callable[[], Awaitable[int]]) -> int:
    exit_code = 0
    endings: list[int] = []

    async def watch(scope: anyio.CancelScope) -> None:
        # Ctrl-C too: asyncio would cancel the work once, which anything on the way may swallow.
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
    """Run a coroutine function and return its exit code, or 128 and the signal that ended it.

    Any signal that is noted cancels it, Ctrl-C too, and a second one does not hurry it.
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
