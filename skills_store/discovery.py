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
from skills_store.root_scan import ABSENT, UNSETTLED, RootScan, settled_stamp, status_of
from skills_store.skill import (
    CATEGORY_FILE,
    LINKED_FOLDERS,
    MAX_FILE_BYTES,
    SKILL_FILE,
    DocumentProblem,
    LoadProblem,
    Skill,
    SkillRoot,
)

MAX_DEPTH = 6
MAX_DIRECTORIES = 2_000
"""Scan limit: the number of directories without a SKILL.md per root."""

IGNORED_DIRECTORIES = frozenset(
    {
        *(".git", ".hg", ".svn", ".hub", ".archive", ".venv", "venv", "node_modules"),
        *("__pycache__", "__pypackages__", ".cache", ".tox", ".nox", ".eggs", ".npm", ".gradle"),
    }
)
_CACHE_ENDING = "_cache"  # .pytest_cache, .ruff_cache and their like
_ENVIRONMENT_FILE = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class _PendingDirectory:
    """A directory waiting to be scanned."""

    path: str
    parts: tuple[str, ...]
    """Path components below the root."""
    ancestors: frozenset[tuple[int, int]]
    """Device and inode of its ancestors, to detect symlink loops."""


def scan_root(root: SkillRoot, known: RootScan | None = None) -> RootScan:
    """Scan a root for skills, reusing entries of `known` whose files did not change.

    Raises nothing: unreadable files are reported as problems.
    """
    return _RootScanner(root, known or RootScan(root)).run()


def is_ignored_directory(name: str) -> bool:
    """Return whether directories of this name are always ignored."""
    return name in IGNORED_DIRECTORIES or (name.startswith(".") and name.endswith(_CACHE_ENDING))


class _RootScanner:
    """One breadth-first scan of a root; directories inside skills come last."""

    def __init__(self, root: SkillRoot, known: RootScan) -> None:
        self._root = root
        self._known = known
        self._known_skills = {(skill.category, skill.name): skill for skill in known.skills}
        self._known_problems: dict[Path, list[LoadProblem]] = {}
        for problem in known.problems:
            self._known_problems.setdefault(problem.path, []).append(problem)
        self._skills: list[Skill] = []
        self._categories: dict[str, str] = {}
        self._problems: list[LoadProblem] = []
        self._manifest: dict[str, Stamp] = {}
        self._linked_files: set[str] = set()
        self._directories = deque([_PendingDirectory(str(root.path), (), frozenset())])
        self._skill_directories: deque[_PendingDirectory] = deque()
        self._empty_directories = 0

    def run(self) -> RootScan:
        while self._directories or self._skill_directories:
            if self._empty_directories >= MAX_DIRECTORIES:
                text = (
                    f"more than {MAX_DIRECTORIES} folders without a skill; the rest is not searched"
                )
                self._problems.append(LoadProblem(self._root.path, 0, text))
                break
            # Insides of skills come last: a skill with thousands of directories must not use up the
            # limit before the other skills are found.
            self._visit((self._directories or self._skill_directories).popleft())
        return RootScan(
            self._root,
            tuple(sorted(self._skills, key=lambda skill: (skill.category, skill.name))),
            dict(sorted(self._categories.items())),
            tuple(sorted(self._problems, key=lambda each: (str(each.path), each.line, each.text))),
            self._manifest,
            frozenset(self._linked_files & self._manifest.keys()),
        )

    def _visit(self, folder: _PendingDirectory) -> None:
        try:
            # stat before listing: a change in between must make the stamp stale.
            status = status_of(folder.path)
            identity = (status.st_dev, status.st_ino)
            # Symlinks are followed, so a link to an ancestor would recurse without end.
            if identity in folder.ancestors:
                return
            self._manifest[folder.path] = settled_stamp(status)
            with os.scandir(folder.path) as listing:
                entries = {entry.name: entry for entry in listing}
        except (FileNotFoundError, NotADirectoryError) as error:
            # A missing root is empty; a missing subdirectory was removed during the scan.
            self._manifest[folder.path] = UNSETTLED if folder.parts else ABSENT
            if not folder.parts and isinstance(error, NotADirectoryError):
                self._record_failure(folder.path, "it is no folder")
        except OSError as error:
            self._record_failure(folder.path, reason_of(error))
        else:
            if _ENVIRONMENT_FILE not in entries:
                self._inspect(folder, entries)
                self._enqueue_children(folder, entries, folder.ancestors | {identity})

    def _inspect(self, folder: _PendingDirectory, entries: dict[str, os.DirEntry[str]]) -> None:
        for name in (SKILL_FILE, CATEGORY_FILE):
            if name in entries and entries[name].is_symlink():
                self._linked_files.add(f"{folder.path}{os.sep}{name}")
        if SKILL_FILE not in entries:
            self._empty_directories += 1
            for name in entries:
                if name.lower() == SKILL_FILE.lower():
                    file = f"{folder.path}{os.sep}{name}"
                    self._record_failure(file, f"it must be named {SKILL_FILE}")
        elif folder.parts:
            self._load_skill(folder)
        else:
            file = f"{folder.path}{os.sep}{SKILL_FILE}"
            self._record_failure(file, "a skill needs a folder of its own in the root")
        if CATEGORY_FILE in entries and folder.parts:
            self._load_category(folder)

    def _enqueue_children(
        self,
        folder: _PendingDirectory,
        entries: dict[str, os.DirEntry[str]],
        ancestors: frozenset[tuple[int, int]],
    ) -> None:
        """Enqueue the subdirectories, except the directories of a skill's support files."""
        if len(folder.parts) >= MAX_DEPTH:
            return
        is_skill = SKILL_FILE in entries and bool(folder.parts)
        queue = self._skill_directories if is_skill else self._directories
        for name in sorted(entries):
            is_linked = is_skill and name in LINKED_FOLDERS
            if not is_linked and not is_ignored_directory(name) and _is_folder(entries[name]):
                queue.append(
                    _PendingDirectory(entries[name].path, (*folder.parts, name), ancestors)
                )

    def _load_skill(self, folder: _PendingDirectory) -> None:
        """Load the skill of a directory, or report why it cannot be loaded."""
        # A colon separates plugin and skill name; control characters could forge lines of the
        # index.
        if not all(part.isprintable() and ":" not in part for part in folder.parts):
            self._record_failure(folder.path, "its name holds characters that no name may hold")
            return
        file = f"{folder.path}{os.sep}{SKILL_FILE}"
        *category, name = folder.parts
        known = self._known_skills.get(("/".join(category), name))
        if known is not None and self._reuse_known_skill(known, file):
            return
        if (text := self._read(file)) is None:
            return
        parsed = document.parse_document(text, name)
        self._record_problems(file, parsed.problems)
        if parsed.is_usable:
            location = (parsed.description, "/".join(category), self._root)
            self._skills.append(Skill(name, *location, parsed.frontmatter))

    def _reuse_known_skill(self, known: Skill, file: str) -> bool:
        """Reuse a known skill if its file did not change; return whether it was reused."""
        try:
            stamp = stamp_of(status_of(file))
        except OSError:
            return False
        if self._known.manifest.get(file) != stamp:
            return False
        self._manifest[file] = stamp
        self._skills.append(known)
        if self._known_problems:
            self._problems += self._known_problems.get(known.document, ())
        return True

    def _load_category(self, folder: _PendingDirectory) -> None:
        """Read the description of a category."""
        file = f"{folder.path}{os.sep}{CATEGORY_FILE}"
        text = self._read(file)
        if text is None:
            return
        block = frontmatter.split(text)
        fields = None if isinstance(block, DocumentProblem) else frontmatter.read_leniently(block)
        description = frontmatter.scalar_text(fields.values.get("description")) if fields else ""
        if description:
            self._categories["/".join(folder.parts)] = description
        else:
            self._record_problems(file, (DocumentProblem(1, "its frontmatter has no description"),))

    def _read(self, file: str) -> str | None:
        """Return a file's text and record its stamp in the manifest."""
        self._manifest[file] = UNSETTLED
        try:
            content = read_regular(file, MAX_FILE_BYTES)
        except OSError as error:
            self._record_failure(file, reason_of(error))
            return None
        self._manifest[file] = settled_stamp(content.status)
        if not content.is_complete:
            self._record_failure(file, f"it is longer than {MAX_FILE_BYTES} bytes")
            return None
        try:
            return content.data.decode()
        except UnicodeDecodeError as error:
            line = content.data.count(b"\n", 0, error.start) + 1
            self._record_problems(
                file, (DocumentProblem(line, "it holds bytes that are no UTF-8"),)
            )
            return content.data.decode(errors="replace")

    def _record_failure(self, path: str, reason: str) -> None:
        self._problems.append(LoadProblem(Path(path), 0, reason, is_skipped=True))

    def _record_problems(self, file: str, problems: Iterable[DocumentProblem]) -> None:
        for each in problems:
            self._problems.append(LoadProblem(Path(file), each.line, each.text, each.is_fatal))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a directory or a symlink to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False
