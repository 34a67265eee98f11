"""Finds instructions that apply to the paths in use and have not reached the model yet.

Examines the directory of a touched path and a few of its ancestors, never a whole tree. Caches
file contents, invalidated on change, but not deliveries: those are in the conversation, and the
caller passes them in.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.findings import ThreatFinding, ThreatScan
from prompt_engine.hint_blocks import InstructionHint, LoadedHints
from prompt_engine.sources.file_reading import FileId, resolve
from prompt_engine.sources.ignore_rules import SKIPPED_NAMES, DirectoryChain
from prompt_engine.sources.imports import read_imports
from prompt_engine.sources.instruction_files import (
    InstructionSource,
    RenderedInstructions,
    render_instructions,
)
from prompt_engine.sources.instruction_reader import (
    AGENTS_NAMES,
    CLAUDE_NAMES,
    CURSOR_NAME,
    HERMES_NAMES,
)
from prompt_engine.sources.instruction_roots import InstructionRoot, TouchedPath
from prompt_engine.sources.path_rules import PathRule
from prompt_engine.sources.paths import child_paths
from prompt_engine.truncation import TruncatedText, truncate
from prompt_engine.trust import ScanVerdict, TrustCheck, describe_findings, trust_nothing

HINT_FILE_NAMES = (HERMES_NAMES[0], *AGENTS_NAMES, *CLAUDE_NAMES, CURSOR_NAME)
MAX_ANCESTORS = 5
MAX_FILES = 5
MAX_FILE_CHARACTERS = 8_000
MAX_DELIVERY_CHARACTERS = 24_000

_MAX_CACHED = 2_048
_RULE_DEPTH = 10_000  # rules come after directories


@dataclass(frozen=True, slots=True)
class HintDelivery:
    """Hints to append to a result or message, and the notes for the user."""

    hints: tuple[InstructionHint, ...] = ()
    """In order: for each path in turn the outermost first, then rules."""
    named_only: tuple[str, ...] = ()
    """Labels of files that did not fit; they are delivered when touched again."""
    notes: tuple[ContextFileNote, ...] = ()
    """Outcome of each file; an unreadable file is noted once."""

    @property
    def loaded(self) -> LoadedHints:
        """Conversation state that the delivery adds."""
        return LoadedHints({hint.label: hint.digest for hint in self.hints})


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Instruction file that applies to a touched path."""

    rendered: RenderedInstructions
    order: tuple[int, int]
    """Index of the path among the touched ones; depth at which the file applies."""

    @property
    def label(self) -> str:
        return self.rendered.source.label


@dataclass(slots=True)
class HintFinder:
    """Finds the hints of one session. All calls block on disk I/O, never on a pipe."""

    roots: Sequence[Path]
    """The workspace's directories, absolute; the session's own first."""
    scan: ThreatScan
    trusted: TrustCheck = trust_nothing
    skipped_names: frozenset[str] = SKIPPED_NAMES
    _roots: tuple[InstructionRoot, ...] = field(init=False)
    _home: Path = field(init=False)
    _findings: dict[str, tuple[ThreatFinding, ...]] = field(init=False)
    _reported_notes: set[ContextFileNote] = field(init=False)

    def __post_init__(self) -> None:
        real_roots = dict.fromkeys(map(resolve, self.roots))
        self._home = next(iter(real_roots))
        # Roots can be nested: the lookup takes the first match, which must be the innermost.
        deepest_first = sorted(real_roots, key=lambda root: len(root.parts), reverse=True)
        self._roots = tuple(
            InstructionRoot(root, self._home, self.skipped_names) for root in deepest_first
        )
        self._findings = {}
        self._reported_notes = set()

    def find(self, paths: Sequence[Path], loaded: LoadedHints) -> HintDelivery:
        """Return the new hints for some touched paths.

        The paths are in the order in which they were touched; relative paths start at the first
        root. `loaded` is the current content of the conversation, including the system prompt.
        """
        search = _HintSearch(loaded)
        candidates: dict[str, _Candidate] = {}
        for path_index, path in enumerate(paths):
            for candidate in self._candidates(path, path_index, search):
                candidates.setdefault(candidate.label, candidate)
        delivery = _DeliveryBuilder(loaded, search.notes)
        for candidate in candidates.values():
            delivery.add(candidate)
        return delivery.build()

    def current_state(self, labels: Iterable[str]) -> LoadedHints:
        """Return the current state of delivered files, omitting those that lost their content."""
        digests: dict[str, str] = {}
        for name in labels:
            path = self._home / name
            touched = self._locate(path, {})
            source = None if touched is None else touched.root.read_source(path)
            if isinstance(source, InstructionSource) and source.body:
                digests[name] = self._show(source).digest
        return LoadedHints(digests)

    def _candidates(
        self, path: Path, path_index: int, search: "_HintSearch"
    ) -> Iterator[_Candidate]:
        """Yield the files that apply to a path, most relevant first: near, far, then rules."""
        touched = self._locate(path, search.chains)
        if touched is None:
            return
        root = touched.root
        for folder in touched.directories(MAX_ANCESTORS):
            depth = len(folder.parts)
            if folder not in search.folders:
                search.folders[folder] = list(self._first_of(folder, touched, search.notes))
            for rendered in search.folders[folder]:
                yield _Candidate(rendered, (path_index, depth))
        if root.path not in search.root_hints:
            search.root_hints[root.path] = [
                self._show(each) for each in root.root_sources(search.loaded.files)
            ]
        for rendered in search.root_hints[root.path]:
            yield _Candidate(rendered, (path_index, 0))
        for index, rule in enumerate(self._rules(touched, search)):
            rendered = self._show(rule.source)
            yield _Candidate(rendered, (path_index, _RULE_DEPTH + index))

    def _locate(self, path: Path, chains: dict[Path, DirectoryChain]) -> TouchedPath | None:
        """Locate a path in its root; None if it is outside the workspace."""
        try:
            real_path = resolve(self._home / path)
        except ValueError:
            return None
        root = next((each for each in self._roots if real_path.is_relative_to(each.path)), None)
        return None if root is None else root.locate(real_path, chains)

    def _first_of(
        self, folder: Path, touched: TouchedPath, notes: list[ContextFileNote]
    ) -> Iterator[RenderedInstructions]:
        """Yield the first file of a directory with content, and blocked files before it."""
        seen: set[FileId] = set()
        for path in child_paths(folder, HINT_FILE_NAMES):
            source = touched.root.read_source(path)
            if source is None or touched.chain.is_ignored(path):
                continue
            if isinstance(source, ContextFileNote):
                self._note(source, notes)
            elif source.identity not in seen and source.body:
                seen.add(source.identity)
                rendered = self._show(source)
                yield rendered
                if not rendered.verdict.is_blocked:
                    yield from self._imports(source, touched, notes)
                    break

    def _imports(
        self, source: InstructionSource, touched: TouchedPath, notes: list[ContextFileNote]
    ) -> Iterator[RenderedInstructions]:
        """Yield the files that a file imports, in their current state."""
        for found in read_imports(source, self._home, touched.root.read_import):
            if isinstance(found, ContextFileNote):
                self._note(found, notes)
            elif found.body:
                yield self._show(found)

    def _rules(self, touched: TouchedPath, search: "_HintSearch") -> Iterator[PathRule]:
        if touched.is_ignored:
            return
        root = touched.root
        if root.path not in search.rules:
            readable = search.rules[root.path] = list[PathRule]()
            for rule in root.read_rules():
                if isinstance(rule, ContextFileNote):
                    self._note(rule, search.notes)
                elif rule.source.body:
                    readable.append(rule)
        yield from (rule for rule in search.rules[root.path] if rule.applies_to(touched.real_path))

    def _show(self, source: InstructionSource) -> RenderedInstructions:
        """Assess a file. The scan is cached by content; trust is looked up each time."""
        findings = self._findings.get(source.sha256)
        if findings is None:
            if len(self._findings) >= _MAX_CACHED:
                self._findings.clear()
            findings = source.assess(self.scan, trust_nothing).findings
            self._findings[source.sha256] = findings
        is_trusted = bool(findings) and self.trusted(source.real_path, source.sha256)
        return render_instructions(source, ScanVerdict(findings, is_trusted))

    def _note(self, note: ContextFileNote, notes: list[ContextFileNote]) -> None:
        if note not in self._reported_notes:
            self._reported_notes.add(note)
            notes.append(note)


@dataclass(slots=True)
class _HintSearch:
    """Results shared by the paths of one call: most are in the same few directories."""

    loaded: LoadedHints
    notes: list[ContextFileNote] = field(default_factory=list[ContextFileNote])
    chains: dict[Path, DirectoryChain] = field(default_factory=dict[Path, DirectoryChain])
    folders: dict[Path, list[RenderedInstructions]] = field(
        default_factory=dict[Path, "list[RenderedInstructions]"]
    )
    root_hints: dict[Path, list[RenderedInstructions]] = field(
        default_factory=dict[Path, "list[RenderedInstructions]"]
    )
    rules: dict[Path, list[PathRule]] = field(default_factory=dict[Path, "list[PathRule]"])


class _DeliveryBuilder:
    """Collects new hints within the limits of one delivery."""

    def __init__(self, loaded: LoadedHints, notes: list[ContextFileNote]) -> None:
        self._files = loaded.files
        self._digests = set(loaded.digests)
        self._folders = {_parent_of(label) for label in loaded.files}
        self._notes = notes
        self._remaining_characters = MAX_DELIVERY_CHARACTERS
        self._selected: list[tuple[_Candidate, TruncatedText]] = []
        self._omitted: list[_Candidate] = []

    def add(self, candidate: _Candidate) -> None:
        """Add a candidate, name it if it does not fit, or skip it if the model has it."""
        digest, known = candidate.rendered.digest, self._files.get(candidate.label)
        if digest == known or (known is None and digest in self._digests):
            return
        truncated = truncate(candidate.rendered.text, MAX_FILE_CHARACTERS, candidate.label)
        if len(self._selected) == MAX_FILES or len(truncated.text) > self._remaining_characters:
            self._omitted.append(candidate)
            return
        self._digests.add(digest)
        self._remaining_characters -= len(truncated.text)
        self._selected.append((candidate, truncated))

    def build(self) -> HintDelivery:
        """Return the delivery, in order."""
        selected = sorted(self._selected, key=lambda pair: pair[0].order)
        omitted = sorted(self._omitted, key=lambda candidate: candidate.order)
        self._notes += [_selected_note(candidate, truncated) for candidate, truncated in selected]
        for candidate in omitted:
            rendered = candidate.rendered
            note = rendered.source.note("named", rendered.verdict, 0, "the delivery is full")
            self._notes.append(note)
        return HintDelivery(
            hints=tuple(self._hint(candidate, truncated) for candidate, truncated in selected),
            named_only=tuple(candidate.label for candidate in omitted),
            notes=tuple(self._notes),
        )

    def _hint(self, candidate: _Candidate, truncated: TruncatedText) -> InstructionHint:
        is_folder_known = (
            candidate.order[1] < _RULE_DEPTH and _parent_of(candidate.label) in self._folders
        )
        return InstructionHint(
            path=candidate.rendered.source.real_path,
            label=candidate.label,
            text=truncated.text,
            digest=candidate.rendered.digest,
            is_changed=is_folder_known or candidate.label in self._files,
        )


def _parent_of(label: str) -> str:
    return label.rpartition("/")[0]


def _selected_note(candidate: _Candidate, truncated: TruncatedText) -> ContextFileNote:
    source, verdict = candidate.rendered.source, candidate.rendered.verdict
    if verdict.is_blocked:
        return source.note("blocked", verdict, 0, describe_findings(verdict.findings))
    return source.note("cut" if truncated.is_cut else "loaded", verdict, truncated.kept_characters)
