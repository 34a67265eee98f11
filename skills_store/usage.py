"""How often and when each skill was used: `.usage.json` in the skills folder, shared with Hermes.

A map by skill name, kept beside the skills so that a SKILL.md never changes by being read. It knows
names and times; what follows from them is decided elsewhere.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from skills_store.documents import Document, DocumentFile, Json

logger = logging.getLogger(__name__)

FILE_NAME = ".usage.json"

Clock: TypeAlias = Callable[[], datetime]
State = Literal["active", "stale", "archived"]
Event = Literal["view", "use", "patch"]
Creator = Literal["agent", "user"]

_FIELDS: Mapping[Event, tuple[str, str]] = {
    "view": ("view_count", "last_viewed_at"),
    "use": ("use_count", "last_used_at"),
    "patch": ("patch_count", "last_patched_at"),
}


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What is known of one skill's use. Times are in UTC."""

    view_count: int = 0
    use_count: int = 0
    patch_count: int = 0
    last_viewed_at: datetime | None = None
    last_used_at: datetime | None = None
    last_patched_at: datetime | None = None
    created_at: datetime | None = None
    created_by: str | None = None
    pinned: bool = False
    state: State = "active"
    archived_at: datetime | None = None
    restored_at: datetime | None = None

    @property
    def last_activity_at(self) -> datetime | None:
        """When it was last viewed, used or changed; None if it never was."""
        times = (self.last_viewed_at, self.last_used_at, self.last_patched_at)
        return max((time for time in times if time is not None), default=None)


class Usage:
    """The records of all skills of one folder. All calls block."""

    def __init__(self, skills_folder: Path, now: Clock | None = None) -> None:
        self._document = DocumentFile(skills_folder / FILE_NAME)
        self._now = now or current_time

    def records(self) -> Mapping[str, UsageRecord]:
        """Return what is known, by the names of the skills."""
        entries = self._document.read().items()
        return {name: _parsed(entry) for name, entry in entries if isinstance(entry, dict)}

    def record(self, name: str) -> UsageRecord | None:
        """Return what is known of one skill; None if nothing is."""
        entry = self._document.read().get(name)
        return _parsed(entry) if isinstance(entry, dict) else None

    def is_pinned(self, name: str) -> bool:
        """Say whether the user wants this skill left alone.

        Raises:
            OSError: that cannot be read, so nobody may take it for a no.
        """
        entry = self._document.read_strictly().get(name)
        return isinstance(entry, dict) and _parsed(entry).pinned

    def count(self, name: str, *events: Event) -> None:
        """Count what was done with a skill. Never fails: what cannot be written is logged."""

        def counted(entry: Document, now: str) -> None:
            for event in events:
                counter, time = _FIELDS[event]
                entry[counter] = _number(entry.get(counter)) + 1
                entry[time] = now

        try:
            self._change(name, counted)
        except OSError as error:
            logger.warning("the use of the skill %s was not counted: %s", name, error)

    def note_creation(self, name: str, created_by: Creator) -> None:
        """Begin a record; nothing of an earlier skill of that name is counted for this one.

        Raises:
            OSError: it cannot be written.
        """

        def begun(entry: Document, now: str) -> None:
            entry.update(_blank(now))
            entry["created_by"] = created_by

        self._change(name, begun)

    def pin(self, name: str) -> None:
        """Have a skill kept: it cannot be deleted, and nothing unasked touches it.

        Raises:
            OSError: it cannot be written.
        """
        self._change(name, lambda entry, _: entry.update(pinned=True))

    def unpin(self, name: str) -> None:
        """Take the pin off.

        Raises:
            OSError: it cannot be written.
        """
        self._change(name, lambda entry, _: entry.update(pinned=False))

    def set_state(self, name: str, state: State) -> None:
        """Note that a skill is in use, idle for long, or archived; or was brought back just now.

        Raises:
            OSError: it cannot be written.
        """

        def moved(entry: Document, now: str) -> None:
            if entry.get("state") == "archived" and state == "active":
                entry["restored_at"] = now
            entry["state"] = state
            entry["archived_at"] = now if state == "archived" else None

        self._change(name, moved)

    def forget(self, name: str) -> None:
        """Drop the record of a skill that is no more.

        Raises:
            OSError: it cannot be written.
        """
        self._document.change(lambda document: _drop(document, name))

    def _change(self, name: str, change: Callable[[Document, str], None]) -> None:
        now = written_time(self._now())

        def changed(document: Document) -> None:
            entry = document.get(name)
            if not isinstance(entry, dict):
                entry = _blank(now)
                document[name] = entry
            change(entry, now)

        self._document.change(changed)


def ranked(records: Mapping[str, UsageRecord], names: Iterable[str]) -> tuple[str, ...]:
    """Order skills by the day on which they were last active, the latest first, then by name.

    Days and not moments, so that using a skill twice on a day moves nothing.
    """

    def rank(name: str) -> tuple[int, str]:
        record = records.get(name)
        time = None if record is None else record.last_activity_at
        return (0 if time is None else -time.toordinal(), name)

    return tuple(sorted(names, key=rank))


def current_time() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


def written_time(time: datetime) -> str:
    """Return a time as Hermes writes it: ISO 8601, in UTC."""
    return time.astimezone(UTC).isoformat()


def parsed_time(value: Json) -> datetime | None:
    """Return a time as it was meant; one without zone is in UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _parsed(entry: Document) -> UsageRecord:
    state = entry.get("state")
    creator = entry.get("created_by")
    return UsageRecord(
        view_count=_number(entry.get("view_count")),
        use_count=_number(entry.get("use_count")),
        patch_count=_number(entry.get("patch_count")),
        last_viewed_at=parsed_time(entry.get("last_viewed_at")),
        last_used_at=parsed_time(entry.get("last_used_at")),
        last_patched_at=parsed_time(entry.get("last_patched_at")),
        created_at=parsed_time(entry.get("created_at")),
        created_by=creator if isinstance(creator, str) else None,
        pinned=entry.get("pinned") is True,
        state=next((known for known in get_args(State) if known == state), "active"),
        archived_at=parsed_time(entry.get("archived_at")),
        restored_at=parsed_time(entry.get("restored_at")),
    )


def _blank(now: str) -> Document:
    return {
        "view_count": 0,
        "use_count": 0,
        "patch_count": 0,
        "last_viewed_at": None,
        "last_used_at": None,
        "last_patched_at": None,
        "created_at": now,
        "created_by": None,
        "pinned": False,
        "state": "active",
        "archived_at": None,
    }


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _drop(document: Document, name: str) -> None:
    document.pop(name, None)
