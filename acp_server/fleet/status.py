"""Status of a fleet while it runs, computed from its journal's records as they are written."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from acp_server.fleet.results import UnitResult, number, result_from_json, whole_number
from acp_server.text.json_values import as_object, as_text

Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class RunningUnit:
    """Attempt that runs now."""

    id: str
    attempt: int
    began: float


@dataclass(slots=True)
class FleetStatus:
    """Numbers of the last run in a journal, and the cost of all runs."""

    began: float = 0.0
    total: int = 0
    passed: int = 0
    failed: int = 0
    retried: int = 0
    running: dict[str, RunningUnit] = field(default_factory=dict[str, RunningUnit])
    """By unit key."""
    spent_usd: float | None = None
    total_cost_usd: float | None = None
    tokens: int = 0
    """Of the attempts of this run."""
    ended_now: int = 0
    """Units that ended in this run."""
    pause: str = ""
    """Why all attempts wait; empty if they do not."""
    stopped: bool = False
    _passed: dict[str, bool] = field(default_factory=dict[str, bool])
    """Whether the last attempt of each unit passed, by key."""
    _final: set[str] = field(default_factory=set[str])
    _keys: set[str] = field(default_factory=set[str])
    _used: dict[str, int] = field(default_factory=dict[str, int])
    """Tokens of each unit's attempts so far, by key."""

    @property
    def queued(self) -> int:
        """Units that wait for an attempt."""
        return max(0, self.total - self.passed - self.failed - len(self.running))

    def tokens_a_minute(self, now: float) -> float:
        """Return the tokens of this run's attempts that have ended, per minute."""
        return 60 * self.tokens / max(1.0, now - self.began)

    def seconds_left(self, now: float) -> float | None:
        """Return the time that the rest takes at the speed so far; None before the first end."""
        rest = self.queued + len(self.running)
        return (now - self.began) / self.ended_now * rest if self.ended_now else None

    def keep(self, result: UnitResult) -> None:
        """Note a result that is final since an earlier run; it counts once its unit is queued."""
        self._passed[result.key] = result.is_passed
        self._final.add(result.key)

    def add(self, record: Json) -> None:
        """Add the next record."""
        key = as_text(record.get("key"))
        match record.get("type"):
            case "run":
                self._begin(record)
            case "queued":
                self._keys.add(key)
                if key in self._final:
                    self._count(key, 1)
            case "began":
                time = number(record.get("time")) or 0.0
                attempt = whole_number(record.get("attempt"))
                self.running[key] = RunningUnit(as_text(record.get("id")), attempt, time)
            case "ended":
                self._end(key, record)
            case "retry":
                self.retried += 1
                self.ended_now -= 1
                self._count(key, -1)
            case "budget":
                self.spent_usd = number(record.get("spent_usd"))
            case "pause":
                self.pause = as_text(record.get("reason"))
            case "stopped":
                self.stopped = True
            case _:
                pass

    def _begin(self, record: Json) -> None:
        """Begin a new run; units that ended finally in earlier ones count again once queued."""
        self.began = number(record.get("time")) or 0.0
        self.total = whole_number(record.get("units"))
        self.total_cost_usd = number(record.get("total_cost_usd"))
        self.passed = self.failed = self.retried = self.tokens = self.ended_now = 0
        self.pause, self.stopped = "", False
        self.running.clear()
        self._keys.clear()

    def _end(self, key: str, record: Json) -> None:
        self.running.pop(key, None)
        result = result_from_json(as_object(record.get("result")))
        used = result.usage.input_tokens + result.usage.output_tokens
        self.tokens += max(0, used - self._used.get(key, 0))
        self._used[key] = used
        if result.outcome != "provider_error":
            self.pause = ""
        cost = number(record.get("attempt_cost_usd"))
        is_known = bool(cost) or bool(result.usage.model_calls)  # zero without a call says nothing
        if cost is not None and is_known and self.total_cost_usd is None:
            self.spent_usd = (self.spent_usd or 0.0) + cost
        self._passed[key] = result.is_passed
        (self._final.add if record.get("is_final") is True else self._final.discard)(key)
        self.ended_now += 1
        self._count(key, 1)

    def _count(self, key: str, change: int) -> None:
        if self._passed.get(key):
            self.passed += change
        else:
            self.failed += change
