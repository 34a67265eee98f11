"""Journal of a fleet: `OUTPUT/journal.jsonl`, one record per line, appended and synced.

Records are JSON objects with `type` and `time` (seconds since 1970):

  run      a driver began: version, server, host, pid, engine, jobs, shard, units, total_cost_usd,
           digests (of its options and settings)
  queued   unit key, id, task, repeat, tags, model, mode, commit
  began    key, id, attempt, node (empty if there are several), handle, reserved_usd
  placed   key, id, attempt, node: the engine has chosen one of several
  ended    key, id, attempt, node, is_final, attempt_cost_usd, result (`UnitResult.as_json`)
  retry    key, id, attempt, seconds, reason
  budget   spent_usd, reserved_usd, total_cost_usd
  pause    seconds, reason
  stopped  outcome, reason: the driver ended in order

No record holds a secret. A kill leaves at most one incomplete line, at the end, which is ignored.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Self, cast

from pydantic import JsonValue

from acp_server.fleet.results import UnitResult, number, result_from_json, whole_number
from acp_server.fleet.unit import Unit
from acp_server.text.json_values import as_list, as_text

JOURNAL_VERSION = 1
NAME = "journal.jsonl"
LOCK_NAME = "journal.lock"
Json = dict[str, JsonValue]


class JournalLockedError(Exception):
    """Another driver works in this output directory; the text names it."""


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """Attempt that began and has not ended: it runs now, or its driver was killed."""

    id: str
    attempt: int
    node: str
    began: float
    reserved_usd: float | None


@dataclass(slots=True)
class JournalContents:
    """All that a journal says, of all runs in its directory."""

    runs: list[Json] = field(default_factory=list[Json])
    """The `run` records, oldest first."""
    queued: dict[str, Json] = field(default_factory=dict[str, Json])
    """The `queued` records of the last run, by unit key, in order."""
    ended: dict[str, UnitResult] = field(default_factory=dict[str, UnitResult])
    """The last result of each unit key, final or not."""
    final: set[str] = field(default_factory=set[str])
    """Keys of units whose last result is final: `--resume` does not run them again."""
    open_attempts: dict[str, OpenAttempt] = field(default_factory=dict[str, OpenAttempt])
    """Attempts without an end, by unit key."""
    attempts: dict[str, int] = field(default_factory=dict[str, int])
    """How many attempts of each unit key began, in all runs."""
    retries: int = 0
    """Number of retries of the last run."""
    ended_usd: float = 0.0
    """Cost of all attempts that have ended; one of unknown cost counts as it was reserved."""
    killed_usd: dict[str, float] = field(default_factory=dict[str, float])
    """What was reserved for attempts of killed drivers, by unit key; their cost is unknown."""
    total_cost_usd: float | None = None
    stopped: Json | None = None
    """The `stopped` record of the last run; None while it runs, or if it was killed."""

    @property
    def spent_usd(self) -> float:
        """Cost of all attempts of all runs, except those that may run now."""
        return self.ended_usd + sum(self.killed_usd.values())

    def assumed_of(self, key: str) -> float:
        """Return the limits that count for a unit's attempts of unknown cost."""
        before = self.ended.get(key)
        return (before.assumed_usd if before else 0.0) + self.killed_usd.get(key, 0.0)

    def note_no_driver(self) -> None:
        """Count attempts without an end: their driver was killed."""
        for key in [*self.open_attempts]:
            self._close_attempt(key)

    @property
    def results(self) -> list[UnitResult]:
        """One result per unit of the last run, in order; `not_run` for those without one."""
        return [self.ended.get(key) or _not_run(key, record) for key, record in self.queued.items()]

    def add(self, record: Json) -> None:
        """Add the next record."""
        key = as_text(record.get("key"))
        match record.get("type"):
            case "run":
                self.note_no_driver()
                self.runs.append(record)
                # Units of an earlier task file do not belong to the new run.
                self.queued.clear()
                self.retries, self.stopped = 0, None
                self.total_cost_usd = number(record.get("total_cost_usd"))
            case "queued":
                self.queued[key] = record
            case "began":
                self._close_attempt(key)
                self.attempts[key] = self.attempts.get(key, 0) + 1
                self.open_attempts[key] = OpenAttempt(
                    as_text(record.get("id")),
                    whole_number(record.get("attempt")),
                    as_text(record.get("node")),
                    number(record.get("time")) or 0.0,
                    number(record.get("reserved_usd")),
                )
            case "placed" if (attempt := self.open_attempts.get(key)) is not None:
                self.open_attempts[key] = replace(attempt, node=as_text(record.get("node")))
            case "ended":
                self._add_end(key, record)
            case "retry":
                self.retries += 1
            case "stopped":
                self.stopped = record
            case _:
                pass  # written by a later version

    def _add_end(self, key: str, record: Json) -> None:
        opened = self.open_attempts.pop(key, None)
        cost = number(record.get("attempt_cost_usd"))
        reserved = opened.reserved_usd if opened else None
        self.ended_usd += cost if cost is not None else reserved or 0.0
        self.ended_usd += self.killed_usd.pop(key, 0.0)  # its result has it now
        self.ended[key] = result_from_json(record.get("result"))
        (self.final.add if record.get("is_final") is True else self.final.discard)(key)

    def _close_attempt(self, key: str) -> None:
        """Count an attempt of a killed driver as if it had cost all that was reserved for it."""
        opened = self.open_attempts.pop(key, None)
        if opened and opened.reserved_usd:
            self.killed_usd[key] = self.killed_usd.get(key, 0.0) + opened.reserved_usd


def _not_run(key: str, record: Mapping[str, JsonValue]) -> UnitResult:
    return UnitResult(
        key=key,
        id=as_text(record.get("id")),
        task=as_text(record.get("task")),
        outcome="not_run",
        repeat=whole_number(record.get("repeat")) or 1,
        tags=tuple(as_text(each) for each in as_list(record.get("tags"))),
        model=as_text(record.get("model")),
    )


def read_records(file: Path, start: int = 0) -> Iterator[tuple[int, Json]]:
    """Yield each complete record from a position in the file, with the position after it."""
    with file.open("rb") as lines:
        lines.seek(start)
        position = start
        for line in lines:
            if not line.endswith(b"\n"):
                return
            position += len(line)
            with suppress(ValueError):
                value = cast("JsonValue", json.loads(line))
                if isinstance(value, dict):
                    yield position, value


def collect_records(records: Iterable[Json]) -> JournalContents:
    """Return the contents of a journal with these records."""
    contents = JournalContents()
    for record in records:
        contents.add(record)
    return contents


def read_journal(directory: Path) -> JournalContents:
    """Return the contents of the journal in an output directory; empty if there is none."""
    file = directory / NAME
    return (
        collect_records(record for _, record in read_records(file))
        if file.is_file()
        else (JournalContents())
    )


def _ignore(record: Json) -> None:
    del record


class FleetJournal:
    """Journal that a driver appends to; it holds the lock of its directory. Blocking."""

    def __init__(self, directory: Path, observe: Callable[[Json], None] = _ignore) -> None:
        """Use the directory, which exists; `observe` is called with each record."""
        self._directory = directory
        self._observe = observe
        self._lock: BinaryIO | None = None
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        """Lock the directory and open the journal.

        Raises:
            JournalLockedError: Another driver holds the lock.
            OSError: The files cannot be written.
        """
        lock = (self._directory / LOCK_NAME).open("a+b")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().decode(errors="replace").strip() or "another process"
            lock.close()
            reason = (
                f"{self._directory} is in use by {owner}; "
                "wait for it, follow it with --follow, or choose another --output"
            )
            raise JournalLockedError(reason) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {os.uname().nodename}".encode())
        lock.flush()
        self._lock = lock
        self._file = (self._directory / NAME).open("ab+")
        self._end_last_line()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the journal and release the lock."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()

    def append(self, kind: str, **values: JsonValue) -> None:
        """Append one record and sync it to disk."""
        self._write([_record(kind, values)])

    def append_queued(self, units: Iterable[Unit]) -> None:
        """Append a `queued` record per unit, with one sync for all."""
        self._write(
            _record(
                "queued",
                {
                    "key": unit.key,
                    "id": unit.id,
                    "task": unit.task,
                    "repeat": unit.repeat,
                    "tags": list(unit.tags),
                    "model": unit.model,
                    "mode": unit.mode,
                    "commit": unit.workspace.commit,
                },
            )
            for unit in units
        )

    def _write(self, records: Iterable[Json]) -> None:
        assert self._file is not None  # noqa: S101  used inside `with`
        for record in records:
            self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            self._observe(record)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _end_last_line(self) -> None:
        """End a line that a kill has cut, so that the next record is readable."""
        assert self._file is not None  # noqa: S101
        if self._file.seek(0, os.SEEK_END):
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")


def _record(kind: str, values: Mapping[str, JsonValue]) -> Json:
    return {"type": kind, "time": round(time.time(), 3), **values}
