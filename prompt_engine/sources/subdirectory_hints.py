"""Finds instructions that apply to the paths in use and have not reached the model yet.

Examines the directory of a touched path and a few of its ancestors, never a whole tree. Caches
file contents, invalidated on change, but not deliveries: those are in the conversation, and the
caller passes them in.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prompt_engine.context_file_types import FileNote
from prompt_engine.findings import Finding, Scan
from prompt_engine.hint_blocks import Hint, LoadedHints
from prompt_engine.sources.cursor_rules import CursorRule
from prompt_engine.sources.file_reading import Identity, resolve
from prompt_engine.sources.ignore_rules import SKIPPED_NAMES, Way
from prompt_engine.sources.instruction_files import Shown, Source, show
from prompt_engine.sources.instruction_reader import (
    AGENTS_NAMES,
    CLAUDE_NAMES,
    CURSOR_NAME,
    HERMES_NAMES,
)
from prompt_engine.sources.instruction_roots import Root, Touched
from prompt_engine.sources.paths import children
from prompt_engine.truncation import Truncated, truncate
from prompt_engine.trust import Trusted, Verdict, told, trust_nothing

NAMES = (HERMES_NAMES[0], *AGENTS_NAMES, *CLAUDE_NAMES, CURSOR_NAME)
MOST_ANCESTORS = 5
MOST_FILES = 5
FILE_CHARACTERS = 8_000
DELIVERY_CHARACTERS = 24_000

_MOST_REMEMBERED = 2_048
_RULE_DEPTH = 10_000  # rules come after directories


@dataclass(frozen=True, slots=True)
class HintDelivery:
    """Hints to append to a result or message, and the notes for the user."""

    hints: tuple[Hint, ...] = ()
    """In order: for each path in turn the outermost first, then rules."""
    named_only: tuple[str, ...] = ()
    """Labels of files that did not fit; they are delivered when touched again."""
    notes: tuple[FileNote, ...] = ()
    """Outcome of each file; an unreadable file is noted once."""

    @property
    def loaded(self) -> LoadedHints:
        """Conversation state that the delivery adds."""
        return LoadedHints({hint.label: hint.digest for hint in self.hints})


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Instruction file that applies to a touched path."""

    shown: Shown
    folder: Path
    touched: Path
    order: tuple[int, int]
    """Index of the path among the touched ones; depth at which the file applies."""

    @property
    def label(self) -> str:
        return self.shown.source.label


@dataclass(slots=True)
class HintFinder:
    """Finds the hints of one session. All calls block on disk I/O, never on a pipe."""

    roots: Sequence[Path]
    """The workspace's directories, absolute; the session's own first."""
    scan: Scan
    trusted: Trusted = trust_nothing
    skipped_names: frozenset[str] = SKIPPED_NAMES
    _roots: tuple[Root, ...] = field(init=False)
    _home: Path = field(init=False)
    _findings: dict[str, tuple[Finding, ...]] = field(init=False)
    _noted: set[FileNote] = field(init=False)

    def __post_init__(self) -> None:
        real = dict.fromkeys(map(resolve, self.roots))
        self._home = next(iter(real))
        # Roots can be nested: the lookup takes the first match, which must be the innermost.
        deepest_first = sorted(real, key=lambda root: len(root.parts), reverse=True)
        self._roots = tuple(Root(root, self._home, self.skipped_names) for root in deepest_first)
        self._findings = {}
        self._noted = set()

    def find(self, paths: Sequence[Path], loaded: LoadedHints) -> HintDelivery:
        """Return the new hints for some touched paths.

        The paths are in the order in which they were touched; relative paths start at the first
        root. `loaded` is the current content of the conversation, including the system prompt.
        """
        look = _Look(loaded)
        candidates: dict[str, _Candidate] = {}
        for place, path in enumerate(paths):
            for candidate in self._candidates(path, place, look):
                candidates.setdefault(candidate.label, candidate)
        delivery = _Delivery(loaded, look.notes)
        for candidate in candidates.values():
            delivery.offer(candidate)
        return delivery.close()

    def current(self, labels: Iterable[str]) -> LoadedHints:
        """Return the current state of delivered files, omitting those that lost their content."""
        digests: dict[str, str] = {}
        for name in labels:
            path = self._home / name
            touched = self._touched(path, {})
            source = None if touched is None else touched.root.source(path)
            if isinstance(source, Source) and source.body:
                digests[name] = self._show(source).digest
        return LoadedHints(digests)

    def _candidates(self, path: Path, place: int, look: "_Look") -> Iterator[_Candidate]:
        """Yield the files that apply to a path, most relevant first: near, far, then rules."""
        touched = self._touched(path, look.ways)
        if touched is None:
            return
        root = touched.root
        for folder in touched.folders(MOST_ANCESTORS):
            depth = len(folder.parts)
            if folder not in look.folders:
                look.folders[folder] = list(self._first_of(folder, touched, look.notes))
            for shown in look.folders[folder]:
                yield _Candidate(shown, folder, path, (place, depth))
        if root.path not in look.own:
            look.own[root.path] = [self._show(each) for each in root.own_sources(look.loaded.files)]
        for shown in look.own[root.path]:
            yield _Candidate(shown, root.path, path, (place, 0))
        for index, rule in enumerate(self._rules(touched, look)):
            shown = self._show(rule.source)
            yield _Candidate(shown, root.path, path, (place, _RULE_DEPTH + index))

    def _touched(self, path: Path, ways: dict[Path, Way]) -> Touched | None:
        """Locate a path in its root; None if it is outside the workspace."""
        try:
            real = resolve(self._home / path)
        except ValueError:
            return None
        root = next((each for each in self._roots if real.is_relative_to(each.path)), None)
        return None if root is None else root.touched(real, ways)

    def _first_of(self, folder: Path, touched: Touched, notes: list[FileNote]) -> Iterator[Shown]:
        """Yield the first file of a directory with content, and blocked files before it."""
        seen: set[Identity] = set()
        for path in children(folder, NAMES):
            source = touched.root.source(path)
            if source is None or touched.way.hides(path):
                continue
            if isinstance(source, FileNote):
                self._note(source, notes)
            elif source.identity not in seen and source.body:
                seen.add(source.identity)
                shown = self._show(source)
                yield shown
                if not shown.verdict.is_blocked:
                    break

    def _rules(self, touched: Touched, look: "_Look") -> Iterator[CursorRule]:
        if touched.is_foreign:
            return
        root, relative = touched.root, touched.relative
        if root.path not in look.rules:
            look.rules[root.path] = list(self._readable_rules(root, look.notes))
        yield from (rule for rule in look.rules[root.path] if rule.applies_to(relative))

    def _readable_rules(self, root: Root, notes: list[FileNote]) -> Iterator[CursorRule]:
        for rule in root.rules():
            if isinstance(rule, FileNote):
                self._note(rule, notes)
            elif rule.source.body:
                yield rule

    def _show(self, source: Source) -> Shown:
        """Assess a file. The scan is cached by content; trust is looked up each time."""
        findings = self._findings.get(source.sha256)
        if findings is None:
            if len(self._findings) >= _MOST_REMEMBERED:
                self._findings.clear()
            findings = source.judge(self.scan, trust_nothing).findings
            self._findings[source.sha256] = findings
        is_trusted = bool(findings) and self.trusted(source.real_path, source.sha256)
        return show(source, Verdict(findings, is_trusted))

    def _note(self, note: FileNote, notes: list[FileNote]) -> None:
        if note not in self._noted:
            self._noted.add(note)
            notes.append(note)


@dataclass(slots=True)
class _Look:
    """Results shared by the paths of one call: most are in the same few directories."""

    loaded: LoadedHints
    notes: list[FileNote] = field(default_factory=list[FileNote])
    ways: dict[Path, Way] = field(default_factory=dict[Path, Way])
    folders: dict[Path, list[Shown]] = field(default_factory=dict[Path, "list[Shown]"])
    own: dict[Path, list[Shown]] = field(default_factory=dict[Path, "list[Shown]"])
    rules: dict[Path, list[CursorRule]] = field(default_factory=dict[Path, "list[CursorRule]"])


class _Delivery:
    """Collects new hints within the limits of one delivery."""

    def __init__(self, loaded: LoadedHints, notes: list[FileNote]) -> None:
        self._files = loaded.files
        self._digests = set(loaded.digests)
        self._folders = {_folder_of(label) for label in loaded.files}
        self._notes = notes
        self._left = DELIVERY_CHARACTERS
        self._taken: list[tuple[_Candidate, Truncated]] = []
        self._named: list[_Candidate] = []

    def offer(self, candidate: _Candidate) -> None:
        """Add a candidate, name it if it does not fit, or skip it if the model has it."""
        digest = candidate.shown.digest
        if not self._is_new(candidate.label, digest):
            return
        cut = truncate(candidate.shown.text, FILE_CHARACTERS, candidate.label)
        if len(self._taken) == MOST_FILES or len(cut.text) > self._left:
            self._named.append(candidate)
            return
        self._digests.add(digest)
        self._left -= len(cut.text)
        self._taken.append((candidate, cut))

    def close(self) -> HintDelivery:
        """Return the delivery, in order."""
        taken = sorted(self._taken, key=lambda pair: pair[0].order)
        named = sorted(self._named, key=lambda candidate: candidate.order)
        self._notes += [_note(candidate, cut) for candidate, cut in taken]
        self._notes += [_full(candidate) for candidate in named]
        return HintDelivery(
            hints=tuple(self._hint(candidate, cut) for candidate, cut in taken),
            named_only=tuple(candidate.label for candidate in named),
            notes=tuple(self._notes),
        )

    def _is_new(self, label: str, digest: str) -> bool:
        known = self._files.get(label)
        return digest not in self._digests if known is None else digest != known

    def _hint(self, candidate: _Candidate, cut: Truncated) -> Hint:
        is_folder_known = (
            candidate.order[1] < _RULE_DEPTH and _folder_of(candidate.label) in self._folders
        )
        return Hint(
            folder=candidate.folder,
            path=candidate.shown.source.real_path,
            label=candidate.label,
            text=cut.text,
            digest=candidate.shown.digest,
            is_changed=is_folder_known or candidate.label in self._files,
            touched=candidate.touched,
        )


def _folder_of(label: str) -> str:
    return label.rpartition("/")[0]


def _note(candidate: _Candidate, cut: Truncated) -> FileNote:
    source, verdict = candidate.shown.source, candidate.shown.verdict
    if verdict.is_blocked:
        return source.note("blocked", verdict, 0, told(verdict.findings))
    return source.note("cut" if cut.is_cut else "loaded", verdict, cut.kept_characters)


def _full(candidate: _Candidate) -> FileNote:
    verdict = candidate.shown.verdict
    return candidate.shown.source.note("named", verdict, 0, "the delivery is full")
