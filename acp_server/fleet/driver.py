"""Driver of a fleet: queue, retries, budget, rate and pauses. The engine only places attempts.

One loop starts attempts, and waits for the end of an attempt, for a request to stop, or for
the time of the next start. Each step is in the journal before it has an effect.
"""

import hashlib
import heapq
import json
import math
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.fleet.attempts import Attempt, AttemptReport, Placement
from acp_server.fleet.engines.seam import EngineError, FleetEngine
from acp_server.fleet.journal import JournalContents
from acp_server.fleet.outcomes import UnitOutcome
from acp_server.fleet.rate import AdaptiveLimit, StartRate
from acp_server.fleet.results import UnitResult, UnitUsage, usage_from_json
from acp_server.fleet.retries import AttemptVerdict, RetryWaits, judge_attempt
from acp_server.fleet.unit import Unit
from acp_server.headless.run.outcome import Outcome
from acp_server.headless.run.report import RunReport, result_as_json
from acp_server.text.json_values import as_object, as_text

PAUSE_AFTER = 10
"""Failures of the provider in a row that pause the whole fleet."""
MAX_PROBES = 8
"""Probes of a paused fleet that may fail before it stops."""
CANCEL_SECONDS = 15.0
"""Time for cancelled attempts to report; longer than a node waits before it kills."""
Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class FleetPolicy:
    """Limits of a fleet."""

    jobs: int = 1
    fail_fast: int | None = None
    """Units that may fail before no more are started."""
    total_cost: float | None = None
    """US dollars for all attempts of all runs in the output directory."""
    starts_per_second: float | None = None
    waits: RetryWaits = field(default_factory=RetryWaits)
    pause_after: int = PAUSE_AFTER
    max_probes: int = MAX_PROBES


@dataclass(slots=True)
class FleetControl:
    """Requests to stop, from signals."""

    drain: anyio.Event = field(default_factory=anyio.Event)
    """Start no more attempts; those that run may end."""
    cancel: anyio.Event = field(default_factory=anyio.Event)
    """End the running attempts too."""
    outcome: UnitOutcome = "interrupted"
    """Of the fleet and of attempts that are cancelled: `interrupted` or `terminated`."""


@dataclass(frozen=True, slots=True)
class UnitEnd:
    """Final state of a unit, for the caller: its result and its whole result file."""

    result: UnitResult
    entry: Json


OnEnd = Callable[[UnitEnd], None]


@dataclass(slots=True)
class _PendingUnit:
    """Unit that waits for its first or next attempt, with the use of its attempts so far."""

    unit: Unit
    number: int = 1
    usage: UnitUsage = field(default_factory=UnitUsage)
    cost: float | None = None
    assumed: float = 0.0


@dataclass(slots=True)
class _Pause:
    """Pause of the whole fleet."""

    until: float
    probes: int = 0


@dataclass(slots=True)
class FleetDriver:
    """Runs units on an engine until all have ended, or a limit or request stops it."""

    engine: FleetEngine
    output: Path
    policy: FleetPolicy
    on_end: OnEnd
    append: Callable[..., None]
    """Writes a record of the journal: its type and its values."""
    has_shared_disk: bool = True
    """Whether nodes share our disk, and write logs where they belong."""
    stop_outcome: UnitOutcome | None = field(default=None, init=False)
    """Why units were not run; None if all were."""
    stop_reason: str = field(default="", init=False)
    _ready: deque[_PendingUnit] = field(default_factory=deque[_PendingUnit], init=False)
    _later: list[tuple[float, int, _PendingUnit]] = field(
        default_factory=list[tuple[float, int, _PendingUnit]], init=False
    )
    """Heap of retries by time."""
    _running: dict[str, _PendingUnit] = field(default_factory=dict[str, _PendingUnit], init=False)
    _only_node: str = field(default="", init=False)
    """Name of the node, if there is one only; else the engine chooses when a slot is free."""
    _settling: int = field(default=0, init=False)
    """Attempts that have ended, and whose unit is being decided about."""
    _changed: anyio.Event = field(default_factory=anyio.Event, init=False)
    _limit: AdaptiveLimit = field(init=False)
    _rate: StartRate = field(init=False)
    _pause: _Pause | None = field(default=None, init=False)
    _failures_in_a_row: int = field(default=0, init=False)
    _failed_units: int = field(default=0, init=False)
    _spent: float = field(default=0.0, init=False)
    _cancel_outcome: UnitOutcome = field(default="interrupted", init=False)
    _order: "count[int]" = field(default_factory=count, init=False)

    def __post_init__(self) -> None:
        """Begin with the full number of jobs."""
        self._limit = AdaptiveLimit(self.policy.jobs)
        self._rate = StartRate(self.policy.starts_per_second)

    async def run(
        self, units: Sequence[Unit], control: FleetControl, earlier: JournalContents
    ) -> None:
        """Run units; `earlier` has the cost of earlier runs and results that are not final."""
        earlier.note_no_driver()
        self._spent = earlier.spent_usd
        self._append_budget()
        nodes = await self.engine.nodes()
        if len(nodes) == 1:
            self._only_node = nodes[0].name
        for unit in units:
            before = earlier.ended.get(unit.key)
            usage, cost = (before.usage, before.cost_usd) if before else (UnitUsage(), None)
            assumed = earlier.assumed_of(unit.key)
            self._ready.append(_PendingUnit(unit, usage=usage, cost=cost, assumed=assumed))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive)
            tasks.start_soon(self._watch, control)
            while True:
                # Replaced before the state is read: a change meanwhile sets the new event.
                self._changed = anyio.Event()
                wait = await self._start_ready()
                has_pending = bool(self._ready or self._later) and self.stop_outcome is None
                if not self._running and not self._settling and not has_pending:
                    break
                with anyio.move_on_after(wait):
                    await self._changed.wait()
            tasks.cancel_scope.cancel()

    @property
    def _reserved(self) -> float:
        return sum(each.unit.max_cost or 0.0 for each in self._running.values())

    def stop(self, outcome: UnitOutcome, reason: str) -> None:
        """Start no more attempts; the first reason counts."""
        if self.stop_outcome is None:
            self.stop_outcome, self.stop_reason = outcome, reason
        self._changed.set()

    async def _watch(self, control: FleetControl) -> None:
        """Obey requests to stop."""
        await control.drain.wait()
        self._cancel_outcome = control.outcome
        self.stop(control.outcome, "the run was ended before this task started")
        await control.cancel.wait()
        for handle in [*self._running]:
            await self.engine.cancel(handle)
        await anyio.sleep(CANCEL_SECONDS)
        for handle in [*self._running]:  # an engine that does not answer
            await self._end(AttemptReport(handle, is_cancelled=True))

    async def _receive(self) -> None:
        async for event in self.engine.events():
            if isinstance(event, Placement):
                self._note_place(event)
            else:
                await self._end(event)

    def _note_place(self, placement: Placement) -> None:
        pending = self._running.get(placement.handle)
        if pending is None or self._only_node:  # the record of its begin has the node
            return
        unit = pending.unit
        node = placement.node
        self.append("placed", key=unit.key, id=unit.id, attempt=pending.number, node=node)

    async def _start_ready(self) -> float:
        """Start attempts until a limit is reached; return how long to wait for the next."""
        while self.stop_outcome is None:
            now = anyio.current_time()
            while self._later and self._later[0][0] <= now:
                self._ready.appendleft(heapq.heappop(self._later)[2])
            wait = self._seconds_to_next(now)
            if wait > 0:
                return wait
            pending = self._ready[0]
            if not self._can_afford(pending.unit):
                return math.inf  # a running attempt may cost less than is reserved for it
            self._ready.popleft()
            self._rate.note_start(now)
            await self._start(pending)
        return math.inf

    def _seconds_to_next(self, now: float) -> float:
        if self._pause is not None:
            # One probe at a time, after all others have ended.
            if self._running or not (self._ready or self._later):
                return math.inf
            if self._pause.until > now:
                return self._pause.until - now
            if not self._ready:
                self._ready.append(heapq.heappop(self._later)[2])
        elif len(self._running) >= self._limit.now:
            return math.inf
        elif not self._ready:
            return self._later[0][0] - now if self._later else math.inf
        return self._rate.wait_seconds(now)

    def _can_afford(self, unit: Unit) -> bool:
        """Return whether the budget has room for an attempt; stop if it never will."""
        total = self.policy.total_cost
        if total is None or self._spent + self._reserved + (unit.max_cost or 0.0) <= total:
            return True
        if not self._running:
            self.stop("budget", f"the total cost reached ${total:g} (--total-cost)")
        return False

    async def _start(self, pending: _PendingUnit) -> None:
        unit = pending.unit
        handle = f"{unit.key[:12]}-{pending.number}-{secrets.token_hex(4)}"
        self.append(
            "began",
            key=unit.key,
            id=unit.id,
            attempt=pending.number,
            node=self._only_node,
            handle=handle,
            reserved_usd=unit.max_cost if self.policy.total_cost is not None else None,
        )
        log = str(self.output / f"{unit.id}.log") if self.has_shared_disk else ""
        self._running[handle] = pending
        try:
            await self.engine.submit(Attempt(handle, pending.number, unit, log))
        except EngineError as error:
            self.stop("internal_error", str(error))
            await self._end(AttemptReport(handle, is_lost=True, has_agent=False))

    async def _end(self, report: AttemptReport) -> None:
        """Journal the end of an attempt, and decide about its unit and the fleet."""
        pending = self._running.pop(report.handle, None)
        if pending is None:  # reported already
            return
        self._settling += 1
        try:
            await self._settle(pending, report)
        finally:
            self._settling -= 1
            self._changed.set()

    async def _settle(self, pending: _PendingUnit, report: AttemptReport) -> None:
        verdict = judge_attempt(report)
        if report.is_cancelled and verdict.outcome == "terminated":
            verdict = replace(verdict, outcome=self._cancel_outcome)
        unit = pending.unit
        cost = report.cost_usd
        pending.usage = _add_usage(pending.usage, report)
        pending.cost = pending.cost if cost is None else (pending.cost or 0.0) + cost
        if cost is None and self.policy.total_cost is not None and unit.max_cost:
            pending.assumed += unit.max_cost
            self._spent += unit.max_cost
            note = f"its cost is unknown and counts as its limit, ${unit.max_cost:g}"
            verdict = replace(verdict, reason=f"{verdict.reason}; {note}".removeprefix("; "))
        self._spent += cost or 0.0
        is_probe = self._pause is not None
        self._note_effect(verdict, is_probe=is_probe)
        is_retried = (
            verdict.is_retryable
            and self.stop_outcome is None
            and (pending.number <= unit.retries or is_probe)
        )
        result = _make_result(pending, report, verdict)
        entry = await to_thread.run_sync(_write_files, self.output, result, report, is_retried)
        self.append(
            "ended",
            key=unit.key,
            id=unit.id,
            attempt=pending.number,
            node=report.node,
            is_final=verdict.is_final,
            attempt_cost_usd=cost,
            result=result.as_json(),
        )
        self._append_budget()
        if is_retried:
            self._retry(pending, verdict, is_probe=is_probe)
        else:
            if not result.is_passed:
                self._failed_units += 1
                if self.policy.fail_fast and self._failed_units >= self.policy.fail_fast:
                    reason = f"{self._failed_units} tasks did not pass (--fail-fast)"
                    self.stop(result.outcome, reason)
            self.on_end(UnitEnd(result, entry))

    def _append_budget(self) -> None:
        if self.policy.total_cost is not None:
            self.append(
                "budget",
                spent_usd=round(self._spent, 6),
                reserved_usd=round(self._reserved, 6),
                total_cost_usd=self.policy.total_cost,
            )

    def _retry(self, pending: _PendingUnit, verdict: AttemptVerdict, *, is_probe: bool) -> None:
        if is_probe:  # its next attempt is the next probe, and does not count
            self._ready.appendleft(pending)
            wait = 0.0
        else:
            wait = self.policy.waits.seconds(pending.number, verdict.retry_after)
            pending.number += 1
            due = anyio.current_time() + wait
            heapq.heappush(self._later, (due, next(self._order), pending))
        self.append(
            "retry",
            key=pending.unit.key,
            id=pending.unit.id,
            attempt=pending.number,
            seconds=round(wait, 3),
            reason=verdict.reason,
        )

    def _note_effect(self, verdict: AttemptVerdict, *, is_probe: bool) -> None:
        """Apply the effect of an attempt's end on the whole fleet."""
        if verdict.is_rate_limited:
            self._limit.note_rate_limit(len(self._running) + 1)
        match verdict.effect:
            case "stop":
                self.stop(verdict.outcome, verdict.reason)
            case "provider_failed":
                self._failures_in_a_row += 1
                if self._failures_in_a_row >= self.policy.pause_after:
                    self._pause_all(verdict, is_probe=is_probe)
            case "none" if not verdict.is_retryable:
                self._failures_in_a_row, self._pause = 0, None
                self._limit.note_success()
            case "none":
                pass  # a lost node says nothing about the provider

    def _pause_all(self, verdict: AttemptVerdict, *, is_probe: bool) -> None:
        probes = self._pause.probes + is_probe if self._pause else 0
        if probes >= self.policy.max_probes:
            self.stop(verdict.outcome, f"the provider stayed out of service: {verdict.reason}")
            return
        seconds = self.policy.waits.probe_seconds(probes, verdict.retry_after)
        self._pause = _Pause(anyio.current_time() + seconds, probes)
        self.append("pause", seconds=round(seconds, 3), reason=verdict.reason)


def failed_result(outcome: Outcome, reason: str) -> Json:
    """Return a result for an attempt that printed none."""
    return result_as_json(RunReport(outcome=outcome, reason=reason))


def result_entry(output: Path, result: UnitResult, printed: Json | None) -> Json:
    """Return the entry of a unit in reports and in its `ID.json`."""
    patch = output / f"{result.id}.patch"
    shown = printed or failed_result("internal_error", result.reason)
    return {
        "id": result.id,
        "outcome": result.outcome,
        "patch": str(patch) if result.patch_sha256 else None,
        "log": str(output / f"{result.id}.log"),
        "result": shown,
        "unit": result.as_json(),
    }


def _make_result(
    pending: _PendingUnit, report: AttemptReport, verdict: AttemptVerdict
) -> UnitResult:
    unit, printed = pending.unit, report.result or {}
    return UnitResult(
        key=unit.key,
        id=unit.id,
        task=unit.task,
        outcome=verdict.outcome,
        repeat=unit.repeat,
        tags=unit.tags,
        model=unit.model,
        answered_by=as_text(printed.get("answered_by")) or as_text(printed.get("model")),
        reason=verdict.reason,
        attempts=pending.number,
        node=report.node,
        seconds=round(report.seconds, 3),
        usage=pending.usage,
        cost_usd=None if pending.cost is None else round(pending.cost, 6),
        assumed_usd=round(pending.assumed, 6),
        check=report.check,
        patch_sha256=hashlib.sha256(report.patch).hexdigest() if report.patch else "",
        server=report.server,
        digests={name: as_text(each) for name, each in as_object(printed.get("digests")).items()},
    )


def _write_files(output: Path, result: UnitResult, report: AttemptReport, is_retried: bool) -> Json:  # noqa: FBT001  for a thread
    """Write the files of a unit; return its entry."""
    if report.log:
        with (output / f"{result.id}.log").open("wb" if result.attempts == 1 else "ab") as log:
            log.write(report.log)
    (output / f"{result.id}.patch").write_bytes(report.patch)
    if report.transcript:
        (output / f"{result.id}.transcript.jsonl").write_bytes(report.transcript)
    printed = report.result
    if printed is None and result.outcome in ("interrupted", "terminated"):
        printed = failed_result(result.outcome, result.reason)
    entry = result_entry(output, result, printed)
    if not is_retried:
        text = json.dumps(entry, indent=1)
        (output / f"{result.id}.json").write_text(text, encoding="utf-8")
    return entry


def _add_usage(total: UnitUsage, report: AttemptReport) -> UnitUsage:
    used = usage_from_json((report.result or {}).get("usage"))
    return replace(
        total,
        model_calls=total.model_calls + used.model_calls,
        input_tokens=total.input_tokens + used.input_tokens,
        output_tokens=total.output_tokens + used.output_tokens,
        cache_read_tokens=total.cache_read_tokens + used.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens + used.cache_write_tokens,
    )
