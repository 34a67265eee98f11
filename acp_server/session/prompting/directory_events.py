"""Directory change events from the operating system, for one waiting thread.

The module imports watchfiles, so it is itself imported only through `lazy_imports`. On network
drives the system reports no changes by other machines; users of those must check for themselves.

Watches directories by their real path and reports changes under the names that were given.
"""

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from watchfiles import Change, watch

from acp_server.session.prompting.file_watch import WatchedDirectories, WatchResult

DEBOUNCE_MILLISECONDS = 300
"""The longest time over which consecutive changes are collected."""
STEP_MILLISECONDS = 100
"""The quiet time that ends a collection; also the reaction time to new directories or shutdown."""
CHECK_SECONDS = 2.0
"""How often to verify that directories are still the same. The system reports nothing for a
directory that does not exist, or whose parent was renamed."""

RawChanges = set[tuple[Change, str]]
_Identity = tuple[int, int] | None
"""Device and inode of a directory; None if it does not exist or is unreadable."""

logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it logs each change


class FileNotifier(Protocol):
    """Collects file-system events from its creation on."""

    def collect(self) -> RawChanges:
        """Return changes once a quiet period follows them; none if there were none for a step.

        Raises:
            RuntimeError: It has ended; it collects nothing any more.
        """
        ...

    def close(self) -> None:
        """Stop collecting."""
        ...


class _Notifier:
    """watchfiles' generator of changes, which starts to watch with its first step."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._steps: Generator[RawChanges] = watch(
            *folders,
            watch_filter=None,
            debounce=DEBOUNCE_MILLISECONDS,
            step=STEP_MILLISECONDS,
            rust_timeout=STEP_MILLISECONDS,
            yield_on_timeout=True,
            debug=False,
            raise_interrupt=False,
            force_polling=False,  # else a variable of the environment could enable it
            recursive=False,
            ignore_permission_denied=False,  # True would also hide that no watches are left
        )
        self._collected = next(self._steps, RawChanges())

    def collect(self) -> RawChanges:
        if changes := self._collected:
            self._collected = RawChanges()
            return changes
        for changes in self._steps:
            return changes
        raise RuntimeError("watchfiles has stopped watching")

    def close(self) -> None:
        self._steps.close()


def open_notifier(folders: Iterable[Path]) -> FileNotifier:
    """Return a notifier for these directories, not for their subdirectories; waits a step.

    Raises:
        FileNotFoundError: one of them does not exist.
        OSError: the system has no watches left.
        RuntimeError: the system has no watching facility.
    """
    return _Notifier(folders)


class DirectoryEvents:
    """The event source of a `FileWatch`; used by one thread at a time."""

    def __init__(
        self,
        open_notifier: Callable[[Iterable[Path]], FileNotifier] = open_notifier,
        *,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._open = open_notifier
        self._check_seconds = check_seconds
        self._next_check_at = 0.0
        self._notifier: FileNotifier | None = None
        self._identities: Mapping[Path, _Identity] = {}
        self._names: Mapping[Path, tuple[Path, ...]] = {}
        """The given names of each watched directory, by real path."""
        self._lost: set[Path] = set()
        """Directories to watch again: they were reported deleted (a recreated one may look the
        same), or could not be watched yet."""

    def wait(
        self, requested: Callable[[], WatchedDirectories], is_closed: threading.Event
    ) -> WatchResult:
        """Block until a change concerns a subscriber; see `EventSource`."""
        while not is_closed.is_set():
            folders = requested()
            if not folders:
                break
            seen = self._follow(folders, requested) if self._is_outdated(folders) else WatchResult()
            if seen == WatchResult():
                seen = WatchResult(frozenset(self._relevant_paths(self._collect(), requested())))
            if seen != WatchResult():
                return seen
        self._close_notifier()
        # The next `wait` must open a notifier, even for the same directories.
        self._identities = {}
        return WatchResult()

    def _is_outdated(self, folders: WatchedDirectories) -> bool:
        """Return whether the watched directories are no longer the wanted ones."""
        if folders.keys() != self._identities.keys():
            return True
        now = time.monotonic()
        # Each check is a `stat` per directory, and this is called ten times a second.
        if now < self._next_check_at:
            return False
        self._next_check_at = now + self._check_seconds
        known = self._identities.items()
        return bool(self._lost) or any(_identity(each) != identity for each, identity in known)

    def _follow(
        self, folders: WatchedDirectories, requested: Callable[[], WatchedDirectories]
    ) -> WatchResult:
        """Watch these directories; return those in which changes may have been missed.

        The old notifier keeps collecting until the new one has started, so that no change is lost.
        """
        before, identities = self._identities, {each: _identity(each) for each in folders}
        changed = {
            folder
            for folder, identity in identities.items()
            # `()` differs from every identity, so that a new directory counts as changed.
            if folder in self._lost or before.get(folder, ()) != identity
        }
        # Only missing directories were added or removed, for which there is nothing to watch: a new
        # notifier would watch thousands of directories again.
        if self._notifier and not self._lost and _existing(identities) == _existing(before):
            self._identities = identities
            self._next_check_at = time.monotonic() + self._check_seconds
            return WatchResult(frozenset(changed))
        names = _names_by_real_path(identities)
        try:
            notifier = self._open(names)
        except FileNotFoundError:
            # A directory vanished between `stat` and the watch: start over.
            self._identities = {}
            return WatchResult()
        except (OSError, RuntimeError) as error:
            # Out of watches, say. Retried with every check; the old notifier stays in use.
            self._identities, self._lost = identities, changed
            return WatchResult(problem=_error_reason(error))
        # Drain the old notifier before it is closed; its last events would be lost otherwise.
        last_changes = RawChanges() if self._notifier is None else self._collect()
        changed |= self._lost
        self._close_notifier()
        self._notifier, self._names = notifier, names
        self._identities, self._lost = identities, set()
        self._next_check_at = time.monotonic() + self._check_seconds
        return WatchResult(frozenset(changed | self._relevant_paths(last_changes, requested())))

    def _collect(self) -> RawChanges:
        """Return the changes; waits for some, or for the current ones to settle."""
        if self._notifier is None:
            # Keeps the pace of the loop until watching is tried again.
            time.sleep(STEP_MILLISECONDS / 1000)
            return set()
        try:
            return self._notifier.collect()
        except RuntimeError:
            # A file name that is not UTF-8 ends the backend's watch, for example. Everything is
            # watched again with the next check.
            self._close_notifier()
            self._lost.update(self._identities)
            return set()

    def _relevant_paths(self, raw: RawChanges, folders: WatchedDirectories) -> set[Path]:
        """Return the changed paths that concern a subscriber, under their given names.

        `folders` must be read after the changes were collected: a subscriber that came before a
        change must hear of it.
        """
        relevant: set[Path] = set()
        for change, name in raw:
            path = Path(name)
            # A watched directory itself changed: verify its identity at once.
            if path in self._names or path in folders:
                self._next_check_at = 0.0
            if change == Change.deleted:
                self._lost.update(self._names.get(path, ()))
            for folder in self._names.get(path.parent, ()):
                given_path = folder / path.name
                if any(is_relevant(given_path) for is_relevant in folders.get(folder, ())):
                    relevant.add(given_path)
        return relevant

    def _close_notifier(self) -> None:
        if self._notifier is not None:
            self._notifier.close()
        self._notifier = None


def _identity(folder: Path) -> _Identity:
    try:
        status = os.stat(folder)  # noqa: PTH116 - half the cost, for thousands of directories
    except OSError:
        return None
    # Watching an unreadable directory fails for all of them at once.
    is_readable = stat.S_ISDIR(status.st_mode) and os.access(folder, os.R_OK)
    return (status.st_dev, status.st_ino) if is_readable else None


def _error_reason(error: Exception) -> str:
    """Return the system's error text without the backend's suffix about the location."""
    return str(error).partition(" about [")[0].rstrip(".")


def _existing(identities: Mapping[Path, _Identity]) -> Mapping[Path, _Identity]:
    return {folder: identity for folder, identity in identities.items() if identity is not None}


def _names_by_real_path(identities: Mapping[Path, _Identity]) -> dict[Path, tuple[Path, ...]]:
    names: dict[Path, tuple[Path, ...]] = {}
    real_parents: dict[str, str] = {}
    for folder, identity in identities.items():
        if identity is not None:
            name = _real_path(str(folder), real_parents)
            real_path = folder if name == str(folder) else Path(name)
            names[real_path] = (*names.get(real_path, ()), folder)
    return names


def _real_path(folder: str, real_parents: dict[str, str]) -> str:
    """Return the real path of an absolute path; that of each parent is found once and kept.

    Resolving all parts of thousands of sibling directories would cost several times as much.
    """
    parent, name = os.path.split(folder)
    try:
        is_link = stat.S_ISLNK(os.lstat(folder).st_mode)
    except OSError:  # it vanished a moment ago
        is_link = True
    if is_link or name in {"", os.curdir, os.pardir}:
        return os.path.realpath(folder)
    if parent not in real_parents:
        real_parents[parent] = os.path.realpath(parent)
    return os.path.join(real_parents[parent], name)  # noqa: PTH118 - a Path for each costs more
