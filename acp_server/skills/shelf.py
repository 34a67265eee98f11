"""The skills of one set of roots, shared by the sessions that have the same, and kept current.

A shelf watches the folders of its roots, and tells its readers when something in them changed. A
folder that is not there yet is noticed because the one above it is watched. Where nothing can be
watched the library looks at the disk each time.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.session.watch import FolderWatch, Subscription
from skills_store import IndexCache, Library, Root
from skills_store.manage import Keeper

Reader = Callable[[], Awaitable[None]]
"""Called when skills may have changed."""

_RECORD = ".usage.json"
"""What changes each time that a skill is used, with its lock and its temporary files."""


class Shelf:
    """A library, who changes it, and who reads in it."""

    def __init__(
        self,
        home: Path,
        roots: Callable[[], Sequence[Root]],
        indexes: IndexCache,
        watch: FolderWatch | None = None,
    ) -> None:
        """Prepare; `home` is HERMES_HOME. Nothing is read yet."""
        self.keeper = Keeper(home, roots)
        self.library = Library(
            roots,
            home / "acp" / "skills_snapshot.json",
            self.keeper.archive.destination,
            indexes,
        )
        self._roots = roots
        self._plugins = home / "plugins"
        self._watch = watch
        self._subscription: Subscription | None = None
        self._readers: list[Reader] = []
        self._tree: frozenset[Path] = frozenset()
        self._expected: frozenset[Path] = frozenset()
        self._begun: frozenset[Path] = frozenset()
        """Folders that are watched for certain: that was told of each."""
        self._is_vouched_for = False

    async def join(self, reader: Reader) -> None:
        """Tell a reader of changes from now on; the first one begins the watching."""
        self._readers.append(reader)
        if self._watch is not None and self._subscription is None:
            self._subscription = self._watch.subscribe(self)
            await self._follow(self._subscription)

    def leave(self, reader: Reader) -> bool:
        """Tell a reader no more; return whether it was the last one."""
        self._readers = [each for each in self._readers if each != reader]
        if not self._readers and self._subscription is not None:
            self._subscription.close()
            self._subscription, self._begun = None, frozenset()
            self._vouch(is_watched=False)
        return not self._readers

    async def changed(self) -> None:
        """Look again, and have the readers look: something was changed here."""
        self.library.touched()
        for reader in tuple(self._readers):
            await reader()

    def is_concerned(self, path: Path) -> bool:
        """Whether a path may be one of skills. Asked in a thread."""
        if path.parent in self._tree and _RECORD not in path.name:
            return True
        return path in self._expected

    async def look(self, paths: frozenset[Path]) -> None:
        """Look again, everywhere: what did not change costs one system call each."""
        self.library.touched()
        if self._subscription is not None:
            await self._follow(self._subscription, paths)
        for reader in tuple(self._readers):
            await reader()

    def hear(self, problem: str) -> bool:
        """Look at the disk each time from now on; it is for others to tell the user."""
        del problem
        self._vouch(is_watched=False)
        return False

    async def _follow(
        self, subscription: Subscription, told: frozenset[Path] = frozenset()
    ) -> None:
        """Watch what there is by now. Once all of it is, the library need not look by itself."""
        tree, present, expected = await to_thread.run_sync(self._places)
        self._tree, self._expected = tree, expected
        subscription.watch(tree.union(path.parent for path in expected))
        self._begun = (self._begun | told) & tree
        self._vouch(is_watched=present <= self._begun)

    def _vouch(self, *, is_watched: bool) -> None:
        if is_watched != self._is_vouched_for:
            self._is_vouched_for = is_watched
            self.library.watched(is_watched=is_watched)

    def _places(self) -> tuple[frozenset[Path], frozenset[Path], frozenset[Path]]:
        """Return the folders of skills, those that are there, and those that are waited for."""
        tree = frozenset((*self.library.folders(), self._plugins))
        present = frozenset(path for path in tree if path.is_dir())
        roots = (*(root.path for root in self._roots()), self._plugins)
        return tree, present, frozenset(path for root in roots for path in _missing(root))


def _missing(folder: Path) -> Iterator[Path]:
    """Yield a folder and those above it, as far as they are not there."""
    for path in (folder, *folder.parents):
        if path.is_dir():
            return
        yield path
