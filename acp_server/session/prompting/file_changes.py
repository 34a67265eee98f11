"""Reports to the user that instruction files changed after the model received them.

The sent prompt does not change: the system prompt stays until it is written again, and a
directory's instructions are delivered again the next time a call touches it. This module compares
digests; it reads no files and knows no editor.
"""

import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from acp_server.session.ports.observer import ShowNotice, hide_notice
from acp_server.session.prompting.file_watch import FileWatch, Subscription
from acp_server.startup.fast_dataclass import frozen_dataclass
from prompt_engine.facts import SourcedText
from prompt_engine.sources.context_files import ProjectContext
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.instruction_reader import INSTRUCTION_FILE_NAMES
from prompt_engine.sources.path_rules import may_be_rule
from prompt_engine.sources.soul import SOUL_FILE_NAME

INSTRUCTION_NAMES = INSTRUCTION_FILE_NAMES | {SOUL_FILE_NAME}
RELOAD = "run `/reload` to use the current text"
LOADED_LATER = "the current text is loaded when the agent next works in its directory"
UNWATCHED = "you are not told about changes; the agent reads them when it works in their directory"


@frozen_dataclass
class FileDigests:
    """The contents of instruction files at one moment, as digests or texts by label."""

    prompt: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files in the system prompt."""
    hints: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files of directories that the work reached."""
    unusable: frozenset[str] = frozenset()
    """Files that exist but are empty or unreadable."""


@frozen_dataclass
class FileLocations:
    """The locations of the files, by their given names and by their symlink targets."""

    directories: frozenset[Path]
    names: frozenset[str]


@frozen_dataclass
class _FileDifference:
    """A file whose content differs from the delivered one."""

    label: str
    delivered: str
    change: str


def digest_files(found: ProjectContext, soul: SourcedText, hints: Mapping[str, str]) -> FileDigests:
    """Return the digests of a workspace's files, the user's own files and directory hints."""
    digests = found.loaded.files
    # A file without a digest is compared by its text.
    prompt = {file.path: digests.get(file.path, file.text) for file in found.files}
    unusable = {note.path for note in found.notes if note.path not in prompt}
    if soul.fate != "absent":
        prompt[soul.source] = f"{soul.reason}\n{soul.text}"
    return FileDigests(prompt, hints, frozenset(unusable))


def locate_files(digests: FileDigests, home: Path, folders: Collection[Path]) -> FileLocations:
    """Return the locations of the digested files plus other directories. Blocks on the disk."""
    given_paths = [home / label for label in (*digests.prompt, *digests.hints)]
    paths = [*given_paths, *map(resolve, given_paths)]
    names = INSTRUCTION_NAMES.union(path.name for path in paths)
    return FileLocations(frozenset((*folders, *(path.parent for path in paths))), names)


class FileChangeReporter:
    """Notifies the user, once per file and state, that the model has an outdated text."""

    def __init__(
        self,
        watch: FileWatch | None,
        home: Path,
        compare: Callable[[], Awaitable[tuple[FileDigests, FileDigests]]],
        show: ShowNotice = hide_notice,
    ) -> None:
        """Watch for a session in `home`; `compare` returns the delivered and current digests.

        `show` shows a notice immediately and returns whether that was possible.
        """
        self._show = show
        self._watch = watch
        self._home = home
        self._compare = compare
        self._subscription: Subscription | None = None
        self._is_closed = False
        self._watched_names = INSTRUCTION_NAMES
        self._reported: set[_FileDifference] = set()
        self._queued: list[str] = []
        self._problems: list[str] = []

    def watch_unread(self, locations: FileLocations) -> None:
        """Watch these places from now on; called before a prompt is written from them."""
        self._watch_locations(locations, is_read=False)

    def restart(self, locations: FileLocations) -> None:
        """Start over from a prompt that was just written: earlier differences no longer count."""
        self._reported.clear()
        self._queued.clear()
        self.watch_read(locations)

    def watch_read(self, locations: FileLocations) -> None:
        """Watch these places, which have already been read."""
        self._watch_locations(locations, is_read=True)

    def _watch_locations(self, locations: FileLocations, *, is_read: bool) -> None:
        # A read in a thread may end after `close`; it must not subscribe again.
        if self._watch is None or self._is_closed:
            return
        has_new, self._watched_names = not locations.names <= self._watched_names, locations.names
        self._subscription = self._subscription or self._watch.subscribe(self)
        self._subscription.watch(locations.directories, is_read=is_read)
        if is_read and has_new:
            # Changes to these names were filtered out until now, so one may have been missed.
            self._subscription.check_all()

    def take_notices(self) -> tuple[str, ...]:
        """Return the sentences that could not be shown immediately, once."""
        notices = (*self._problems, *self._queued)
        self._problems, self._queued = [], []
        return notices

    def close(self) -> None:
        """Stop watching."""
        self._is_closed = True
        if self._subscription is not None:
            self._subscription.close()

    def is_relevant(self, path: Path) -> bool:
        """Return whether a path may be an instruction file, by its name."""
        return path.name in self._watched_names or may_be_rule(path)

    async def check_changes(self, paths: frozenset[Path]) -> None:
        """Compare all files, regardless of `paths`, and report new differences."""
        del paths
        # An event is only a reason to compare: editors save by rename, so one save causes several
        # events.
        delivered, current = await self._compare()
        for before, after, remedy in (
            (delivered.prompt, current.prompt, RELOAD),
            (delivered.hints, current.hints, LOADED_LATER),
        ):
            differences = set(_find_differences(before, after, current.unusable, self._home))
            new_differences = sorted(differences - self._reported, key=lambda each: each.label)
            self._reported |= differences
            if new_differences:
                changes = ", ".join(f"{each.label} {each.change}" for each in new_differences)
                self._show_or_queue(f"{changes}; {remedy}", self._queued)

    def report_problem(self, problem: str) -> bool:
        """Tell the user that changes will not be reported."""
        sentence = f"Instruction files cannot be watched ({problem}); {UNWATCHED}"
        self._show_or_queue(sentence, self._problems)
        return True

    def _show_or_queue(self, sentence: str, queue: list[str]) -> None:
        if not self._is_closed and not self._show(sentence):
            queue.append(sentence)


def _find_differences(
    before: Mapping[str, str], after: Mapping[str, str], unusable: Collection[str], home: Path
) -> Iterator[_FileDifference]:
    """Yield the files that differ; one that is merely superseded by another counts as unchanged."""
    for label, delivered in before.items():
        if label in after and after[label] == delivered:
            continue
        if label in after or label in unusable:
            yield _FileDifference(label, delivered, "has changed")
        elif not os.path.lexists(home / label):
            yield _FileDifference(label, delivered, "was deleted")
    for label in after.keys() - before.keys():
        yield _FileDifference(label, "", "now applies")
