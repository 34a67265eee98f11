"""Workspace root for subdirectory hints: its cached instruction files and rules."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.sources.file_reading import FileCache
from prompt_engine.sources.ignore_rules import DirectoryChain, WorkspaceIgnoreRules
from prompt_engine.sources.instruction_files import InstructionSource, read_instruction_source
from prompt_engine.sources.instruction_reader import (
    AGENTS_NAMES,
    HERMES_NAMES,
    instruction_directories,
)
from prompt_engine.sources.path_rules import (
    MAX_RULES,
    RULE_FORMATS,
    PathRule,
    RuleFormat,
    list_rule_paths,
    read_rule,
)
from prompt_engine.sources.paths import git_root, is_directory, path_label

_SHARED_NAMES = frozenset((*HERMES_NAMES, *AGENTS_NAMES))


@dataclass(slots=True)
class InstructionRoot:
    """Resolved directory of the workspace; labels are relative to `home`."""

    path: Path
    home: Path
    skipped_names: frozenset[str]
    _top: Path = field(init=False)
    _ignored: WorkspaceIgnoreRules = field(init=False)
    _sources: FileCache[InstructionSource | ContextFileNote | None] = field(init=False)
    _imports: FileCache[InstructionSource | ContextFileNote | None] = field(init=False)
    _rules: list["_CachedRules"] = field(init=False)
    _root_folders: frozenset[Path] = field(init=False)
    _root_files: dict[str, Path | None] = field(default_factory=dict[str, Path | None], init=False)

    def __post_init__(self) -> None:
        self._top = git_root(self.path) or self.path
        self._imports = FileCache(
            lambda path: read_instruction_source(path, path_label(path, self.home), self.path)
        )
        directories = instruction_directories(self.path, self._top)
        self._root_folders = frozenset((self.path, *self.path.parents, *directories))
        self._ignored = WorkspaceIgnoreRules(self.path, self.skipped_names)
        self._sources = FileCache(
            lambda path: read_instruction_source(
                path,
                path_label(path, self.home),
                self._top if path.name in _SHARED_NAMES else self.path,
            )
        )
        self._rules = [
            _CachedRules(rules, rules.owner(self.path, self._top), self.home)
            for rules in RULE_FORMATS
        ]

    def locate(self, real_path: Path, chains: dict[Path, DirectoryChain]) -> "TouchedPath":
        """Locate a resolved path in this root; `chains` caches the chains of the current call."""
        folder = real_path if is_directory(real_path) else real_path.parent
        if not folder.is_relative_to(self.path):  # the root itself is not a directory (any more)
            folder = self.path
        if folder not in chains:
            chains[folder] = self._ignored.chain_to(folder)
        return TouchedPath(self, real_path, folder, chains[folder])

    def read_source(self, path: Path) -> InstructionSource | ContextFileNote | None:
        """Return an instruction file in its current state."""
        return self._sources.get(path)

    def read_import(self, path: Path) -> InstructionSource | ContextFileNote | None:
        """Return a file of this root that an instruction file imports, in its current state."""
        return self._imports.get(path)

    def root_sources(self, labels: Iterable[str]) -> Iterator[InstructionSource]:
        """Yield the labelled files that apply to the entire root, in their current state.

        They came with the system prompt: they are in the root, above it, or among its rules.
        """
        for name in labels:
            if name not in self._root_files:
                path = self.home / name
                self._root_files[name] = path if path.parent in self._root_folders else None
            root_file = self._root_files[name]
            source = None if root_file is None else self._sources.get(root_file)
            if isinstance(source, InstructionSource) and source.body:
                yield source

    def read_rules(self) -> Iterator[PathRule | ContextFileNote]:
        """Yield the root's rules in their current state, sorted by name within each format."""
        for rules in self._rules:
            yield from rules.read()


@dataclass(slots=True)
class _CachedRules:
    """Rules of one format in one root."""

    format: RuleFormat
    root: Path
    home: Path
    _paths: FileCache[tuple[Path, ...]] = field(init=False)
    _rules: FileCache[PathRule | ContextFileNote | None] = field(init=False)

    def __post_init__(self) -> None:
        self._paths = FileCache(lambda _: list_rule_paths(self.root, self.format)[:MAX_RULES])
        self._rules = FileCache(lambda path: read_rule(path, self.format, self.root, self.home))

    def read(self) -> Iterator[PathRule | ContextFileNote]:
        for path in self._paths.get(self.root / self.format.directory) or ():
            rule = self._rules.get(path)
            if rule is not None:
                yield rule


@dataclass(frozen=True, slots=True)
class TouchedPath:
    """Resolved path from a tool call, located in its root."""

    root: InstructionRoot
    real_path: Path
    directory: Path
    chain: DirectoryChain

    @property
    def is_ignored(self) -> bool:
        """Whether it is ignored, or in an ignored directory."""
        is_chain_complete = self.directory in (self.root.path, *self.chain.directories[-1:])
        return not is_chain_complete or (
            self.real_path != self.directory and self.chain.is_ignored(self.real_path)
        )

    def directories(self, max_ancestors: int) -> Iterator[Path]:
        """Yield its directory and ancestors below the root, nearest first, without ignored ones.

        A loaded directory does not end the iteration: instructions above it may have been lost with
        compacted messages, or were only named.
        """
        candidates = islice((self.directory, *self.directory.parents), max_ancestors + 1)
        allowed = set(self.chain.directories)
        return (folder for folder in candidates if folder in allowed)
