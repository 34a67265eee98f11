"""What the user is told when files change that a session's model was told of.

Nothing that was sent changes by it: the system prompt stands until it is written anew, and a
folder's instructions come again, as changed, when the work next comes there. Compares what was told
with what files say now; does not read them, and knows no editor.
"""

import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.session.watch import FolderWatch, Subscription
from prompt_engine.facts import Passage
from prompt_engine.sources.context_files import ContextFound
from prompt_engine.sources.kinds import AGENTS_NAMES, CLAUDE_NAMES, CURSOR_NAME, HERMES_NAMES
from prompt_engine.sources.reading import resolve
from prompt_engine.sources.soul import NAME as SOUL_NAME

NAMES = frozenset((*HERMES_NAMES, *AGENTS_NAMES, *CLAUDE_NAMES, CURSOR_NAME, SOUL_NAME))
RULE_SUFFIX = ".mdc"
RELOAD = "`/reload` uses what is there now"
TOUCH = "what is there now comes with the next work in its folder"
UNWATCHED = "they are seen only when the work comes there"


@frozen
class Standing:
    """What files say, or said when the model was told: a digest or a text by each one's label."""

    prompt: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those of the system prompt."""
    hints: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those of folders that the work came to."""
    faulty: frozenset[str] = frozenset()
    """Those that are there and say nothing: empty, or not to be read."""


@frozen
class Places:
    """Where the files are, by their names and by where links lead."""

    folders: frozenset[Path]
    names: frozenset[str]


@frozen
class _Difference:
    """A file that says something else than the model was told."""

    label: str
    told: str
    change: str


def standing_of(found: ContextFound, soul: Passage, hints: Mapping[str, str]) -> Standing:
    """Return what a workspace's files, the user's own and those of folders say."""
    digests = found.loaded.files
    prompt = {file.path: digests.get(file.path, file.text) for file in found.files}
    faulty = {note.path for note in found.notes if note.path not in prompt}
    if soul.fate != "absent":
        prompt[soul.source] = f"{soul.reason}\n{soul.text}"
    return Standing(prompt, hints, frozenset(faulty))


def places_of(standing: Standing, home: Path, folders: Collection[Path]) -> Places:
    """Return where the files of a standing are, and the folders besides. Blocks on the disk."""
    named = [home / label for label in (*standing.prompt, *standing.hints)]
    paths = [*named, *map(resolve, named)]
    names = NAMES.union(path.name for path in paths)
    return Places(frozenset((*folders, *(path.parent for path in paths))), names)


class FileNews:
    """Tells the user, once for each file and state, that the model was told something else."""

    def __init__(
        self,
        watch: FolderWatch | None,
        home: Path,
        compare: Callable[[], Awaitable[tuple[Standing, Standing]]],
    ) -> None:
        """Watch for a session in `home`; `compare` returns what it told, and what files say."""
        self.show: Callable[[str], bool] = _not_shown
        """Shows the user a sentence at once; returns whether that can be done."""
        self._watch = watch
        self._home = home
        self._compare = compare
        self._subscription: Subscription | None = None
        self._is_closed = False
        self._names = NAMES
        self._told: set[_Difference] = set()
        self._waiting: list[str] = []
        self._problems: list[str] = []

    def expect(self, places: Places) -> None:
        """Watch these places from now on, before a prompt is written of what is read there."""
        self._watch_places(places, is_read=False)

    def begin(self, places: Places) -> None:
        """Go on from a prompt that was written just now: all there was to say is past."""
        self._told.clear()
        self._waiting.clear()
        self.follow(places)

    def follow(self, places: Places) -> None:
        """Watch these places, which have been read, from now on."""
        self._watch_places(places, is_read=True)

    def _watch_places(self, places: Places, *, is_read: bool) -> None:
        if self._watch is None or self._is_closed:
            return
        has_new_names, self._names = not places.names <= self._names, places.names
        self._subscription = self._subscription or self._watch.subscribe(self)
        self._subscription.watch(places.folders, is_read=is_read)
        if is_read and has_new_names:  # until now a change of theirs was not told of
            self._subscription.look()

    def take(self) -> tuple[str, ...]:
        """Return what could not be shown at once; it counts as told then."""
        waiting = (*self._problems, *self._waiting)
        self._problems, self._waiting = [], []
        return waiting

    def close(self) -> None:
        """Watch nothing any more."""
        self._is_closed = True
        if self._subscription is not None:
            self._subscription.close()

    def is_concerned(self, path: Path) -> bool:
        """Whether a file of this name may tell a model something."""
        return path.name in self._names or path.suffix == RULE_SUFFIX

    async def look(self, paths: frozenset[Path]) -> None:
        """Find out whether something is different, wherever; tell of what is new."""
        del paths
        told, now = await self._compare()
        for before, after, remedy in (
            (told.prompt, now.prompt, RELOAD),
            (told.hints, now.hints, TOUCH),
        ):
            different = set(_differences(before, after, now.faulty, self._home))
            news = sorted(different - self._told, key=lambda each: each.label)
            self._told |= different
            if news:
                changes = ", ".join(f"{each.label} {each.change}" for each in news)
                self._tell(f"{changes}; {remedy}", self._waiting)

    def hear(self, problem: str) -> bool:
        """Tell the user that changes will be noticed late."""
        sentence = f"Changed instructions cannot be told of ({problem}); {UNWATCHED}"
        self._tell(sentence, self._problems)
        return True

    def _tell(self, sentence: str, unseen: list[str]) -> None:
        if not self._is_closed and not self.show(sentence):
            unseen.append(sentence)


def _differences(
    before: Mapping[str, str], after: Mapping[str, str], faulty: Collection[str], home: Path
) -> Iterator[_Difference]:
    """Find what differs; a file that only stands back behind another says nothing different."""
    for label, told in before.items():
        if label in after and after[label] == told:
            continue
        if label in after or label in faulty:
            yield _Difference(label, told, "has changed")
        elif not os.path.lexists(home / label):
            yield _Difference(label, told, "is gone")
    for label in after.keys() - before.keys():
        yield _Difference(label, "", "counts now")


def _not_shown(sentence: str) -> bool:
    del sentence
    return False
