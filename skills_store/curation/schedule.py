"""When skills are put in order unasked, and which pass was the last: `acp/curator/state.json`.

At first sight of a home the time is noted and nothing else is done: what has lain there for years
may lie a week longer. One process does it at a time.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from skills_store.documents import Document, DocumentFile
from skills_store.home import Home
from skills_store.locks import locked
from skills_store.usage import Clock, current_time, parsed_time, written_time

CURATED_EVERY = timedelta(days=7)
IDLE_FOR = timedelta(hours=2)
AGED_EVERY = timedelta(days=1)
MOST_OVERLAPS = 50


@dataclass(frozen=True, slots=True)
class LastPass:
    """The last pass of a curator that changed the home, and the snapshot taken before it."""

    name: str
    """Of the folder that its report is in."""
    snapshot_id: str
    undone_at: datetime | None = None


class Schedule:
    """The times of one home. All calls block."""

    def __init__(self, home: Home, now: Clock = current_time) -> None:
        self._folder = home.folder / "acp" / "curator"
        self._document = DocumentFile(self._folder / "state.json")
        self._now = now

    def is_curation_due(self, idle: timedelta) -> bool:
        """Say whether a curator's turn has come, once nobody has worked for `idle`.

        Raises:
            OSError: the first sight cannot be noted.
        """
        return idle >= IDLE_FOR and self._is_due("curated_at", CURATED_EVERY)

    def is_ageing_due(self) -> bool:
        """Say whether it is time to look which skills have aged.

        Raises:
            OSError: the first sight cannot be noted.
        """
        return self._is_due("aged_at", AGED_EVERY)

    def note_curation(self, last: LastPass | None) -> None:
        """Note that a curator is or has been at work, and which pass was the last one to undo.

        Raises:
            OSError: it cannot be written.
        """
        self._note("curated_at")
        written = None if last is None else _written(last)
        self._document.change(lambda state: state.update(last_pass=written))

    def note_ageing(self) -> None:
        """Note that the ages were looked at.

        Raises:
            OSError: it cannot be written.
        """
        self._note("aged_at")

    def note_undone(self) -> None:
        """Note that the last pass was undone.

        Raises:
            OSError: it cannot be written.
        """
        last = self.last_pass()
        if last is not None:
            undone = LastPass(last.name, last.snapshot_id, self._now())
            self._document.change(lambda state: state.update(last_pass=_written(undone)))

    def last_pass(self) -> LastPass | None:
        """Return the last pass that changed anything; None when there was none."""
        match self._document.read().get("last_pass"):
            case {"name": str() as name, "snapshot": str() as snapshot, **rest}:
                return LastPass(name, snapshot, parsed_time(rest.get("undone_at")))
            case _:
                return None

    def note_overlaps(self, overlaps: Iterable[str]) -> None:
        """Keep what somebody found to overlap, each a few names, for the next curator.

        Raises:
            OSError: it cannot be written.
        """
        known = list(dict.fromkeys([*self.overlaps(), *overlaps]))[-MOST_OVERLAPS:]
        self._document.change(lambda state: state.update(overlaps=[*known]))

    def overlaps(self) -> tuple[str, ...]:
        """Return what was found to overlap since a curator was there."""
        found = self._document.read().get("overlaps")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    def forget_overlaps(self) -> None:
        """Drop them: a curator has seen them.

        Raises:
            OSError: it cannot be written.
        """
        self._document.change(lambda state: state.update(overlaps=[]))

    @contextmanager
    def alone(self) -> Generator[None]:
        """Be the one process that puts skills in order. Does not wait.

        Raises:
            LockedError: another process is at it.
            OSError: the lock cannot be made.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._folder / "pass", patience_seconds=0):
            yield

    def _is_due(self, key: str, every: timedelta) -> bool:
        last = parsed_time(self._document.read().get(key))
        if last is None:
            self._note(key)
            return False
        return self._now() - last >= every

    def _note(self, key: str) -> None:
        now = written_time(self._now())
        self._document.change(lambda state: state.update({key: now}))


def _written(done: LastPass) -> Document:
    undone = None if done.undone_at is None else written_time(done.undone_at)
    return {"name": done.name, "snapshot": done.snapshot_id, "undone_at": undone}
