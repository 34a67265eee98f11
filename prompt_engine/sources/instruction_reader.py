"""The four kinds of instruction files, and where each is looked up.

Returns a result for every file examined. Does not prioritise the kinds and truncates nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from prompt_engine.context_file_types import FileNote
from prompt_engine.findings import Scan
from prompt_engine.sources.cursor_rules import MOST_RULES, CursorRule, rule_of, rule_paths
from prompt_engine.sources.instruction_files import Shown, Source, read_source, show
from prompt_engine.sources.paths import chain, label
from prompt_engine.trust import Trusted, Verdict

HERMES_NAMES = (".hermes.md", "HERMES.md")
AGENTS_NAMES = ("AGENTS.override.md", "AGENTS.md", "agents.md")
CLAUDE_NAMES = ("CLAUDE.md", "claude.md")
CURSOR_NAME = ".cursorrules"


@dataclass(frozen=True, slots=True)
class Piece:
    """Instruction file that was read, and the part of it for the prompt."""

    shown: Shown
    outcome: Literal["loaded", "blocked", "named", "waiting", "unused", "empty"]
    text: str = ""
    reason: str = ""

    @property
    def speaks(self) -> bool:
        """Whether it contributes instructions; a blocked file does not."""
        return self.outcome in ("loaded", "named")


Look = Piece | FileNote
"""A file that was read, or the note on one that could not be read."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads instruction files for a session that works in `home`, a resolved directory."""

    home: Path
    scan: Scan
    trusted: Trusted
    rules: list[CursorRule] = field(default_factory=list[CursorRule])
    """Rules found along the way that apply later."""

    def hermes(self, top: Path, root: Path) -> list[Look]:
        """Search from a root upwards to `top` inclusive, until a file has content."""
        looks: list[Look] = []
        for folder in reversed(chain(top, root)):
            looks += self._first_of(folder, HERMES_NAMES, top)
            if is_speaking(looks):
                break
        return looks

    def agents(self, top: Path, root: Path) -> list[Look]:
        """Search each directory from `top` down to a root; the nearest comes last."""
        folders = chain(top, root)
        return [look for each in folders for look in self._first_of(each, AGENTS_NAMES, top)]

    def claude(self, root: Path) -> list[Look]:
        """Search the root alone."""
        return self._first_of(root, CLAUDE_NAMES, root)

    def cursor(self, root: Path) -> list[Look]:
        """Search for the legacy single file and for the rules, sorted."""
        looks = self._first_of(root, (CURSOR_NAME,), root)
        paths = rule_paths(root)
        for path in paths[:MOST_RULES]:
            found = read_source(path, label(path, self.home), root)
            if found is not None:
                looks.append(self._rule(found) if isinstance(found, Source) else found)
        names = [label(path, self.home) for path in paths[MOST_RULES:]]
        reason = f"only {MOST_RULES} rules are read"
        return looks + [FileNote(name, "unused", reason=reason) for name in names]

    def _first_of(self, folder: Path, names: Sequence[str], boundary: Path) -> list[Look]:
        """Read the named files of a directory until one has content."""
        looks: list[Look] = []
        for name in names:
            path = folder / name
            found = read_source(path, label(path, self.home), boundary)
            if found is None:
                continue
            looks.append(self._piece(found) if isinstance(found, Source) else found)
            if is_speaking(looks):
                break
        return looks

    def _piece(self, source: Source) -> Piece:
        shown = show(source, source.judge(self.scan, self.trusted))
        if shown.verdict.is_blocked:
            return Piece(shown, "blocked", shown.text)
        return Piece(shown, "loaded", shown.text) if shown.text else Piece(shown, "empty")

    def _rule(self, source: Source) -> Piece:
        rule = rule_of(source)
        if rule.is_always:
            return self._piece(source)
        unread = show(source, Verdict())
        if rule.globs:
            self.rules.append(rule)
            return Piece(unread, "waiting", reason=f"for paths like {', '.join(rule.globs)}")
        if not rule.description:
            return Piece(unread, "unused", reason="it has neither globs nor a description")
        piece = self._piece(source)
        if not piece.speaks:
            return piece
        self.rules.append(rule)
        line = f"Read this rule when it applies: {rule.description}"
        return Piece(piece.shown, "named", line, "only its description is shown")


def is_speaking(looks: Iterable[Look]) -> bool:
    """Return whether any of the files contributes instructions."""
    return any(piece.speaks for piece in pieces_of(looks))


def pieces_of(looks: Iterable[Look]) -> Iterator[Piece]:
    """Return the files that were read."""
    return (look for look in looks if isinstance(look, Piece))
