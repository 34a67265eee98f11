"""The four kinds of instruction files, and where each is looked up.

Returns a result for every file examined. Does not prioritise the kinds and truncates nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.findings import ThreatScan
from prompt_engine.sources.cursor_rules import MAX_RULES, CursorRule, list_rule_paths, parse_rule
from prompt_engine.sources.instruction_files import (
    InstructionSource,
    RenderedInstructions,
    read_instruction_source,
    render_instructions,
)
from prompt_engine.sources.paths import directory_chain, path_label
from prompt_engine.trust import ScanVerdict, TrustCheck

HERMES_NAMES = (".hermes.md", "HERMES.md")
AGENTS_NAMES = ("AGENTS.override.md", "AGENTS.md", "agents.md")
CLAUDE_NAMES = ("CLAUDE.md", "claude.md")
CURSOR_NAME = ".cursorrules"


@dataclass(frozen=True, slots=True)
class InstructionResult:
    """Instruction file that was read, and the part of it for the prompt."""

    rendered: RenderedInstructions
    outcome: Literal["loaded", "blocked", "named", "waiting", "unused", "empty"]
    text: str = ""
    reason: str = ""

    @property
    def has_content(self) -> bool:
        """Whether it contributes instructions; a blocked file does not."""
        return self.outcome in ("loaded", "named")


InstructionLookup = InstructionResult | ContextFileNote
"""A file that was read, or the note on one that could not be read."""


@dataclass(frozen=True, slots=True)
class InstructionReader:
    """Reads instruction files for a session that works in `home`, a resolved directory."""

    home: Path
    scan: ThreatScan
    trusted: TrustCheck
    rules: list[CursorRule] = field(default_factory=list[CursorRule])
    """Rules found along the way that apply later."""

    def find_hermes(self, top: Path, root: Path) -> list[InstructionLookup]:
        """Search from a root upwards to `top` inclusive, until a file has content."""
        lookups: list[InstructionLookup] = []
        for folder in reversed(directory_chain(top, root)):
            lookups += self._first_of(folder, HERMES_NAMES, top)
            if has_any_content(lookups):
                break
        return lookups

    def find_agents(self, top: Path, root: Path) -> list[InstructionLookup]:
        """Search each directory from `top` down to a root; the nearest comes last."""
        folders = directory_chain(top, root)
        return [lookup for each in folders for lookup in self._first_of(each, AGENTS_NAMES, top)]

    def find_claude(self, root: Path) -> list[InstructionLookup]:
        """Search the root alone."""
        return self._first_of(root, CLAUDE_NAMES, root)

    def find_cursor(self, root: Path) -> list[InstructionLookup]:
        """Search for the legacy single file and for the rules, sorted."""
        lookups = self._first_of(root, (CURSOR_NAME,), root)
        paths = list_rule_paths(root)
        for path in paths[:MAX_RULES]:
            found = read_instruction_source(path, path_label(path, self.home), root)
            if found is not None:
                lookups.append(
                    self._rule_result(found) if isinstance(found, InstructionSource) else found
                )
        names = [path_label(path, self.home) for path in paths[MAX_RULES:]]
        reason = f"only {MAX_RULES} rules are read"
        return lookups + [ContextFileNote(name, "unused", reason=reason) for name in names]

    def _first_of(
        self, folder: Path, names: Sequence[str], boundary: Path
    ) -> list[InstructionLookup]:
        """Read the named files of a directory until one has content."""
        lookups: list[InstructionLookup] = []
        for name in names:
            path = folder / name
            found = read_instruction_source(path, path_label(path, self.home), boundary)
            if found is None:
                continue
            lookups.append(self._result(found) if isinstance(found, InstructionSource) else found)
            if has_any_content(lookups):
                break
        return lookups

    def _result(self, source: InstructionSource) -> InstructionResult:
        rendered = render_instructions(source, source.assess(self.scan, self.trusted))
        if rendered.verdict.is_blocked:
            return InstructionResult(rendered, "blocked", rendered.text)
        return InstructionResult(rendered, "loaded" if rendered.text else "empty", rendered.text)

    def _rule_result(self, source: InstructionSource) -> InstructionResult:
        rule = parse_rule(source)
        if rule.is_always:
            return self._result(source)
        unscanned = render_instructions(source, ScanVerdict())
        if rule.globs:
            self.rules.append(rule)
            return InstructionResult(
                unscanned, "waiting", reason=f"for paths like {', '.join(rule.globs)}"
            )
        if not rule.description:
            return InstructionResult(
                unscanned, "unused", reason="it has neither globs nor a description"
            )
        piece = self._result(source)
        if not piece.has_content:
            return piece
        self.rules.append(rule)
        line = f"Read this rule when it applies: {rule.description}"
        return InstructionResult(piece.rendered, "named", line, "only its description is shown")


def has_any_content(lookups: Iterable[InstructionLookup]) -> bool:
    """Return whether any of the files contributes instructions."""
    return any(piece.has_content for piece in read_results(lookups))


def read_results(lookups: Iterable[InstructionLookup]) -> Iterator[InstructionResult]:
    """Return the files that were read."""
    return (lookup for lookup in lookups if isinstance(lookup, InstructionResult))
