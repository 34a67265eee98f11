"""Schedule of background curation, and its last run: `acp/curator/state.json`.

On the first check in a home only the time is recorded, so a new user's skills are not reorganized
at once. One process at a time runs the curation.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from skills_store.home import AgentHome
from skills_store.json_file import JsonFile, JsonObject
from skills_store.locks import locked
from skills_store.usage import Clock, current_time, format_time, parse_time

CURATION_INTERVAL = timedelta(days=7)
MIN_IDLE = timedelta(hours=2)
AGING_INTERVAL = timedelta(days=1)
MAX_OVERLAPS = 50


@dataclass(frozen=True, slots=True)
class LastCuration:
    """The last curator run that changed skills, and the backup taken before it."""

    name: str
    """Name of the directory of its report."""
    snapshot_id: str
    undone_at: datetime | None = None


class CurationSchedule:
    """Curation schedule of one agent home. All calls block."""

    def __init__(self, home: AgentHome, now: Clock = current_time) -> None:
        self._folder = home.folder / "acp" / "curator"
        self._document = JsonFile(self._folder / "state.json")
        self._now = now

    def is_curation_due(self, idle: timedelta) -> bool:
        """Return whether a curator run is due after `idle` time without user activity.

        Raises:
            OSError: The first check cannot be recorded.
        """
        return idle >= MIN_IDLE and self._is_due("curated_at", CURATION_INTERVAL)

    def is_aging_due(self) -> bool:
        """Return whether the ages of skills should be checked.

        Raises:
            OSError: The first check cannot be recorded.
        """
        return self._is_due("aged_at", AGING_INTERVAL)

    def record_curation(self, last: LastCuration | None) -> None:
        """Record a curator run that starts or ended, and the last run that can be undone.

        Raises:
            OSError: The file cannot be written.
        """
        self._record("curated_at")
        serialized = None if last is None else _serialize(last)
        self._document.update(lambda state: state.update(last_pass=serialized))

    def record_aging(self) -> None:
        """Record a check of the ages.

        Raises:
            OSError: The file cannot be written.
        """
        self._record("aged_at")

    def record_undone(self) -> None:
        """Record that the last run was undone.

        Raises:
            OSError: The file cannot be written.
        """
        last = self.last_curation()
        if last is not None:
            undone = LastCuration(last.name, last.snapshot_id, self._now())
            self._document.update(lambda state: state.update(last_pass=_serialize(undone)))

    def last_curation(self) -> LastCuration | None:
        """Return the last run that changed skills; None if there was none."""
        match self._document.read().get("last_pass"):
            case {"name": str() as name, "snapshot": str() as snapshot, **rest}:
                return LastCuration(name, snapshot, parse_time(rest.get("undone_at")))
            case _:
                return None

    def record_overlaps(self, overlaps: Iterable[str]) -> None:
        """Store overlaps (each a few skill names) found by a review, for the next curator run.

        Raises:
            OSError: The file cannot be written.
        """
        known = list(dict.fromkeys([*self.overlaps(), *overlaps]))[-MAX_OVERLAPS:]
        self._document.update(lambda state: state.update(overlaps=[*known]))

    def overlaps(self) -> tuple[str, ...]:
        """Return the overlaps found since the last curator run."""
        found = self._document.read().get("overlaps")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    def clear_overlaps(self) -> None:
        """Clear the overlaps after a curator run has seen them.

        Raises:
            OSError: The file cannot be written.
        """
        self._document.update(lambda state: state.update(overlaps=[]))

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Hold the curation lock. Does not wait.

        Raises:
            LockedError: Another process holds it.
            OSError: The lock file cannot be created.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._folder / "pass", timeout_seconds=0):
            yield

    def _is_due(self, key: str, every: timedelta) -> bool:
        last = parse_time(self._document.read().get(key))
        if last is None:
            self._record(key)
            return False
        return self._now() - last >= every

    def _record(self, key: str) -> None:
        now = format_time(self._now())
        self._document.update(lambda state: state.update({key: now}))


def _serialize(curation: LastCuration) -> JsonObject:
    undone_at = None if curation.undone_at is None else format_time(curation.undone_at)
    return {"name": curation.name, "snapshot": curation.snapshot_id, "undone_at": undone_at}
