"""A fleet on Ray whose actor is killed; see `ray_cluster` for how to run it."""

import json
from pathlib import Path

from acp_server.fleet.engines.registry import find_engine
from acp_server.fleet.engines.seam import EngineConfig
from tests.fleet.fleets import COMMAND, run_fleet, units_of
from tests.fleet.ray_cluster import ON_REQUEST, ray_cluster
from tests.headless.run.repositories import create_repository

pytestmark = ON_REQUEST


async def test_units_run_on_ray_and_lost_actors_are_replaced(tmp_path: Path) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    prompts = ["work"] * 6 + ["die", "home", f"kill-actor-once {tmp_path / 'killed'}"]
    units = units_of(repository, *prompts)
    with ray_cluster() as address:
        config = EngineConfig(jobs=2, command=COMMAND, address=address)
        run = await run_fleet(tmp_path / "out", units, None, None, find_engine("ray"), config)
    outcomes = dict(run.outcomes)
    assert outcomes.pop("t6") == "internal_error"
    assert set(outcomes.values()) == {"done"}
    entry = json.loads((tmp_path / "out/t7.json").read_text())
    assert entry["result"]["text"] == "acp config.yaml learned"
    results = {each.id: each for each in run.journal.results}
    assert results["t8"].attempts == 2
