"""Workspace root for subdirectory hints: its cached instruction files and rules."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from prompt_engine.context_file_types import FileNote
from prompt_engine.sources.cursor_rules import FOLDER, MOST_RULES, CursorRule, read_rule, rule_paths
from prompt_engine.sources.file_reading import Remembered
from prompt_engine.sources.ignore_rules import IgnoreRules, Way
from prompt_engine.sources.instruction_files import Source, read_source
from prompt_engine.sources.instruction_reader import AGENTS_NAMES, HERMES_NAMES
from prompt_engine.sources.paths import git_root, is_folder, label, slashed

_SHARED_NAMES = frozenset((*HERMES_NAMES, *AGENTS_NAMES))


@dataclass(slots=True)
class Root:
    """Resolved directory of the workspace; labels are relative to `home`."""

    path: Path
    home: Path
    skipped_names: frozenset[str]
    _top: Path = field(init=False)
    _ignored: IgnoreRules = field(init=False)
    _sources: Remembered[Source | FileNote | None] = field(init=False)
    _rule_paths: Remembered[tuple[Path, ...]] = field(init=False)
    _rules: Remembered[CursorRule | FileNote | None] = field(init=False)
    _own_folders: frozenset[Path] = field(init=False)
    _own: dict[str, Path | None] = field(default_factory=dict[str, Path | None], init=False)

    def __post_init__(self) -> None:
        self._top = git_root(self.path) or self.path
        self._own_folders = frozenset((self.path, self.path / FOLDER, *self.path.parents))
        self._ignored = IgnoreRules(self.path, self.skipped_names)
        self._sources = Remembered(self._read)
        self._rule_paths = Remembered(lambda _folder: rule_paths(self.path)[:MOST_RULES])
        self._rules = Remembered(lambda path: read_rule(path, self.path, self.home))

    def touched(self, real: Path, ways: dict[Path, Way]) -> "Touched":
        """Locate a resolved path in this root; `ways` caches the chains of the current call."""
        folder = real if is_folder(real) else real.parent
        if not folder.is_relative_to(self.path):  # the root itself is not a directory (any more)
            folder = self.path
        if folder not in ways:
            ways[folder] = self._ignored.way_to(folder)
        return Touched(self, real, folder, ways[folder])

    def source(self, path: Path) -> Source | FileNote | None:
        """Return an instruction file in its current state."""
        return self._sources.get(path)

    def own_sources(self, labels: Iterable[str]) -> Iterator[Source]:
        """Yield the labelled files that apply to the entire root, in their current state.

        They came with the system prompt: they are in the root, above it, or among its rules.
        """
        for name in labels:
            if name not in self._own:
                path = self.home / name
                self._own[name] = path if path.parent in self._own_folders else None
            own = self._own[name]
            source = None if own is None else self._sources.get(own)
            if isinstance(source, Source) and source.body:
                yield source

    def rules(self) -> Iterator[CursorRule | FileNote]:
        """Yield the root's rules in their current state, sorted by name."""
        for path in self._rule_paths.get(self.path / FOLDER) or ():
            rule = self._rules.get(path)
            if rule is not None:
                yield rule

    def _read(self, path: Path) -> Source | FileNote | None:
        is_shared = path.name in _SHARED_NAMES
        return read_source(path, label(path, self.home), self._top if is_shared else self.path)


@dataclass(frozen=True, slots=True)
class Touched:
    """Resolved path from a tool call, located in its root."""

    root: Root
    real: Path
    folder: Path
    way: Way

    @property
    def relative(self) -> str:
        """Path relative to the root, for globs."""
        return slashed(self.real, self.root.path)

    @property
    def is_foreign(self) -> bool:
        """Whether it is ignored, or in an ignored directory."""
        is_reached = self.folder in (self.root.path, *self.way.folders[-1:])
        return not is_reached or (self.real != self.folder and self.way.hides(self.real))

    def folders(self, most_ancestors: int) -> Iterator[Path]:
        """Yield its directory and ancestors below the root, nearest first, without ignored ones.

        A loaded directory does not end the iteration: instructions above it may have been lost with
        compacted messages, or were only named.
        """
        near = islice((self.folder, *self.folder.parents), most_ancestors + 1)
        own = set(self.way.folders)
        return (folder for folder in near if folder in own)
