"""Follows the changes of places by the file watch of the process."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.project_files.places import FilePlace, directories_of
from acp_server.session.prompting.file_watch import FileWatch, Subscription, missing_directories


class FollowedPlaces:
    """Places whose changes are reported until they are closed."""

    def __init__(
        self,
        places: Sequence[FilePlace],
        watch: FileWatch | None,
        refresh: Callable[[], Awaitable[None]],
    ) -> None:
        """Prepare; `refresh` is called after each change of the files."""
        self._places = places
        self._watch = watch
        self._refresh = refresh
        self._subscription: Subscription | None = None
        self._names: frozenset[Path] = frozenset()
        self._is_closed = False

    async def follow(self) -> None:
        """Report changes from now on; read the files after this, not before."""
        if self._watch is not None and self._subscription is None and not self._is_closed:
            self._subscription = self._watch.subscribe(self)
            await self._update()

    def close(self) -> None:
        """Stop following changes."""
        self._is_closed = True
        if self._subscription is not None:
            self._subscription.close()

    def is_relevant(self, path: Path) -> bool:
        """Return whether a path may belong to the places. Called in a thread."""
        return path in self._names or any(
            path.is_relative_to(place.directory)
            and (path.name.endswith(place.suffix) or not path.suffix)
            for place in self._places
        )

    async def check_changes(self, paths: frozenset[Path]) -> None:
        """Read the files again after a file event."""
        del paths
        await self._update()
        await self._refresh()

    def report_problem(self, problem: str) -> bool:
        """Ignore that changes are not reported: a file's text is read at each use."""
        del problem
        return False

    async def _update(self) -> None:
        """Watch the directories as they are now, and those in which missing ones would appear."""

        def find() -> tuple[frozenset[Path], frozenset[Path]]:
            missing = {
                name for place in self._places for name in missing_directories(place.directory)
            }
            return frozenset(directories_of(self._places)), frozenset(missing)

        existing, self._names = await to_thread.run_sync(find)
        if self._subscription is not None:
            folders = existing.union(path.parent for path in self._names)
            # The files are read next, so nothing that was changed before needs to be reported.
            self._subscription.watch(folders, is_read=False)
