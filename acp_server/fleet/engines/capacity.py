"""Capacity of a node: the processors and memory that its units have asked for. Pure."""

from dataclasses import dataclass, field

from acp_server.fleet.unit import Unit


@dataclass(slots=True)
class NodeCapacity:
    """Processors and memory of a node, and the units that take them."""

    processors: float
    memory: int
    """Bytes."""
    least: float = 0.0
    """Processors that a unit takes which asks for fewer, or for none."""
    running: dict[str, Unit] = field(default_factory=dict[str, Unit])
    """Unit of each running attempt, by handle."""

    @property
    def free_processors(self) -> float:
        """Processors that no unit takes."""
        return self.processors - sum(self.processors_of(each) for each in self.running.values())

    def processors_of(self, unit: Unit) -> float:
        """Return the processors that a unit takes, at most all."""
        return min(self.processors, max(self.least, unit.cpus or 0.0))

    def has_room_for(self, unit: Unit) -> bool:
        """Return whether a unit fits beside those that run; one that is alone always does."""
        used = sum(each.memory or 0 for each in self.running.values())
        has_memory = not self.running or used + (unit.memory or 0) <= self.memory
        return has_memory and self.processors_of(unit) <= self.free_processors
