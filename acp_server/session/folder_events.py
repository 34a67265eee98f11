"""What happens in folders, as the system tells it, for the one thread that waits for it.

Built on watchfiles, which is imported with this module and so by nobody but `loading`. Its backend
is used directly: so it is known when the watching has begun, no variable of the environment can
turn on polling unsaid, and of Python's threads none waits but the caller's. On network drives the
system tells of no changes by other machines; whoever needs these looks for itself.

Knows folders by where they really are, and tells of them by the names they were given.
"""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, Protocol

from watchfiles import Change
from watchfiles._rust_notify import RustNotify

from acp_server.session.watch import Seen, Wanted

DEBOUNCE_MILLISECONDS = 300
"""How long changes may be collected that follow upon each other."""
STEP_MILLISECONDS = 100
"""How long it must be quiet; also how soon another set of folders, or the end, is seen."""
CHECK_SECONDS = 2.0
"""How often it is asked whether folders are still what they were: a folder that is not there, or
whose parents were renamed, is told of by nobody."""

_POLL_DELAY_MILLISECONDS = 300  # watchfiles wants one, though it never polls here

RawChanges = set[tuple[int, str]]
_Identity = tuple[int, int] | None
"""Device and inode of a folder; None if there is none that can be read."""


class Notifier(Protocol):
    """What collects the system's events from its making on."""

    def watch(
        self, debounce_ms: int, step_ms: int, timeout_ms: int, stop_event: None
    ) -> RawChanges | Literal["signal", "stop", "timeout"]:
        """Return changes as soon as it is quiet behind them, or that there were none in time."""
        ...

    def close(self) -> None:
        """Collect no more."""
        ...


def open_notifier(folders: Iterable[Path]) -> Notifier:
    """Return what watches these folders, without what is below them.

    Raises:
        FileNotFoundError: one of them is not there.
        OSError: the system has no watches left.
        RuntimeError: the system has nothing to watch with.
    """
    return RustNotify(
        list(map(str, folders)),
        debug=False,
        force_polling=False,
        poll_delay_ms=_POLL_DELAY_MILLISECONDS,
        recursive=False,
        ignore_permission_denied=False,  # True would hide as well that no watches are left
    )


class FolderEvents:
    """The source of a `FolderWatch`; only one thread uses it at a time."""

    def __init__(
        self,
        open_notifier: Callable[[Iterable[Path]], Notifier] = open_notifier,
        *,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._open = open_notifier
        self._check_seconds = check_seconds
        self._check_at = 0.0
        self._notifier: Notifier | None = None
        self._identities: Mapping[Path, _Identity] = {}
        self._names: Mapping[Path, tuple[Path, ...]] = {}
        """By where a folder really is, the names it was given."""
        self._gone: set[Path] = set()
        """Folders to be watched anew: the system told of their end, and one that is there again may
        look the same; or they could not be watched yet."""

    def wait(self, wanted: Callable[[], Wanted], is_over: threading.Event) -> Seen:
        """Block until something concerns somebody; see `EventSource`."""
        while not is_over.is_set():
            folders = wanted()
            if not folders:
                break
            seen = self._follow(folders, wanted) if self._is_outdated(folders) else Seen()
            if seen == Seen():
                seen = Seen(frozenset(self._told(self._collect(), wanted())))
            if seen != Seen():
                return seen
        self._drop()
        self._identities = {}
        return Seen()

    def _is_outdated(self, folders: Wanted) -> bool:
        """Whether the folders that are watched are not those that are wanted."""
        if folders.keys() != self._identities.keys():
            return True
        now = time.monotonic()
        if now < self._check_at:
            return False
        self._check_at = now + self._check_seconds
        known = self._identities.items()
        return bool(self._gone) or any(_identity(each) != identity for each, identity in known)

    def _follow(self, folders: Wanted, wanted: Callable[[], Wanted]) -> Seen:
        """Watch these folders; tell of those in which something may have been missed.

        The former notifier collects until the new one does, so that the others miss nothing.
        """
        before, identities = self._identities, {each: _identity(each) for each in folders}
        fresh = {
            folder
            for folder, identity in identities.items()
            if folder in self._gone or before.get(folder, ()) != identity
        }
        names = _names_by_place(identities)
        try:
            notifier = self._open(names)
        except FileNotFoundError:  # one went at this very moment: all once more
            self._identities = {}
            return Seen()
        except (OSError, RuntimeError) as error:  # tried again with every check
            self._identities, self._gone = identities, fresh
            return Seen(problem=_reason(error))
        left = self._collect(quiet_milliseconds=1)
        fresh |= self._gone
        self._drop()
        self._notifier, self._names = notifier, names
        self._identities, self._gone = identities, set()
        return Seen(frozenset(fresh | self._told(left, wanted())))

    def _collect(self, quiet_milliseconds: int = STEP_MILLISECONDS) -> RawChanges:
        """Return what happened; waits for it, or for the end of what is happening."""
        quiet = quiet_milliseconds
        if self._notifier is None:
            time.sleep(quiet / 1000)
            return set()
        debounce = DEBOUNCE_MILLISECONDS if quiet == STEP_MILLISECONDS else quiet
        try:
            raw = self._notifier.watch(debounce, quiet, quiet, None)
        except RuntimeError:  # a name that is not UTF-8 ends it, say: all anew with the next check
            self._drop()
            self._gone.update(self._identities)
            return set()
        return raw if isinstance(raw, set) else set()

    def _told(self, raw: RawChanges, folders: Wanted) -> set[Path]:
        """Return, of what happened, the paths that concern somebody, by their given names.

        `folders` are those wanted by now: who came before something happened is to hear of it.
        """
        told: set[Path] = set()
        for change, name in raw:
            path = Path(name)
            if path in self._names or path in folders:
                self._check_at = 0.0
            if change == Change.deleted:
                self._gone.update(self._names.get(path, ()))
            for folder in self._names.get(path.parent, ()):
                given = folder / path.name
                if any(is_concerned(given) for is_concerned in folders.get(folder, ())):
                    told.add(given)
        return told

    def _drop(self) -> None:
        if self._notifier is not None:
            self._notifier.close()
        self._notifier = None


def _identity(folder: Path) -> _Identity:
    try:
        status = folder.stat()
    except OSError:
        return None
    is_readable = stat.S_ISDIR(status.st_mode) and os.access(folder, os.R_OK)
    return (status.st_dev, status.st_ino) if is_readable else None


def _reason(error: Exception) -> str:
    """Return what the system says, without what the backend adds on where it came from."""
    return str(error).partition(" about [")[0].rstrip(".")


def _names_by_place(identities: Mapping[Path, _Identity]) -> dict[Path, tuple[Path, ...]]:
    names: dict[Path, tuple[Path, ...]] = {}
    for folder, identity in identities.items():
        if identity is not None:
            place = Path(os.path.realpath(folder))
            names[place] = (*names.get(place, ()), folder)
    return names
