"""Driver of a fleet as a process that can be killed: `python -m tests.fleet.drive`.

Arguments: output directory, repository, number of units, engine, address of its cluster.
"""

import sys
from dataclasses import replace
from pathlib import Path

import anyio

from acp_server.fleet.driver import FleetPolicy
from acp_server.fleet.engines.registry import find_engine
from acp_server.fleet.engines.seam import EngineConfig
from acp_server.fleet.unit import Unit
from tests.fleet.fleets import COMMAND, QUICK, run_fleet, units_of

JOBS = {"local": 2, "dask": 6}


def units_with_checks(repository: Path, count: int) -> list[Unit]:
    """Return units that take a moment; every seventh fails its check."""
    units = units_of(repository, *(f"work {number}" for number in range(count)))
    return [
        replace(
            unit,
            setup="sleep 0.1",
            check="grep -q work made.txt" if number % 7 else "grep missing made.txt",
            retries=20,
        )
        for number, unit in enumerate(units)
    ]


async def main(*arguments: str) -> None:
    """Run units to their end, after those that have ended before."""
    output, repository, count, engine, address = arguments
    config = EngineConfig(jobs=JOBS[engine], address=address, command=COMMAND)
    policy = FleetPolicy(jobs=JOBS[engine], waits=QUICK)
    units = units_with_checks(Path(repository), int(count))
    await run_fleet(Path(output), units, policy, None, find_engine(engine), config)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
