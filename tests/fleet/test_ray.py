"""A fleet on Ray whose actor is killed; see `ray_cluster` for how to run it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.fleet.engines.registry import find_engine
from acp_server.fleet.engines.seam import EngineConfig
from tests.fleet.fleets import COMMAND, run_fleet, units_of
from tests.fleet.ray_cluster import ON_REQUEST, ray_cluster
from tests.headless.run.repositories import create_repository

pytestmark = ON_REQUEST


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ray_cluster() as found:
        yield found


async def test_units_run_on_ray_and_lost_actors_are_replaced(tmp_path: Path, address: str) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    prompts = ["work"] * 6 + ["die", "home", f"kill-actor-once {tmp_path / 'killed'}"]
    units = units_of(repository, *prompts)
    config = EngineConfig(jobs=2, command=COMMAND, address=address)
    run = await run_fleet(tmp_path / "out", units, None, None, find_engine("ray"), config)
    outcomes = dict(run.outcomes)
    assert outcomes.pop("t6") == "internal_error"
    assert set(outcomes.values()) == {"done"}
    entry = json.loads((tmp_path / "out/t7.json").read_text())
    assert entry["result"]["text"] == "acp config.yaml learned"
    results = {each.id: each for each in run.journal.results}
    assert results["t8"].attempts == 2


def test_a_driver_with_another_token_is_refused(address: str) -> None:
    join = f"import ray; ray.init(address={address!r}, log_to_driver=False)"
    done = subprocess.run(
        (sys.executable, "-c", join),
        env={**os.environ, "RAY_AUTH_TOKEN": "0" * 32},  # noqa: TID251
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert f"Failed to connect to Ray cluster at {address}" in done.stderr
