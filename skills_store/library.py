"""The skills that some roots hold, as one thing to ask, which looks at the disk each time.

To look means one system call for each folder and file, unless a watcher vouches that nothing
changed. Knows no tools and no sessions; who asks says what a session has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from threading import Lock

from skills_store.collection import Collection, call_name, category_name, joined, names_in
from skills_store.discovery import scan
from skills_store.errors import (
    AmbiguousSkillError,
    ArchivedSkillError,
    HiddenSkillError,
    SkillError,
    SkillNotFoundError,
    UnreadableSkillError,
)
from skills_store.index import IndexRequest
from skills_store.index_cache import IndexCache
from skills_store.scans import Scan
from skills_store.skill import SKILL_FILE, Archived, LoadProblem, Root, Shadowed, Skill
from skills_store.snapshot import Snapshot
from skills_store.viewing import (
    DestinationOf,
    FileView,
    SkillView,
    Viewer,
    view_file,
    view_skill,
)
from skills_store.visibility import Circumstances, is_visible, reason_hidden

RootsOf = Callable[[], Sequence[Root]]

_EVERYTHING = Circumstances()
_NOBODY = Viewer()
_MOST_SIMILAR = 3


@dataclass(frozen=True, slots=True)
class Listed:
    """A skill in a list."""

    name: str
    """The name it is found by."""
    description: str
    category: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The skills that a session sees, and all the categories that they are in."""

    skills: tuple[Listed, ...]
    categories: tuple[tuple[str, str], ...]
    """Name and description, also of those that were not asked for."""


def _never_archived(_name: str) -> Archived | None:
    return None


class Library:
    """The skills of some roots, the first of which wins. All calls block; threads may share it."""

    def __init__(
        self,
        roots: RootsOf,
        snapshot_file: Path | None = None,
        destination_of: DestinationOf = _never_archived,
        indexes: IndexCache | None = None,
    ) -> None:
        """Prepare; nothing is read yet. Without a `snapshot_file` nothing is kept on disk."""
        self._roots = roots
        self._snapshot = Snapshot(snapshot_file) if snapshot_file else None
        self._destination_of = destination_of
        self._indexes = indexes or IndexCache()
        self._scans: dict[Root, Scan] | None = None
        self._collection: Collection | None = None
        self._lock = Lock()
        self._is_watched = False
        self._mark = object()  # another one with each change that is told
        self._mark_seen: object = None

    def skills(self, circumstances: Circumstances = _EVERYTHING) -> tuple[Skill, ...]:
        """Return the skills that a session sees, in the order of category and name."""
        found = self.collection().skills
        return tuple(skill for skill in found if is_visible(skill, circumstances))

    def find(self, name: str) -> Skill:
        """Return the skill of a name: `name`, `category/name` or `plugin:name`, hidden or not.

        Raises:
            AmbiguousSkillError: the root that wins has two of the name.
            SkillNotFoundError: there is none; ArchivedSkillError if there was one.
            UnreadableSkillError: there is one, and its SKILL.md is at fault.
        """
        collection = self.collection()
        named = collection.by_name.get(name, ())
        if not named:
            named = tuple(skill for skill in collection.skills if name == skill.place_name)
        if len(named) == 1:
            return named[0]
        if named:
            raise AmbiguousSkillError(name, [skill.place_name for skill in named])
        raise self._absence(name, collection)

    def list_result(
        self, circumstances: Circumstances = _EVERYTHING, category: str | None = None
    ) -> Listing:
        """Return the skills that a session sees, of one category and those below it, or of all."""
        collection = self.collection()
        skills = [each for each in collection.skills if is_visible(each, circumstances)]
        names = sorted({category_name(skill) for skill in skills})
        told = collection.category_descriptions
        return Listing(
            tuple(
                Listed(call_name(skill, collection), skill.description, category_name(skill))
                for skill in skills
                if category is None or f"{category_name(skill)}/".startswith(f"{category}/")
            ),
            tuple((name, told.get(name, "")) for name in names),
        )

    def view(
        self, name: str, viewer: Viewer = _NOBODY, circumstances: Circumstances = _EVERYTHING
    ) -> SkillView:
        """Return a skill as a model sees it.

        Raises:
            SkillError: as `find` does, and when it is not for this session or cannot be read.
        """
        return view_skill(self._seen(name, circumstances), viewer, self._moved)

    def view_file(
        self,
        name: str,
        path: str,
        viewer: Viewer = _NOBODY,
        circumstances: Circumstances = _EVERYTHING,
    ) -> FileView:
        """Return a file of a skill's folder.

        Raises:
            SkillError: as `view` does, and when the path is refused or cannot be shown.
        """
        return view_file(self._seen(name, circumstances), path, viewer)

    def index(self, request: IndexRequest) -> str:
        """Return the section of the prompt that lists the skills; empty if there are none."""
        return self._indexes.get(self.collection(), request).text

    def knows(self, name: str) -> bool:
        """Whether there is, or was, a skill of the name."""
        return name in self.collection().by_name or self._destination_of(name) is not None

    def problems(self) -> tuple[LoadProblem, ...]:
        """Return what is wrong with the files of the roots."""
        return self.collection().problems

    def shadowed(self) -> tuple[Shadowed, ...]:
        """Return the skills that cannot be reached because an earlier root has their name."""
        return self.collection().shadowed

    def places(self) -> tuple[Path, ...]:
        """Return what a watcher has to watch, with all that is below: roots, and ends of links."""
        self.collection()
        scans = self._scans or {}
        return tuple(dict.fromkeys(place for found in scans.values() for place in found.places()))

    def folders(self) -> tuple[Path, ...]:
        """Return what a watcher has to watch that sees one level only: all that was looked into.

        A root that is not there is among them, and the folder that a linked file leads to.
        """
        self.collection()
        scans = self._scans or {}
        return tuple(dict.fromkeys(each for found in scans.values() for each in found.folders()))

    def watched(self, *, is_watched: bool) -> None:
        """Say whether somebody tells of each change in all `places` from now on, with `touched`."""
        self._mark = object()
        self._is_watched = is_watched

    def touched(self) -> None:
        """Say that something changed. May be called from any thread, and costs nothing."""
        self._mark = object()

    def collection(self) -> Collection:
        """Return what there is now."""
        with self._lock:
            mark = self._mark  # taken before the look: a change during it counts the next time
            is_vouched = self._is_watched and mark is self._mark_seen
            if self._collection is None or not is_vouched:
                self._collection = self._look(self._collection)
                self._mark_seen = mark
            return self._collection

    def _look(self, before: Collection | None) -> Collection:
        roots = self._roots()
        if self._scans is None:
            self._scans = self._snapshot.load(roots) if self._snapshot else {}
        found = {root: self._current(root, self._scans) for root in roots}
        if before is not None and list(found.items()) == list(self._scans.items()):
            return before
        if self._snapshot and found != self._scans:
            self._snapshot.save(found.values())
        self._scans = found
        return joined(tuple(found.values()))

    def _current(self, root: Root, known: dict[Root, Scan]) -> Scan:
        old = known.get(root)
        if old is not None and old.holds():
            return old
        new = scan(root, old)
        return old if new == old and old is not None else new

    def _moved(self, name: str) -> Archived | None:
        """Say where an archived skill went, if there is no other of its name by now."""
        is_there = self._collection is not None and name in self._collection.by_name
        return None if is_there else self._destination_of(name)

    def _seen(self, name: str, circumstances: Circumstances) -> Skill:
        skill = self.find(name)
        reason = reason_hidden(skill, circumstances)
        if reason is not None:
            raise HiddenSkillError(name, reason)
        return skill

    def _absence(self, name: str, collection: Collection) -> SkillError:
        """Return why a name finds nothing."""
        archived = self._destination_of(name)
        if archived is not None:
            return ArchivedSkillError(archived)
        fault = next((each for each in collection.problems if _is_of(each, name)), None)
        if fault is not None:
            return UnreadableSkillError(name, str(fault))
        similar = get_close_matches(name, names_in(collection.skills), _MOST_SIMILAR)
        return SkillNotFoundError(name, similar)


def _is_of(problem: LoadProblem, name: str) -> bool:
    """Whether because of a problem a skill of the name was not loaded."""
    is_document = problem.path.name == SKILL_FILE
    return problem.is_skipped and is_document and problem.path.parent.name == name
