"""Capacity of a node: how many units fit beside each other."""

from dataclasses import replace

import pytest

from acp_server.fleet.engines.capacity import NodeCapacity
from acp_server.fleet.unit import Unit, WorkspaceSource

UNIT = Unit("key", "one", "one", "work", WorkspaceSource("/code", "0" * 40))
GIB = 2**30


def count_that_fit(capacity: NodeCapacity, unit: Unit) -> int:
    while capacity.has_room_for(unit) and len(capacity.running) < 99:
        capacity.running[str(len(capacity.running))] = unit
    return len(capacity.running)


@pytest.mark.parametrize(
    ("cpus", "memory", "least", "fit"),
    [
        (None, None, 0.0, 99),  # the jobs of the command line are the limit
        (None, None, 1.0, 4),
        (1.0, None, 0.0, 4),
        (1.5, None, 0.0, 2),
        (0.5, None, 0.0, 8),
        (0.5, None, 1.0, 4),
        (64.0, None, 0.0, 1),
        (None, 3 * GIB, 0.0, 2),
        (1.0, 3 * GIB, 0.0, 2),
        (None, 64 * GIB, 0.0, 1),
    ],
)
def test_units_fit_until_processors_or_memory_are_taken(
    cpus: float | None, memory: int | None, least: float, fit: int
) -> None:
    capacity = NodeCapacity(4, 8 * GIB, least)
    assert count_that_fit(capacity, replace(UNIT, cpus=cpus, memory=memory)) == fit
