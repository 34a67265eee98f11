"""The kinds of instruction files, and where each is looked up.

Returns a result for every file examined. Does not prioritise the kinds and truncates nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Literal

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.findings import ThreatScan
from prompt_engine.sources.imports import read_imports
from prompt_engine.sources.instruction_files import (
    InstructionSource,
    RenderedInstructions,
    read_instruction_source,
    render_instructions,
)
from prompt_engine.sources.path_rules import (
    CLINE_RULES,
    COPILOT_RULES,
    CURSOR_RULES,
    MAX_RULES,
    RULE_FORMATS,
    WINDSURF_RULES,
    PathRule,
    RuleFormat,
    list_rule_paths,
    read_rule,
)
from prompt_engine.sources.paths import directory_chain, is_file, path_label
from prompt_engine.trust import ScanVerdict, TrustCheck

HERMES_NAMES = (".hermes.md", "HERMES.md")
AGENTS_NAMES = ("AGENTS.override.md", "AGENTS.md", "agents.md")
CLAUDE_NAMES = ("CLAUDE.md", "claude.md")
CLAUDE_ROOT_NAMES = (*CLAUDE_NAMES, ".claude/CLAUDE.md")
CLAUDE_LOCAL_NAME = "CLAUDE.local.md"
CURSOR_NAME = ".cursorrules"
COPILOT_NAME = ".github/copilot-instructions.md"
INSTRUCTION_FILE_NAMES = frozenset(
    (
        *HERMES_NAMES,
        *AGENTS_NAMES,
        *CLAUDE_NAMES,
        CLAUDE_LOCAL_NAME,
        CURSOR_NAME,
        PurePath(COPILOT_NAME).name,
        CLINE_RULES.directory.name,
    )
)
"""Names of files with instructions, without those of rules."""


@dataclass(frozen=True, slots=True)
class InstructionResult:
    """Instruction file that was read, and the part of it for the prompt."""

    rendered: RenderedInstructions
    outcome: Literal["loaded", "blocked", "named", "waiting", "unused", "empty"]
    text: str = ""
    reason: str = ""
    is_imported: bool = False
    """Whether another instruction file named it."""

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
    rules: list[PathRule] = field(default_factory=list[PathRule])
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
        """Search the root alone: the shared file, then the user's own for this repository."""
        shared = self._first_of(root, CLAUDE_ROOT_NAMES, root)
        return shared + self._first_of(root, (CLAUDE_LOCAL_NAME,), root)

    def find_cursor(self, root: Path) -> list[InstructionLookup]:
        """Search for the legacy single file and for the rules, sorted."""
        return self._first_of(root, (CURSOR_NAME,), root) + self._find_rules(root, CURSOR_RULES)

    def find_copilot(self, top: Path) -> list[InstructionLookup]:
        """Search the repository's root for GitHub Copilot's file and its files for paths."""
        return self._first_of(top, (COPILOT_NAME,), top) + self._find_rules(top, COPILOT_RULES)

    def find_windsurf(self, root: Path) -> list[InstructionLookup]:
        """Search for Windsurf's rules; without any, for those of Cline: a file or a directory."""
        rules = self._find_rules(root, WINDSURF_RULES)
        if rules:
            return rules
        if is_file(root / CLINE_RULES.directory):
            return self._first_of(root, (CLINE_RULES.directory.name,), root)
        return self._find_rules(root, CLINE_RULES)

    def _find_rules(self, root: Path, rules: RuleFormat) -> list[InstructionLookup]:
        paths = list_rule_paths(root, rules)
        found = [read_rule(path, rules, root, self.home) for path in paths[:MAX_RULES]]
        names = [path_label(path, self.home) for path in paths[MAX_RULES:]]
        reason = f"only {MAX_RULES} rules are read"
        return [
            *(
                self._rule_result(each) if isinstance(each, PathRule) else each
                for each in found
                if each
            ),
            *(ContextFileNote(name, "unused", reason=reason) for name in names),
        ]

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
            lookups += self._with_imports(found, boundary)
            if has_any_content(lookups):
                break
        return lookups

    def _with_imports(
        self, found: InstructionSource | ContextFileNote, boundary: Path
    ) -> list[InstructionLookup]:
        """Return the result of a file, followed by those of the files that it imports."""
        if isinstance(found, ContextFileNote):
            return [found]
        result = self._result(found)
        if result.outcome != "loaded":  # a blocked file must not bring in others
            return [result]

        def read(path: Path) -> InstructionSource | ContextFileNote | None:
            return read_instruction_source(path, path_label(path, self.home), boundary)

        return [
            result,
            *(
                each
                if isinstance(each, ContextFileNote)
                else replace(self._result(each), is_imported=True)
                for each in read_imports(found, self.home, read)
            ),
        ]

    def _result(self, source: InstructionSource) -> InstructionResult:
        rendered = render_instructions(source, source.assess(self.scan, self.trusted))
        if rendered.verdict.is_blocked:
            return InstructionResult(rendered, "blocked", rendered.text)
        return InstructionResult(rendered, "loaded" if rendered.text else "empty", rendered.text)

    def _rule_result(self, rule: PathRule) -> InstructionResult:
        source = rule.source
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


def instruction_directories(root: Path, repository: Path) -> tuple[Path, ...]:
    """Return the directories below a root and its repository that may hold instruction files."""
    return (
        *(rules.owner(root, repository) / rules.directory for rules in RULE_FORMATS),
        (root / CLAUDE_ROOT_NAMES[-1]).parent,
        (repository / COPILOT_NAME).parent,
    )
