"""Skill roots shared by the sessions that have the same ones, and kept current.

Watches the directories of the roots and notifies its readers of changes. A missing directory is
noticed because the one above it is watched. Where watching is not possible, the library reads the
disk each time.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from anyio import to_thread

from acp_server.session.prompting.file_watch import FileWatch, Subscription, missing_directories
from skills_store.index_cache import IndexCache
from skills_store.library import SkillLibrary
from skills_store.skill import ArchivedSkill, SkillRoot

if TYPE_CHECKING:
    from skills_store.editor import SkillEditor

ChangeListener = Callable[[], Awaitable[None]]
"""Called when skills may have changed."""

_USAGE_FILE = ".usage.json"
"""Usage record, written at each use of a skill, with its lock and temporary files."""


class SkillRoots:
    """A library, its editor, and the sessions that read it."""

    def __init__(
        self,
        home: Path,
        roots: Callable[[], Sequence[SkillRoot]],
        indexes: IndexCache,
        watch: FileWatch | None = None,
    ) -> None:
        """Prepare; `home` is HERMES_HOME. Nothing is read yet."""
        self.library = SkillLibrary(
            roots, home / "acp" / "skills_snapshot.json", self._find_archived, indexes
        )
        self._home = home
        self._roots = roots
        self._editor: SkillEditor | None = None
        self._editor_lock = Lock()
        self._plugins = home / "plugins"
        self._watch = watch
        self._subscription: Subscription | None = None
        self._listeners: list[ChangeListener] = []
        self._tree: frozenset[Path] = frozenset()
        self._expected: frozenset[Path] = frozenset()
        self._confirmed: frozenset[Path] = frozenset()
        """Directories whose watching was confirmed."""
        self._is_watched = False

    @property
    def editor(self) -> "SkillEditor":
        """The editor of the skills, imported and created at its first use."""
        with self._editor_lock:
            if self._editor is None:
                from skills_store.editor import SkillEditor

                self._editor = SkillEditor(self._home, self._roots)
            return self._editor

    def subscribe(self, listener: ChangeListener) -> None:
        """Notify a reader of changes from now on; the first one starts the watching.

        The directories are found when watching may start: thousands of them would delay a first
        prompt, and until then the library reads the disk each time.
        """
        self._listeners.append(listener)
        if self._watch is not None and self._subscription is None:
            self._subscription = self._watch.subscribe(self)
            self._watch.run_when_started(partial(self._start_watching, self._subscription))

    def unsubscribe(self, listener: ChangeListener) -> bool:
        """Stop notifying a reader; return whether it was the last one."""
        self._listeners = [each for each in self._listeners if each != listener]
        if not self._listeners and self._subscription is not None:
            self._subscription.close()
            self._subscription, self._confirmed = None, frozenset()
            self._set_watched(is_watched=False)
        return not self._listeners

    async def invalidate(self) -> None:
        """Invalidate the library and notify the readers of our own change."""
        self.library.mark_changed()
        for listener in tuple(self._listeners):
            await listener()

    def is_relevant(self, path: Path) -> bool:
        """Return whether a changed path may belong to skills. Called in a thread."""
        if path.parent in self._tree and _USAGE_FILE not in path.name:
            return True
        return path in self._expected

    async def check_changes(self, paths: frozenset[Path]) -> None:
        """Invalidate the library after a file event; unchanged files cost one system call each."""
        self.library.mark_changed()
        if self._subscription is not None:
            await self._watch_directories(self._subscription, paths)
        for listener in tuple(self._listeners):
            await listener()

    def report_problem(self, problem: str) -> bool:
        """Handle a watch failure: read the disk each time from now on.

        The failure is reported to the user elsewhere.
        """
        del problem
        self._set_watched(is_watched=False)
        return False

    async def _start_watching(self, subscription: Subscription) -> None:
        if subscription is self._subscription:  # it may have been closed meanwhile
            await self._watch_directories(subscription)

    async def _watch_directories(
        self, subscription: Subscription, reported: frozenset[Path] = frozenset()
    ) -> None:
        """Watch the current directories; once all are watched, the library need not poll."""
        tree, present, expected = await to_thread.run_sync(self._find_directories)
        self._tree, self._expected = tree, expected
        subscription.watch(tree.union(path.parent for path in expected))
        # Watching starts asynchronously: until it is confirmed, changes may be missed.
        self._confirmed = (self._confirmed | reported) & tree
        # The directories were confirmed before they were scanned just now.
        self._set_watched(is_watched=present <= self._confirmed, since_last_scan=bool(reported))

    def _find_archived(self, name: str) -> ArchivedSkill | None:
        return self.editor.archive.find_destination(name)

    def _set_watched(self, *, is_watched: bool, since_last_scan: bool = False) -> None:
        if is_watched != self._is_watched:
            self._is_watched = is_watched
            self.library.set_watched(is_watched=is_watched, since_last_scan=since_last_scan)

    def _find_directories(self) -> tuple[frozenset[Path], frozenset[Path], frozenset[Path]]:
        """Return the skill directories, those that exist, and the missing root paths."""
        directories = self.library.watch_directories()
        tree = directories.wanted | {self._plugins}
        present = directories.present
        if self._plugins.is_dir():
            present |= {self._plugins}
        roots = (*(root.path for root in self._roots()), self._plugins)
        return (
            tree,
            present,
            frozenset(path for root in roots for path in missing_directories(root)),
        )
