"""The skills of several roots as one queryable library, checked against the disk on each call.

A check costs one `stat` per directory and file, unless a file watcher guarantees that nothing
changed. The caller supplies the facts of the session (tools, platform) that decide visibility.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from threading import Lock

from skills_store.collection import SkillCollection, call_name, category_name, merge_scans, names_in
from skills_store.discovery import scan_root
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
from skills_store.root_scan import RootScan
from skills_store.scan_cache import ScanCache
from skills_store.skill import (
    SKILL_FILE,
    ArchivedSkill,
    LoadProblem,
    ShadowedSkill,
    Skill,
    SkillRoot,
)
from skills_store.viewing import (
    FileView,
    FindArchived,
    SkillView,
    ViewContext,
    view_file,
    view_skill,
)
from skills_store.visibility import VisibilityFacts, is_offered, reason_hidden

GetRoots = Callable[[], Sequence[SkillRoot]]

_NO_FACTS = VisibilityFacts()
_EMPTY_CONTEXT = ViewContext()
_MAX_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill in a list."""

    name: str
    """The name to look it up by."""
    description: str
    category: str


@dataclass(frozen=True, slots=True)
class SkillListing:
    """The skills visible to a session, and all categories that contain one."""

    skills: tuple[ListedSkill, ...]
    categories: tuple[tuple[str, str], ...]
    """Name and description, including categories that were filtered out."""


@dataclass(frozen=True, slots=True)
class WatchDirectories:
    """Directories on which a library depends."""

    wanted: frozenset[Path]
    present: frozenset[Path]
    """Those that exist."""


def offered_skills(collection: SkillCollection, facts: VisibilityFacts) -> tuple[Skill, ...]:
    """Return the skills of a collection that are visible to a session, in its order."""
    return tuple(skill for skill in collection.skills if is_offered(skill, facts))


class SkillLibrary:
    """Skills of several roots; the first root wins. All calls block and are thread-safe."""

    def __init__(
        self,
        roots: GetRoots,
        snapshot_file: Path | None = None,
        find_archived: FindArchived = lambda _name: None,
        indexes: IndexCache | None = None,
    ) -> None:
        """Create the library; reads nothing yet. `snapshot_file` is the scan cache, if any."""
        self._roots = roots
        self._snapshot = ScanCache(snapshot_file) if snapshot_file else None
        self._find_archived = find_archived
        self._indexes = indexes or IndexCache()
        self._scans: dict[SkillRoot, RootScan] | None = None
        self._collection: SkillCollection | None = None
        self._lock = Lock()
        self._scanned_directories: (
            tuple[SkillCollection, frozenset[Path], frozenset[Path]] | None
        ) = None
        """The collection they are for, all, and those that were there."""
        self._is_watched = False
        self._version = object()  # replaced by a new object on each reported change
        self._scanned_version: object = None

    def skills(self, facts: VisibilityFacts = _NO_FACTS) -> tuple[Skill, ...]:
        """Return the skills visible to a session, ordered by category and name."""
        return offered_skills(self.collection(), facts)

    def find(self, name: str) -> Skill:
        """Return a skill by `name`, `category/name` or `plugin:name`, visible or not.

        Raises:
            AmbiguousSkillError: The winning root has two skills of the name.
            SkillNotFoundError: No such skill; ArchivedSkillError if there was one.
            UnreadableSkillError: Its SKILL.md is invalid.
        """
        collection = self.collection()
        matches = collection.by_name.get(name, ())
        if not matches:
            matches = tuple(skill for skill in collection.skills if name == skill.qualified_name)
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise AmbiguousSkillError(name, [skill.qualified_name for skill in matches])
        raise self._not_found_error(name, collection)

    def list_skills(
        self, facts: VisibilityFacts = _NO_FACTS, category: str | None = None
    ) -> SkillListing:
        """Return the skills visible to a session; `category` includes its subcategories."""
        collection = self.collection()
        skills = [each for each in collection.skills if is_offered(each, facts)]
        names = sorted({category_name(skill) for skill in skills})
        descriptions = collection.category_descriptions
        return SkillListing(
            tuple(
                ListedSkill(call_name(skill, collection), skill.description, category_name(skill))
                for skill in skills
                if category is None or f"{category_name(skill)}/".startswith(f"{category}/")
            ),
            tuple((name, descriptions.get(name, "")) for name in names),
        )

    def view(
        self,
        name: str,
        context: ViewContext = _EMPTY_CONTEXT,
        facts: VisibilityFacts = _NO_FACTS,
    ) -> SkillView:
        """Return a skill rendered for the model.

        Raises:
            SkillError: As for `find`, and if it is hidden from this session or unreadable.
        """
        return view_skill(self._find_visible(name, facts), context, self._archived_destination)

    def view_file(
        self,
        name: str,
        path: str,
        context: ViewContext = _EMPTY_CONTEXT,
        facts: VisibilityFacts = _NO_FACTS,
    ) -> FileView:
        """Return a file of a skill's directory.

        Raises:
            SkillError: As for `view`, and if the path is rejected or the file cannot be shown.
        """
        return view_file(self._find_visible(name, facts), path, context)

    def index(self, request: IndexRequest, collection: SkillCollection | None = None) -> str:
        """Return the system prompt section that lists the skills; empty if there are none.

        With `collection`, of this library, its skills are listed and the disk is not read again.
        """
        return self._indexes.get(collection or self.collection(), request).text

    def is_known(self, name: str) -> bool:
        """Return whether there is, or was, a skill of the name."""
        return name in self.collection().by_name or self._find_archived(name) is not None

    def problems(self) -> tuple[LoadProblem, ...]:
        """Return the problems with files of the roots."""
        return self.collection().problems

    def shadowed(self) -> tuple[ShadowedSkill, ...]:
        """Return the skills that are unreachable because an earlier root has their name."""
        return self.collection().shadowed

    def watch_directories(self) -> WatchDirectories:
        """Return the directories for a non-recursive watcher: each one that was scanned.

        Includes roots that do not exist, and the directories of symlink targets.
        """
        collection = self.collection()
        with self._lock:
            scans = tuple((self._scans or {}).values())
            # Paths of thousands of unchanged directories are not built again.
            if self._scanned_directories is None or self._scanned_directories[0] is not collection:
                found = dict(each for scan in scans for each in scan.directories())
                present = frozenset(path for path, is_present in found.items() if is_present)
                self._scanned_directories = (collection, frozenset(found), present)
            _, scanned, present = self._scanned_directories
        targets = frozenset(target for scan in scans for target in scan.link_targets())
        unsure = (scanned - present) | targets
        return WatchDirectories(
            scanned | targets, present.union(path for path in unsure if path.is_dir())
        )

    def set_watched(self, *, is_watched: bool, since_last_scan: bool = False) -> None:
        """Declare whether a watcher of `watch_directories` reports changes to `mark_changed`.

        With `since_last_scan` it has done so since before the last scan, which is not repeated.
        """
        if not (is_watched and since_last_scan):
            self._version = object()
        self._is_watched = is_watched

    def mark_changed(self) -> None:
        """Report a change. Thread-safe and cheap; the next call scans again."""
        self._version = object()

    def collection(self) -> SkillCollection:
        """Return the current skills, scanning if something may have changed."""
        with self._lock:
            version = self._version  # read before the scan: a change during it must trigger another
            is_current = self._is_watched and version is self._scanned_version
            if self._collection is None or not is_current:
                self._collection = self._rescan(self._collection)
                self._scanned_version = version
            return self._collection

    def _rescan(self, previous: SkillCollection | None) -> SkillCollection:
        roots = self._roots()
        if self._scans is None:
            self._scans = self._snapshot.load(roots) if self._snapshot else {}
        found: dict[SkillRoot, RootScan] = {}
        for root in roots:
            old = self._scans.get(root)
            if old is None or not old.is_current():
                new = scan_root(root, old)
                # The same object if nothing changed: comparing with the scan cache stays cheap.
                old = old if new == old and old is not None else new
            found[root] = old
        # Compare in order: when only the order of the roots changed, other skills win.
        if previous is not None and list(found.items()) == list(self._scans.items()):
            return previous
        if self._snapshot and found != self._scans:
            self._snapshot.save(found.values())
        self._scans = found
        return merge_scans(tuple(found.values()))

    def _archived_destination(self, name: str) -> ArchivedSkill | None:
        """Return the successor of an archived skill, unless a new skill has its name."""
        exists = self._collection is not None and name in self._collection.by_name
        return None if exists else self._find_archived(name)

    def _find_visible(self, name: str, facts: VisibilityFacts) -> Skill:
        skill = self.find(name)
        reason = reason_hidden(skill, facts)
        if reason is not None:
            raise HiddenSkillError(name, reason)
        return skill

    def _not_found_error(self, name: str, collection: SkillCollection) -> SkillError:
        """Return the error that explains why a name finds nothing."""
        archived = self._find_archived(name)
        if archived is not None:
            return ArchivedSkillError(archived)
        for problem in collection.problems:
            is_document = problem.path.name == SKILL_FILE and problem.path.parent.name == name
            if problem.is_skipped and is_document:  # it kept the skill from loading
                return UnreadableSkillError(name, str(problem))
        similar = get_close_matches(name, names_in(collection.skills), _MAX_SUGGESTIONS)
        return SkillNotFoundError(name, similar)
