"""What it costs a command, and a search, to be confined; figures: `tests.benchmarks.sandbox`.

The milliseconds are the benchmark's; here they are held against those of starting Python twice,
which a launcher in Python would take. Measured is processor time, ours and that of all processes
that were started, at best of some batches: it is longer while others use the same core.
"""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import anyio

from acp_server.tools.search.query import Query
from acp_server.tools.search.ripgrep import find_ripgrep
from acp_server.tools.search.searching import search
from tests.tools.confinement.ground import confined, make_ground, needs_sandbox, sandbox_of
from tests.tools.shell.workplace import workplace

pytestmark = needs_sandbox
MOST_PYTHONS = 2.0
RUNS = 10
MOST_BATCHES = 20

Work = Callable[[], Awaitable[object]]
Place = Callable[[], AbstractAsyncContextManager[Work]]


async def test_a_confined_command_takes_little_longer(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)

    @asynccontextmanager
    async def bounded() -> AsyncGenerator[Work]:
        async with confined(ground) as place:
            yield lambda: place.run("true")

    @asynccontextmanager
    async def plain() -> AsyncGenerator[Work]:
        async with workplace(ground.root) as place:
            yield lambda: place.run("true")

    assert await pythons_of(bounded, plain) < MOST_PYTHONS


async def test_a_confined_search_takes_little_longer(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)
    (ground.root / "a.txt").write_text("word\n")
    sandbox, query = sandbox_of(ground), Query("word", ground.root)

    @asynccontextmanager
    async def held() -> AsyncGenerator[Work]:
        async def find() -> None:
            launcher = await sandbox.launch_search(ground.root, find_ripgrep(), hides=True)
            await search(query, ground.root, (), launcher)

        yield find

    @asynccontextmanager
    async def free() -> AsyncGenerator[Work]:
        yield lambda: search(query, ground.root)

    assert await pythons_of(held, free) < MOST_PYTHONS


async def pythons_of(one: Place, other: Place) -> float:
    """Return how many starts of Python a run costs more in the one than in the other, at best."""
    best = [float("inf")] * 3
    for _ in range(MOST_BATCHES):
        for index, place in enumerate((one, other, bare_python)):
            best[index] = min(best[index], await milliseconds_of(place))
        dear, cheap, python = best
        if dear - cheap < MOST_PYTHONS * python:
            break
    return (best[0] - best[1]) / best[2]


@asynccontextmanager
async def bare_python() -> AsyncGenerator[Work]:
    """Start Python for nothing."""
    yield lambda: anyio.run_process([sys.executable, "-c", "pass"])


async def milliseconds_of(place: Place) -> float:
    """Return the processor time of one run of what is done in a place, opening and leaving too."""
    before = _processor_seconds()
    async with place() as work:
        for _ in range(RUNS):
            await work()
    return (_processor_seconds() - before) / RUNS * 1000


def _processor_seconds() -> float:
    usages = [getrusage(whose) for whose in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
