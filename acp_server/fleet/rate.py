"""Limits on the starts of attempts: a rate, and a number at a time that adapts to 429s. Pure."""

import re
from dataclasses import dataclass, field

_RATE = re.compile(r"(\d+(?:\.\d+)?)/(s|sec|min|h|hour)")
_SECONDS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0}


def parse_rate(text: str) -> float:
    """Return a rate such as `120/min` in starts per second.

    >>> parse_rate("120/min")
    2.0

    Raises:
        ValueError: The text is no rate.
    """
    found = _RATE.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise ValueError(f"{text!r} is not a rate; write for example 120/min, 2/s or 500/h")
    return float(found[1]) / _SECONDS[found[2]]


@dataclass(slots=True)
class StartRate:
    """Spaces starts evenly."""

    per_second: float | None
    _next: float = 0.0

    def wait_seconds(self, now: float) -> float:
        """Return how long to wait before the next start."""
        return 0.0 if self.per_second is None else max(0.0, self._next - now)

    def note_start(self, now: float) -> None:
        """Count a start."""
        if self.per_second is not None:
            self._next = max(now, self._next) + 1 / self.per_second


@dataclass(slots=True)
class AdaptiveLimit:
    """Number of attempts at a time: halved by a 429, then grown again by successes."""

    jobs: int
    _value: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin with all jobs."""
        self._value = float(self.jobs)

    @property
    def now(self) -> int:
        """Attempts that may run now, at least one."""
        return max(1, int(self._value))

    def note_rate_limit(self, running: int) -> None:
        """Halve the limit, from the number that ran when the provider refused."""
        self._value = max(1.0, min(self._value, float(running)) / 2)

    def note_success(self) -> None:
        """Grow by about one for each round of successes."""
        self._value = min(float(self.jobs), self._value + 1 / self._value)
