"""Which folders are none of the project's own: ignored by git, dependencies, build output.

Reads the `.gitignore` files on the way down to a folder and nothing else, so that the size of a
repository does not matter. Git itself is not run. Its `info/exclude` counts, the user's global
file does not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import cast

from pathspec import GitIgnoreSpec

from prompt_engine.decoding import UndecodableError, decode
from prompt_engine.sources.places import chain, children, git_root, is_file, slashed
from prompt_engine.sources.reading import ReadFile, Remembered, read_within

_DEPENDENCIES = {".venv", "bower_components", "node_modules", "site-packages", "venv", "virtualenv"}
_BUILD_OUTPUT = {"_build", "build", "deriveddata", "dist", "obj", "out", "target"}
_SITE_OUTPUT = {".next", ".nuxt", ".output", ".svelte-kit"}
_VERSION_CONTROL = {".bzr", ".git", ".hg", ".svn"}
_TOOL_STATE = {".direnv", ".eggs", ".gradle", ".nox", ".terraform", ".tox", "coverage", "htmlcov"}
_CACHES = {".cache", ".mypy_cache", ".parcel-cache", ".pytest_cache", ".ruff_cache", ".turbo"}

SKIPPED_NAMES = frozenset(
    _DEPENDENCIES
    | _BUILD_OUTPUT
    | _SITE_OUTPUT
    | _VERSION_CONTROL
    | _TOOL_STATE
    | _CACHES
    | {"__pycache__"}
)
"""Names of folders, in small letters, that hold what others wrote or a tool made."""

_ENVIRONMENT_MARK = ("pyvenv.cfg",)
_IGNORE_FILE = (".gitignore",)

MOST_BYTES = 64 * 1024
MOST_LINES = 2_000

Patterns = tuple[GitIgnoreSpec, ...]
"""The later ones count more."""

_Rules = tuple[Path, Patterns]
_EngineError = cast("type[Exception]", import_module("re2").error)  # the module has no types


def compile_patterns(lines: Sequence[str]) -> Patterns:
    """Return patterns as in `.gitignore`; those that make no sense count for nothing, as in git.

    RE2 matches them, in linear time whatever a repository wrote; too many for one set become
    several.
    """
    try:
        return (GitIgnoreSpec.from_lines(lines, backend="re2"),)
    except (ValueError, re.error, _EngineError):
        if len(lines) == 1:
            return ()
        middle = len(lines) // 2
        return compile_patterns(lines[:middle]) + compile_patterns(lines[middle:])


def meaning(patterns: Patterns, relative: str) -> bool | None:
    """Whether the last of the patterns that matches a path includes it; None if none matches."""
    verdicts = (spec.check_file(relative).include for spec in reversed(patterns))
    return next((verdict for verdict in verdicts if verdict is not None), None)


@dataclass(frozen=True, slots=True)
class Way:
    """The way from a root down to a folder, as far as it is the project's own."""

    folders: tuple[Path, ...]
    """From below the root down; shorter than the way if it enters an ignored folder."""
    rules: tuple[_Rules, ...]

    def hides(self, file: Path) -> bool:
        """Whether git ignores a file that lies in one of the folders."""
        rules = [rule for rule in self.rules if file.is_relative_to(rule[0])]
        return _is_ignored(file, rules, is_folder=False)


@dataclass(slots=True)
class IgnoreRules:
    """The rules that hold in one workspace root, a resolved folder."""

    root: Path
    skipped_names: frozenset[str] = SKIPPED_NAMES
    _top: Path = field(init=False)
    _files: Remembered[Patterns] = field(init=False)

    def __post_init__(self) -> None:
        self._top = git_root(self.root) or self.root
        self._files = Remembered(self._read)

    def way_to(self, folder: Path) -> Way:
        """Return the way down to a resolved folder that lies in the root."""
        rules = self._rules_above()
        folders: list[Path] = []
        for each in chain(self.root, folder)[1:]:
            if self._is_foreign(each) or _is_ignored(each, rules, is_folder=True):
                break
            folders.append(each)
            rules += self._rules_in(each)
        return Way(tuple(folders), tuple(rules))

    def _rules_above(self) -> list[_Rules]:
        """Return the rules that hold in the root itself.

        Who opens a folder that is ignored from above, as everything is in a home folder under
        version control, means that folder: only the rules from there down count then.
        """
        rules = self._excludes()
        for each in chain(self._top, self.root):
            if each != self._top and _is_ignored(each, rules, is_folder=True):
                return self._rules_in(self.root)
            rules += self._rules_in(each)
        return rules

    def _excludes(self) -> list[_Rules]:
        patterns = self._files.get(self._top / ".git" / "info" / "exclude")
        return [(self._top, patterns)] if patterns else []

    def _rules_in(self, folder: Path) -> list[_Rules]:
        patterns = self._files.get(children(folder, _IGNORE_FILE)[0])
        return [(folder, patterns)] if patterns else []

    def _is_foreign(self, folder: Path) -> bool:
        if folder.name.casefold() in self.skipped_names or folder.name.endswith(".egg-info"):
            return True
        return is_file(children(folder, _ENVIRONMENT_MARK)[0])

    def _read(self, path: Path) -> Patterns:
        file = read_within(path, self._top, MOST_BYTES)
        if not isinstance(file, ReadFile):
            return ()
        try:
            return compile_patterns(decode(file.raw).split("\n")[:MOST_LINES])
        except UndecodableError:
            return ()


def _is_ignored(path: Path, rules: Sequence[_Rules], *, is_folder: bool) -> bool:
    """Whether git ignores a path whose folder it does not ignore: the last word counts.

    Each rule's folder lies around the path.
    """
    for folder, patterns in reversed(rules):
        relative = slashed(path, folder) + ("/" if is_folder else "")
        verdict = meaning(patterns, relative)
        if verdict is not None:
            return verdict
    return False
