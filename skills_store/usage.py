"""Usage counters of skills: `.usage.json` in the skills directory, a format shared with Hermes.

Maps skill names to counts and times. Kept in a separate file, so that reading a skill never changes
its SKILL.md.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from skills_store.json_file import Json, JsonFile, JsonObject

logger = logging.getLogger(__name__)

FILE_NAME = ".usage.json"

Clock: TypeAlias = Callable[[], datetime]
SkillState = Literal["active", "stale", "archived"]
UsageEvent = Literal["view", "use", "patch"]
Creator = Literal["agent", "user"]

_EVENT_FIELDS: Mapping[UsageEvent, tuple[str, str]] = {
    "view": ("view_count", "last_viewed_at"),
    "use": ("use_count", "last_used_at"),
    "patch": ("patch_count", "last_patched_at"),
}


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Usage of one skill. Times are in UTC."""

    view_count: int = 0
    use_count: int = 0
    patch_count: int = 0
    last_viewed_at: datetime | None = None
    last_used_at: datetime | None = None
    last_patched_at: datetime | None = None
    created_at: datetime | None = None
    created_by: str | None = None
    pinned: bool = False
    state: SkillState = "active"
    archived_at: datetime | None = None
    restored_at: datetime | None = None

    @property
    def last_activity_at(self) -> datetime | None:
        """When it was last viewed, used or changed; None if never."""
        timestamps = (self.last_viewed_at, self.last_used_at, self.last_patched_at)
        return max((time for time in timestamps if time is not None), default=None)


class SkillUsageStore:
    """Usage records of all skills in one directory. All calls block."""

    def __init__(self, skills_folder: Path, now: Clock | None = None) -> None:
        self._document = JsonFile(skills_folder / FILE_NAME)
        self._now = now or current_time

    def records(self) -> Mapping[str, UsageRecord]:
        """Return all records by skill name."""
        entries = self._document.read().items()
        return {name: _parse_record(entry) for name, entry in entries if isinstance(entry, dict)}

    def record(self, name: str) -> UsageRecord | None:
        """Return the record of one skill; None if there is none."""
        entry = self._document.read().get(name)
        return _parse_record(entry) if isinstance(entry, dict) else None

    def is_pinned(self, name: str) -> bool:
        """Return whether the user pinned the skill.

        Raises:
            OSError: The file cannot be read; that must not count as "not pinned".
        """
        entry = self._document.read_strictly().get(name)
        return isinstance(entry, dict) and _parse_record(entry).pinned

    def count(self, name: str, *events: UsageEvent) -> None:
        """Count events of a skill. Never fails: a write error is logged."""

        def increment(entry: JsonObject, now: str) -> None:
            for event in events:
                counter, time = _EVENT_FIELDS[event]
                entry[counter] = _integer(entry.get(counter)) + 1
                entry[time] = now

        try:
            self._update(name, increment)
        except OSError as error:
            logger.warning(
                "cannot write the usage of the skill %s, it was not counted: %s", name, error
            )

    def record_creation(self, name: str, created_by: Creator) -> None:
        """Start a new record; counts of an earlier skill of that name are dropped.

        Raises:
            OSError: The file cannot be written.
        """

        def start_record(entry: JsonObject, now: str) -> None:
            entry.update(_new_entry(now))
            entry["created_by"] = created_by

        self._update(name, start_record)

    def pin(self, name: str) -> None:
        """Pin a skill: it cannot be deleted, and background runs do not touch it.

        Raises:
            OSError: The file cannot be written.
        """
        self._update(name, lambda entry, _: entry.update(pinned=True))

    def unpin(self, name: str) -> None:
        """Unpin a skill.

        Raises:
            OSError: The file cannot be written.
        """
        self._update(name, lambda entry, _: entry.update(pinned=False))

    def set_state(self, name: str, state: SkillState) -> None:
        """Set the state of a skill; archived to active also sets `restored_at`.

        Raises:
            OSError: The file cannot be written.
        """

        def change_state(entry: JsonObject, now: str) -> None:
            if entry.get("state") == "archived" and state == "active":
                entry["restored_at"] = now
            entry["state"] = state
            entry["archived_at"] = now if state == "archived" else None

        self._update(name, change_state)

    def forget(self, name: str) -> None:
        """Remove the record of a deleted skill.

        Raises:
            OSError: The file cannot be written.
        """
        self._document.update(lambda document: document.pop(name, None))

    def _update(self, name: str, change: Callable[[JsonObject, str], None]) -> None:
        now = format_time(self._now())

        def changed(document: JsonObject) -> None:
            entry = document.get(name)
            if not isinstance(entry, dict):
                entry = _new_entry(now)
                document[name] = entry
            change(entry, now)

        self._document.update(changed)


def rank_by_activity(records: Mapping[str, UsageRecord], names: Iterable[str]) -> tuple[str, ...]:
    """Order skills by the day of their last activity, latest first, then by name.

    By day and not by time, so that using a skill twice a day does not reorder the index.
    """

    def rank(name: str) -> tuple[int, str]:
        record = records.get(name)
        time = None if record is None else record.last_activity_at
        return (0 if time is None else -time.toordinal(), name)

    return tuple(sorted(names, key=rank))


def current_time() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def format_time(time: datetime) -> str:
    """Format a time as Hermes does: ISO 8601 in UTC."""
    return time.astimezone(UTC).isoformat()


def parse_time(value: Json) -> datetime | None:
    """Parse an ISO 8601 time; UTC if it has no zone. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _parse_record(entry: JsonObject) -> UsageRecord:
    state = entry.get("state")
    creator = entry.get("created_by")
    return UsageRecord(
        view_count=_integer(entry.get("view_count")),
        use_count=_integer(entry.get("use_count")),
        patch_count=_integer(entry.get("patch_count")),
        last_viewed_at=parse_time(entry.get("last_viewed_at")),
        last_used_at=parse_time(entry.get("last_used_at")),
        last_patched_at=parse_time(entry.get("last_patched_at")),
        created_at=parse_time(entry.get("created_at")),
        created_by=creator if isinstance(creator, str) else None,
        pinned=entry.get("pinned") is True,
        state=next((known for known in get_args(SkillState) if known == state), "active"),
        archived_at=parse_time(entry.get("archived_at")),
        restored_at=parse_time(entry.get("restored_at")),
    )


def _new_entry(now: str) -> JsonObject:
    entry: JsonObject = {**asdict(UsageRecord()), "created_at": now}
    del entry["restored_at"]  # only a restored skill has it
    return entry


def _integer(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
