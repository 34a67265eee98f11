"""What it costs a command, and a search, to be confined; figures: `tests.benchmarks.sandbox`.

Measured is processor time, ours and that of all processes that were started. It too is longer while
others use the same core, so the best of some batches counts, and no more are made than it takes.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from acp_server.tools.search.query import Query
from acp_server.tools.search.ripgrep import find_ripgrep
from acp_server.tools.search.searching import search
from tests.tools.confinement.ground import confined, make_ground, needs_sandbox, sandbox_of
from tests.tools.shell.workplace import workplace

pytestmark = needs_sandbox
MOST_MILLISECONDS = 15.0
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

    assert await cost_of(bounded, plain) < MOST_MILLISECONDS


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

    assert await cost_of(held, free) < MOST_MILLISECONDS


async def cost_of(one: Place, other: Place) -> float:
    """Return how many milliseconds a run takes longer in the one than in the other, at best."""
    dear, cheap = float("inf"), float("inf")
    for _ in range(MOST_BATCHES):
        dear = min(dear, await milliseconds_of(one))
        cheap = min(cheap, await milliseconds_of(other))
        if dear - cheap < MOST_MILLISECONDS:
            break
    return dear - cheap


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
