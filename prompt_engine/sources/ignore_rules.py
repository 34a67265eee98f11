"""Directories that are not part of the project itself: ignored by git, dependencies, build output.

Reads only the `.gitignore` files on the path down to a directory, so that the size of a repository
does not matter. Git is not run. Its `info/exclude` is honoured, the user's global file is not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from prompt_engine.decoding import UndecodableError, decode_text
from prompt_engine.sources.file_reading import FileCache, ReadFile, read_within
from prompt_engine.sources.paths import (
    child_paths,
    directory_chain,
    git_root,
    is_file,
    posix_relative,
)

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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
"""Case-folded names of directories with third-party or generated content."""

_VENV_MARKER = ("pyvenv.cfg",)
_IGNORE_FILE = (".gitignore",)

MAX_BYTES = 64 * 1024
MAX_LINES = 2_000

IgnorePatterns: TypeAlias = "tuple[GitIgnoreSpec, ...]"
"""Later sets take precedence."""

_Rules: TypeAlias = "tuple[Path, IgnorePatterns]"


def compile_patterns(lines: Sequence[str]) -> IgnorePatterns:
    """Compile patterns as in `.gitignore`; invalid ones are ignored, as in git.

    RE2 matches them, in linear time for any pattern a repository contains. If the patterns are too
    many for one set, they are split into several.
    """
    from pathspec import GitIgnoreSpec

    engine_error = cast("type[Exception]", import_module("re2").error)  # the module has no types
    try:
        return (GitIgnoreSpec.from_lines(lines, backend="re2"),)
    except (ValueError, re.error, engine_error):
        if len(lines) == 1:
            return ()
        middle = len(lines) // 2
        return compile_patterns(lines[:middle]) + compile_patterns(lines[middle:])


def match_patterns(patterns: IgnorePatterns, relative: str) -> bool | None:
    """Return whether the last pattern that matches the path includes it; None if none matches."""
    verdicts = (spec.check_file(relative).include for spec in reversed(patterns))
    return next((verdict for verdict in verdicts if verdict is not None), None)


@dataclass(frozen=True, slots=True)
class DirectoryChain:
    """Directories from a root down to a target directory, up to the first ignored one."""

    directories: tuple[Path, ...]
    """Below the root, top down; ends before the first ignored directory."""
    rules: tuple[_Rules, ...]

    def is_ignored(self, file: Path) -> bool:
        """Return whether git ignores a file in one of the directories."""
        rules = [rule for rule in self.rules if file.is_relative_to(rule[0])]
        return _is_ignored(file, rules, is_folder=False)


@dataclass(slots=True)
class WorkspaceIgnoreRules:
    """Ignore rules of one workspace root, a resolved directory."""

    root: Path
    skipped_names: frozenset[str] = SKIPPED_NAMES
    _top: Path = field(init=False)
    _files: FileCache[IgnorePatterns] = field(init=False)

    def __post_init__(self) -> None:
        self._top = git_root(self.root) or self.root
        self._files = FileCache(self._read)

    def chain_to(self, folder: Path) -> DirectoryChain:
        """Return the chain down to a resolved directory in the root."""
        rules = self._rules_above()
        folders: list[Path] = []
        for each in directory_chain(self.root, folder)[1:]:
            if (
                each.name.casefold() in self.skipped_names
                or each.name.endswith(".egg-info")
                or is_file(child_paths(each, _VENV_MARKER)[0])
                or _is_ignored(each, rules, is_folder=True)
            ):
                break
            folders.append(each)
            rules += self._rules_in(each)
        return DirectoryChain(tuple(folders), tuple(rules))

    def _rules_above(self) -> list[_Rules]:
        """Return the rules that apply at the root itself.

        A user who opens a directory that is ignored from above, for example in a home directory
        under version control, means that directory: only the rules from there down count then.
        """
        excludes = self._files.get(self._top / ".git" / "info" / "exclude")
        rules: list[_Rules] = [(self._top, excludes)] if excludes else []
        for each in directory_chain(self._top, self.root):
            if each != self._top and _is_ignored(each, rules, is_folder=True):
                return self._rules_in(self.root)
            rules += self._rules_in(each)
        return rules

    def _rules_in(self, folder: Path) -> list[_Rules]:
        patterns = self._files.get(child_paths(folder, _IGNORE_FILE)[0])
        return [(folder, patterns)] if patterns else []

    def _read(self, path: Path) -> IgnorePatterns:
        file = read_within(path, self._top, MAX_BYTES)
        if not isinstance(file, ReadFile):
            return ()
        try:
            return compile_patterns(decode_text(file.raw).split("\n")[:MAX_LINES])
        except UndecodableError:
            return ()


def _is_ignored(path: Path, rules: Sequence[_Rules], *, is_folder: bool) -> bool:
    """Return whether git ignores a path whose parent is not ignored: the last match wins.

    The directory of each rule contains the path.
    """
    for folder, patterns in reversed(rules):
        relative = posix_relative(path, folder) + ("/" if is_folder else "")
        verdict = match_patterns(patterns, relative)
        if verdict is not None:
            return verdict
    return False
