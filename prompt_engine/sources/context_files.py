"""Project instructions: selects the files for a workspace, and the size of each.

Of six kinds the first with content wins, separately in each root of the workspace. Probes a few
names and never lists a repository; the working directory is an argument, not the process's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from prompt_engine.context_file_types import ContextFile, ContextFileNote
from prompt_engine.findings import ThreatScan
from prompt_engine.hint_blocks import LoadedHints
from prompt_engine.sources.file_reading import FileId, resolve
from prompt_engine.sources.instruction_reader import (
    InstructionLookup,
    InstructionReader,
    has_any_content,
    instruction_directories,
    read_results,
)
from prompt_engine.sources.path_rules import PathRule
from prompt_engine.sources.paths import directory_chain, git_root
from prompt_engine.truncation import file_character_limit, share_limit, truncate
from prompt_engine.trust import TrustCheck, describe_findings, trust_nothing

AgentsScope = Literal["chain", "cwd"]
"""Where to look for AGENTS.md: from the git root down to the directory, or in the directory alone.
"""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """Workspace whose instructions are requested."""

    cwd: Path
    """The session's directory, absolute; links are followed."""
    additional: tuple[Path, ...] = ()
    agents_md_scope: AgentsScope = "chain"
    max_characters: int | None = None
    """Explicit limit per file; takes precedence."""
    window_tokens: int | None = None
    """The model's context window, if known rather than assumed."""


@dataclass(frozen=True, slots=True)
class FrontmatterSettings:
    """Frontmatter of a `.hermes.md`. Only reported here, not applied."""

    path: str
    values: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Instructions of a workspace, in the order in which the model sees them."""

    files: tuple[ContextFile, ...] = ()
    notes: tuple[ContextFileNote, ...] = ()
    """One for each file examined, in that order."""
    settings: tuple[FrontmatterSettings, ...] = ()
    """Nearest first."""
    rules: tuple[PathRule, ...] = ()
    """Rules that apply later: when a matching path is touched, or when the model reads them."""
    loaded: LoadedHints = field(default_factory=LoadedHints)
    """The same files as conversation state, so that hints do not repeat them."""


def find_project_context(
    request: ContextRequest, scan: ThreatScan, trusted: TrustCheck = trust_nothing
) -> ProjectContext:
    """Collect the instructions of a workspace. Blocks on disk I/O, never on a pipe.

    Nothing outside its roots is read; for `.hermes.md` and AGENTS.md the repository that contains a
    root counts as inside.
    """
    home = resolve(request.cwd)
    collector = _ContextCollector(InstructionReader(home, scan, trusted), request)
    for root in dict.fromkeys((home, *map(resolve, request.additional))):
        collector.add_root(root)
    return collector.result()


def context_directories(request: ContextRequest) -> tuple[Path, ...]:
    """Return the directories that `find_project_context` examines; some may not exist."""
    folders: list[Path] = []
    for root in map(resolve, (request.cwd, *request.additional)):
        top = git_root(root) or root
        folders += (*directory_chain(top, root), *instruction_directories(root, top))
    return tuple(dict.fromkeys(folders))


class _ContextCollector:
    """Accumulates the instructions of all roots of a workspace."""

    def __init__(self, reader: InstructionReader, request: ContextRequest) -> None:
        self._reader = reader
        self._is_chain = request.agents_md_scope == "chain"
        self._cap = file_character_limit(request.window_tokens, request.max_characters)
        self._files: list[ContextFile] = []
        self._notes: list[ContextFileNote] = []
        self._settings: list[FrontmatterSettings] = []
        self._loaded: dict[str, str] = {}
        self._seen: set[FileId] = set()

    def result(self) -> ProjectContext:
        return ProjectContext(
            files=tuple(self._files),
            notes=tuple(self._notes),
            settings=tuple(self._settings),
            rules=tuple(self._reader.rules),
            loaded=LoadedHints(self._loaded),
        )

    def add_root(self, root: Path) -> None:
        """Add the first kind with content, plus blocked or unreadable files of the kinds before it.

        Rules are read in any case: those for certain paths wait, whichever kind won.
        """
        top = git_root(root) or root
        hermes = self._reader.find_hermes(top, root)
        for piece in read_results(hermes):
            source = piece.rendered.source
            # The frontmatter of an imported file, such as a skill's, means something else.
            if source.values and piece.outcome != "blocked" and not piece.is_imported:
                self._settings.append(FrontmatterSettings(source.label, source.values))
        self._add(hermes)
        is_found = has_any_content(hermes)
        if not is_found:
            agents = self._reader.find_agents(top if self._is_chain else root, root)
            self._add(agents, is_cap_shared=True)
            is_found = has_any_content(agents)
        if not is_found:
            claude = self._reader.find_claude(root)
            self._add(claude)
            is_found = has_any_content(claude)
        for lookups in (
            self._reader.find_cursor(root),
            self._reader.find_copilot(top),
            self._reader.find_windsurf(root),
        ):
            self._add(
                [
                    lookup
                    for lookup in lookups
                    if not is_found
                    or isinstance(lookup, ContextFileNote)
                    or lookup.outcome == "waiting"
                ]
            )
            is_found = is_found or has_any_content(lookups)

    def _add(self, lookups: Sequence[InstructionLookup], *, is_cap_shared: bool = False) -> None:
        """Add files in order, skipping one that was already added under another name."""
        new = [lookup for lookup in lookups if self._is_new(lookup)]
        lengths = [len(piece.text) for piece in read_results(new) if piece.outcome == "loaded"]
        limits = iter(share_limit(lengths, self._cap) if is_cap_shared else repeat(self._cap))
        for lookup in new:
            if isinstance(lookup, ContextFileNote):
                self._notes.append(lookup)
                continue
            rendered, source = lookup.rendered, lookup.rendered.source
            verdict = rendered.verdict
            if lookup.outcome == "loaded":
                shown = truncate(lookup.text, next(limits), source.label)
                outcome = "cut" if shown.is_cut else "loaded"
                self._notes.append(source.note(outcome, verdict, shown.kept_characters))
                self._files.append(ContextFile(source.label, shown.text, shown.total_characters))
                self._loaded[source.label] = rendered.digest
                continue
            # One line represents the file, or nothing.
            is_blocked = lookup.outcome == "blocked"
            reason = describe_findings(verdict.findings) if is_blocked else lookup.reason
            self._notes.append(source.note(lookup.outcome, verdict, 0, reason))
            if lookup.text:
                self._files.append(ContextFile(source.label, lookup.text, len(lookup.text)))
            if is_blocked:
                self._loaded[source.label] = rendered.digest

    def _is_new(self, lookup: InstructionLookup) -> bool:
        if isinstance(lookup, ContextFileNote):
            return lookup not in self._notes
        identity = lookup.rendered.source.identity
        is_new = identity not in self._seen
        self._seen.add(identity)
        return is_new
