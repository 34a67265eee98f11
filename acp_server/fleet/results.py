"""Result of a unit: the facts that the journal keeps, and that reports are made of."""

from dataclasses import asdict, dataclass, field
from typing import cast

from pydantic import JsonValue

from acp_server.fleet.outcomes import UnitOutcome, parse_outcome
from acp_server.text.json_values import as_object, as_text


@dataclass(frozen=True, slots=True)
class UnitUsage:
    """Model requests and tokens of one attempt."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class UnitCheck:
    """Result of a unit's `check` command."""

    exit_code: int | None
    """None: it did not end in time, or could not start."""
    seconds: float
    output: str = ""
    """The end of its output, without secrets."""

    @property
    def is_passed(self) -> bool:
        """Whether the check passed."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class UnitResult:
    """Final result of a unit. Units that never began have the outcome `not_run`."""

    key: str
    id: str
    """Name of its files in the output directory: `ID.patch`, `ID.log` (its calls and problems), and
    `ID.json` with `id`, `outcome`, `patch`, `log`, `result` (of the run) and `unit` (this)."""
    task: str
    outcome: UnitOutcome
    repeat: int = 1
    tags: tuple[str, ...] = ()
    model: str = ""
    """The model as asked for; empty for the node's default."""
    answered_by: str = ""
    """The model as its provider answered."""
    reason: str = ""
    attempts: int = 0
    node: str = ""
    seconds: float = 0.0
    """Duration of the last attempt, with set-up and check."""
    usage: UnitUsage = field(default_factory=UnitUsage)
    """Sum over all attempts."""
    cost_usd: float | None = None
    """Sum over all attempts; None if no price is known."""
    assumed_usd: float = 0.0
    """Cost limits of attempts whose cost is unknown: they count in the budget of a fleet."""
    check: UnitCheck | None = None
    patch_sha256: str = ""
    """Empty: no file was changed."""
    server: str = ""
    """Version of acp-server on the node."""
    digests: dict[str, str] = field(default_factory=dict[str, str])
    """SHA-256 by name: `prompt`, `tools`, `skills`, `settings`, as far as they are known."""

    @property
    def is_passed(self) -> bool:
        """Whether the task was done, and its check, if there is one, passed."""
        return self.outcome == "done"

    @property
    def has_run(self) -> bool:
        """Whether the unit began at all."""
        return self.outcome != "not_run"

    @property
    def counted_usd(self) -> float | None:
        """Cost that counts, with what is assumed; None if nothing is known of it."""
        return (self.cost_usd or 0.0) + self.assumed_usd if self.assumed_usd else self.cost_usd

    def as_json(self) -> dict[str, JsonValue]:
        """Return the result as JSON."""
        return cast("dict[str, JsonValue]", asdict(self))


def result_from_json(value: JsonValue) -> UnitResult:
    """Return the result that `UnitResult.as_json` has written; unknown fields are ignored."""
    read = as_object(value)
    check = read.get("check")
    tags, cost = read.get("tags"), read.get("cost_usd")
    return UnitResult(
        key=as_text(read.get("key")),
        id=as_text(read.get("id")),
        task=as_text(read.get("task")),
        outcome=parse_outcome(read.get("outcome")),
        repeat=whole_number(read.get("repeat")) or 1,
        tags=tuple(as_text(each) for each in tags) if isinstance(tags, list) else (),
        model=as_text(read.get("model")),
        answered_by=as_text(read.get("answered_by")),
        reason=as_text(read.get("reason")),
        attempts=whole_number(read.get("attempts")),
        node=as_text(read.get("node")),
        seconds=number(read.get("seconds")) or 0.0,
        usage=usage_from_json(read.get("usage")),
        cost_usd=number(cost),
        assumed_usd=number(read.get("assumed_usd")) or 0.0,
        check=check_from_json(check),
        patch_sha256=as_text(read.get("patch_sha256")),
        server=as_text(read.get("server")),
        digests={name: as_text(each) for name, each in as_object(read.get("digests")).items()},
    )


def usage_from_json(value: JsonValue) -> UnitUsage:
    """Return the usage of a result of `acp-server run`."""
    read = as_object(value)
    return UnitUsage(
        whole_number(read.get("model_calls")),
        whole_number(read.get("input_tokens")),
        whole_number(read.get("output_tokens")),
        whole_number(read.get("cache_read_tokens")),
        whole_number(read.get("cache_write_tokens")),
    )


def check_from_json(value: JsonValue) -> UnitCheck | None:
    """Return a check's result, or None if there is none."""
    if not isinstance(value, dict):
        return None
    code = value.get("exit_code")
    return UnitCheck(
        code if isinstance(code, int) else None,
        number(value.get("seconds")) or 0.0,
        as_text(value.get("output")),
    )


def number(value: JsonValue) -> float | None:
    """Return a number, or None if the value is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole_number(value: JsonValue) -> int:
    """Return a whole number, or 0 if the value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
