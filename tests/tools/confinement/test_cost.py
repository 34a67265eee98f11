"""What it costs a command, and a search, to be confined; figures: `tests.benchmarks.sandbox`."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from acp_server.tools.search.query import Query
from acp_server.tools.search.ripgrep import find_ripgrep
from acp_server.tools.search.searching import search
from tests.tools.confinement.ground import confined, make_ground, needs_sandbox, sandbox_of
from tests.tools.shell.workplace import workplace

pytestmark = needs_sandbox
MOST_MILLISECONDS = 15.0
MOST_RUNS = 100
"""The best of them count, and no more are made than it takes: others use the machine too."""

Work = Callable[[], Awaitable[object]]


async def test_a_confined_command_takes_little_longer(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)
    async with workplace(ground.root) as plain, confined(ground) as bounded:
        cost = await cost_of(lambda: bounded.run("true"), lambda: plain.run("true"))
    assert cost < MOST_MILLISECONDS


async def test_a_confined_search_takes_little_longer(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)
    (ground.root / "a.txt").write_text("word\n")
    sandbox, query = sandbox_of(ground), Query("word", ground.root)

    async def held() -> None:
        launcher = await sandbox.launch_search(ground.root, find_ripgrep(), hides=True)
        await search(query, ground.root, (), launcher)

    assert await cost_of(held, lambda: search(query, ground.root)) < MOST_MILLISECONDS


async def cost_of(one: Work, other: Work) -> float:
    """Return how many milliseconds the one takes longer than the other at best, run by turns."""
    best = [float("inf")] * 2
    for _ in range(MOST_RUNS):
        for index, work in enumerate((one, other)):
            began_at = time.perf_counter()
            await work()
            best[index] = min(best[index], (time.perf_counter() - began_at) * 1000)
        if best[0] - best[1] < MOST_MILLISECONDS:
            break
    return best[0] - best[1]
