"""Kills at random moments: of agents, workers, nodes and the driver, with -9.

Every task is reported once, none is lost, finished ones are not repeated, no process is left, and
the results are those of an undisturbed run.
"""

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
import pytest

from acp_server.fleet.journal import NAME, read_journal, read_records
from tests.fleet.dask_cluster import DaskCluster, dask_cluster
from tests.headless.run.repositories import create_repository, git
from tests.support.server_process import NO_KEYRING
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind")
FULL = pytest.mark.full
ROOT = Path(__file__).parents[2]
POLL_SECONDS = 0.05


@dataclass(slots=True)
class KilledFleet:
    """Fleet whose driver is started again after each kill."""

    folder: Path
    engine: str
    count: int
    address: str = "-"
    kills: Counter[str] = field(default_factory=Counter[str])

    @property
    def output(self) -> Path:
        return self.folder / "out"

    @property
    def ended(self) -> int:
        """Number of attempts that have ended."""
        file = self.output / NAME
        if not file.is_file():
            return 0
        return sum(record["type"] == "ended" for _, record in read_records(file))

    def start(self) -> "subprocess.Popen[bytes]":
        """Start a driver."""
        arguments = (self.output, self.folder / "code", self.count, self.engine, self.address)
        home = self.folder / "home"
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}  # noqa: TID251
        return subprocess.Popen(
            (sys.executable, "-m", "tests.fleet.drive", *map(str, arguments)),
            cwd=ROOT,
            env={**kept, **NO_KEYRING, "HERMES_HOME": str(home), "TMPDIR": str(home)},
            start_new_session=True,
        )

    def agents(self) -> list[psutil.Process]:
        """Return the running agents of this fleet: the test's directory is in their arguments."""
        found: list[psutil.Process] = []
        for each in psutil.process_iter(["cmdline"]):
            words: list[str] = each.info["cmdline"] or []
            if "--cwd" in words and any(str(self.folder) in word for word in words):
                found.append(each)
        return found


def wait_until(holds: Callable[[], bool], message: str) -> None:
    """Wait for a condition that other processes bring about."""
    event = threading.Event()
    for _ in range(int(HANG_TIMEOUT_SECONDS / POLL_SECONDS)):
        if holds():
            return
        event.wait(POLL_SECONDS)
    raise AssertionError(message)


def has_reached(fleet: KilledFleet, goal: int, driver: "subprocess.Popen[bytes]") -> bool:
    """Return whether so many attempts have ended, or all."""
    return fleet.ended >= goal or driver.poll() is not None


def disturb(
    fleet: KilledFleet, kill: Callable[[str, psutil.Process], None], names: list[str]
) -> None:
    """Run the fleet to its end and kill something after every few ends."""
    chance = random.Random(35)  # noqa: S311
    step = max(2, fleet.count // (len(names) + 1))
    driver = fleet.start()
    for name in names:
        goal = fleet.ended + chance.randint(1, step)
        wait_until(partial(has_reached, fleet, goal, driver), "nothing ended")
        if driver.poll() is not None:
            break
        fleet.kills[name] += 1
        if name == "driver":
            driver.kill()
            driver.wait()
            driver = fleet.start()
        else:
            kill(name, psutil.Process(driver.pid))
    assert driver.wait(HANG_TIMEOUT_SECONDS * 10) == 0


def assert_complete(fleet: KilledFleet) -> None:
    """Each unit has one final end, after which it did not begin again; nothing is left."""
    contents = read_journal(fleet.output)
    assert len(contents.results) == fleet.count
    results = {
        each.id: (each.outcome, each.check and each.check.exit_code, each.patch_sha256)
        for each in contents.results
    }
    undisturbed = {
        f"t{number}": ("done", 0) if number % 7 else ("check_failed", 1)
        for number in range(fleet.count)
    }
    assert {name: each[:2] for name, each in results.items()} == undisturbed
    assert len({each[2] for each in results.values()}) == fleet.count
    assert contents.open_attempts == {}
    final: Counter[str] = Counter()
    for _, record in read_records(fleet.output / NAME):
        if record["type"] == "began":
            assert not final[str(record["key"])], "a finished unit began again"
        if record["type"] == "ended" and record["is_final"]:
            final[str(record["key"])] += 1
    assert set(final.values()) == {1}
    wait_until(lambda: not fleet.agents(), "agents are left")
    assert git(fleet.folder / "code", "worktree", "list").count("\n") == 1


@pytest.mark.parametrize(("count", "rounds"), [(6, 1), pytest.param(200, 6, marks=FULL)])
def test_local_tasks_survive_kills_of_agents_and_of_the_driver(
    tmp_path: Path, count: int, rounds: int
) -> None:
    create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (tmp_path / "home").mkdir()
    fleet = KilledFleet(tmp_path, "local", count)

    def kill(name: str, driver: psutil.Process) -> None:
        del name
        for each in driver.children(recursive=True)[:1]:
            with suppress(psutil.NoSuchProcess):
                each.kill()

    disturb(fleet, kill, [*["driver", "agent"] * rounds, *["driver"] * (rounds - 1)])
    assert fleet.kills["driver"] >= 1
    assert_complete(fleet)


# the short form is a node's kill in `test_engines.py`, whose cluster runs anyway
@FULL
@pytest.mark.parametrize(
    ("nodes", "count", "victims", "rounds"),
    [(1, 8, (), 1), (3, 200, ("worker",), 3)],
)
def test_tasks_on_dask_survive_kills_of_workers_nodes_and_the_driver(
    tmp_path: Path, nodes: int, count: int, victims: Sequence[str], rounds: int
) -> None:
    create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (tmp_path / "home").mkdir()
    chance = random.Random(36)  # noqa: S311
    with ExitStack() as stack:
        cluster: DaskCluster = stack.enter_context(
            dask_cluster(tmp_path / "dask", nodes, **NO_KEYRING)
        )
        wait_until(lambda: len(cluster.workers()) == nodes, "no workers")
        fleet = KilledFleet(tmp_path, "dask", count, cluster.address)

        def kill(name: str, driver: psutil.Process) -> None:
            del driver
            if name == "node":
                cluster.kill_node(cluster.nodes.pop(chance.randrange(len(cluster.nodes))))
                cluster.add_node()
                return
            for each in cluster.workers()[:1]:
                with suppress(psutil.NoSuchProcess):
                    each.kill()

        # with a node, its worker dies too
        disturb(fleet, kill, [*victims, "driver", "node"] * rounds)
        assert fleet.kills["node"] + fleet.kills["worker"] >= 1
        assert_complete(fleet)
