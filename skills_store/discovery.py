"""Scan a root for skills.

The result does not depend on directory order. A faulty file is reported as a problem and affects at
most its own skill.
"""

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skills_store import document, frontmatter
from skills_store.reading import Stamp, read_regular, reason_of, stamp_of
from skills_store.root_scan import ABSENT, UNSETTLED, Scan, settled, status_of
from skills_store.skill import (
    CATEGORY_FILE,
    LINKED_FOLDERS,
    MOST_FILE_BYTES,
    SKILL_FILE,
    LoadProblem,
    Problem,
    Root,
    Skill,
)

MOST_LEVELS = 6
MOST_FOLDERS = 2_000
"""Scan limit: the number of directories without a SKILL.md per root."""

NEVER_ENTERED = frozenset(
    {
        *(".git", ".hg", ".svn", ".hub", ".archive", ".venv", "venv", "node_modules"),
        *("__pycache__", "__pypackages__", ".cache", ".tox", ".nox", ".eggs", ".npm", ".gradle"),
    }
)
_CACHE_ENDING = "_cache"  # .pytest_cache, .ruff_cache and their like
_ENVIRONMENT_FILE = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory waiting to be scanned."""

    path: str
    parts: tuple[str, ...]
    """Path components below the root."""
    above: frozenset[tuple[int, int]]
    """Device and inode of its ancestors, to detect symlink loops."""


def scan(root: Root, known: Scan | None = None) -> Scan:
    """Scan a root for skills, reusing entries of `known` whose files did not change.

    Raises nothing: unreadable files are reported as problems.
    """
    return _Walk(root, known or Scan(root)).run()


def is_never_entered(name: str) -> bool:
    """Return whether directories of this name are always ignored."""
    return name in NEVER_ENTERED or (name.startswith(".") and name.endswith(_CACHE_ENDING))


class _Walk:
    """One breadth-first scan of a root; directories inside skills come last."""

    def __init__(self, root: Root, known: Scan) -> None:
        self._root = root
        self._known = known
        self._known_skills = {str(skill.folder): skill for skill in known.skills}
        self._known_problems: dict[Path, list[LoadProblem]] = {}
        for problem in known.problems:
            self._known_problems.setdefault(problem.path, []).append(problem)
        self._skills: list[Skill] = []
        self._categories: dict[str, str] = {}
        self._problems: list[LoadProblem] = []
        self._manifest: dict[str, Stamp] = {}
        self._folders = deque([_Folder(str(root.path), (), frozenset())])
        self._insides: deque[_Folder] = deque()
        self._fruitless = 0

    def run(self) -> Scan:
        while self._folders or self._insides:
            if self._fruitless >= MOST_FOLDERS:
                text = f"more than {MOST_FOLDERS} folders without a skill; the rest is not searched"
                self._problems.append(LoadProblem(self._root.path, 0, text))
                break
            # Insides of skills come last: a skill with thousands of directories must not use up the
            # limit before the other skills are found.
            self._enter((self._folders or self._insides).popleft())
        return Scan(
            self._root,
            tuple(sorted(self._skills, key=lambda skill: (skill.category, skill.name))),
            dict(sorted(self._categories.items())),
            tuple(sorted(self._problems, key=lambda each: (str(each.path), each.line, each.text))),
            self._manifest,
        )

    def _enter(self, folder: _Folder) -> None:
        try:
            status = status_of(
                folder.path
            )  # stat before listing: a change in between must make the stamp stale
            identity = (status.st_dev, status.st_ino)
            # Symlinks are followed, so a link to an ancestor would recurse without end.
            if identity in folder.above:
                return
            self._manifest[folder.path] = settled(status)
            with os.scandir(folder.path) as listing:
                entries = {entry.name: entry for entry in listing}
        except (FileNotFoundError, NotADirectoryError) as error:
            self._miss(folder, error)
        except OSError as error:
            self._fail(folder.path, reason_of(error))
        else:
            if _ENVIRONMENT_FILE not in entries:
                self._look(folder, entries)
                self._queue(folder, entries, folder.above | {identity})

    def _miss(self, folder: _Folder, error: OSError) -> None:
        """Treat a missing root as empty; a missing subdirectory was removed during the scan."""
        self._manifest[folder.path] = UNSETTLED if folder.parts else ABSENT
        if not folder.parts and isinstance(error, NotADirectoryError):
            self._fail(folder.path, "it is no folder")

    def _look(self, folder: _Folder, entries: dict[str, os.DirEntry[str]]) -> None:
        if SKILL_FILE not in entries:
            self._fruitless += 1
            for name in entries:
                if name.lower() == SKILL_FILE.lower():
                    text = f"it must be named {SKILL_FILE}"
                    self._problems.append(
                        LoadProblem(Path(folder.path, name), 0, text, is_skipped=True)
                    )
        elif folder.parts:
            self._load(folder)
        else:
            text = "a skill needs a folder of its own in the root"
            self._problems.append(
                LoadProblem(Path(folder.path, SKILL_FILE), 0, text, is_skipped=True)
            )
        if CATEGORY_FILE in entries and folder.parts:
            self._describe(folder)

    def _queue(
        self,
        folder: _Folder,
        entries: dict[str, os.DirEntry[str]],
        above: frozenset[tuple[int, int]],
    ) -> None:
        """Enqueue the subdirectories, except the directories of a skill's support files."""
        if len(folder.parts) >= MOST_LEVELS:
            return
        is_skill = SKILL_FILE in entries and bool(folder.parts)
        queue = self._insides if is_skill else self._folders
        for name in sorted(entries):
            is_linked = is_skill and name in LINKED_FOLDERS
            if not is_linked and not is_never_entered(name) and _is_folder(entries[name]):
                queue.append(_Folder(entries[name].path, (*folder.parts, name), above))

    def _load(self, folder: _Folder) -> None:
        """Load the skill of a directory, or report why it cannot be loaded."""
        # A colon separates plugin and skill name; control characters could forge lines of the
        # index.
        if not all(part.isprintable() and ":" not in part for part in folder.parts):
            self._fail(folder.path, "its name holds characters that no name may hold")
            return
        file = f"{folder.path}{os.sep}{SKILL_FILE}"
        if self._take_over(folder.path, file) or (text := self._read(file)) is None:
            return
        *category, name = folder.parts
        parsed = document.parse(text, name)
        self._report(file, parsed.problems)
        if parsed.is_usable:
            place = (parsed.description, "/".join(category), Path(folder.path), self._root)
            self._skills.append(Skill(name, *place, parsed.frontmatter))

    def _take_over(self, folder: str, file: str) -> bool:
        """Reuse a known skill if its file did not change; return whether it was reused."""
        known = self._known_skills.get(folder)
        if known is None:
            return False
        try:
            stamp = stamp_of(status_of(file))
        except OSError:
            return False
        if self._known.manifest.get(file) != stamp:
            return False
        self._manifest[file] = stamp
        self._skills.append(known)
        self._problems += self._known_problems.get(known.document, ())
        return True

    def _describe(self, folder: _Folder) -> None:
        """Read the description of a category."""
        file = f"{folder.path}{os.sep}{CATEGORY_FILE}"
        text = self._read(file)
        if text is None:
            return
        block = frontmatter.split(text)
        fields = None if isinstance(block, Problem) else frontmatter.read_leniently(block)
        description = frontmatter.text_of(fields.values.get("description")) if fields else ""
        if description:
            self._categories["/".join(folder.parts)] = description
        else:
            self._report(file, (Problem(1, "its frontmatter has no description"),))

    def _read(self, file: str) -> str | None:
        """Return a file's text and record its stamp in the manifest."""
        self._manifest[file] = UNSETTLED
        try:
            content = read_regular(file, MOST_FILE_BYTES)
        except OSError as error:
            self._fail(file, reason_of(error))
            return None
        self._manifest[file] = settled(content.status)
        if not content.is_whole:
            self._fail(file, f"it is longer than {MOST_FILE_BYTES} bytes")
            return None
        try:
            return content.data.decode()
        except UnicodeDecodeError as error:
            line = content.data.count(b"\n", 0, error.start) + 1
            self._report(file, (Problem(line, "it holds bytes that are no UTF-8"),))
            return content.data.decode(errors="replace")

    def _fail(self, path: str, reason: str) -> None:
        self._problems.append(LoadProblem(Path(path), 0, reason, is_skipped=True))

    def _report(self, file: str, problems: Iterable[Problem]) -> None:
        for each in problems:
            self._problems.append(LoadProblem(Path(file), each.line, each.text, each.is_fatal))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a directory or a symlink to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False
