"""The four kinds of instructions a folder may hold, and where each is looked for.

Tells of every file that was looked at what may be shown of it. Does not weigh kinds against each
other, and cuts nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from prompt_engine.findings import Scan
from prompt_engine.inputs import FileNote
from prompt_engine.sources.cursor_rules import MOST_RULES, CursorRule, rule_of, rule_paths
from prompt_engine.sources.instructions import Shown, Source, read_source, show
from prompt_engine.sources.places import chain, label
from prompt_engine.trust import Trusted, Verdict

HERMES_NAMES = (".hermes.md", "HERMES.md")
AGENTS_NAMES = ("AGENTS.override.md", "AGENTS.md", "agents.md")
CLAUDE_NAMES = ("CLAUDE.md", "claude.md")
CURSOR_NAME = ".cursorrules"


@dataclass(frozen=True, slots=True)
class Piece:
    """A file that was read, and what of it goes into the prompt."""

    shown: Shown
    outcome: Literal["loaded", "blocked", "named", "waiting", "unused", "empty"]
    text: str = ""
    reason: str = ""

    @property
    def speaks(self) -> bool:
        """Whether it tells the model something; a blocked file does not."""
        return self.outcome in ("loaded", "named")


Look = Piece | FileNote
"""A file that was read, or what is to be said of one that could not be."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads files of instructions for a session that works in `home`, a resolved folder."""

    home: Path
    scan: Scan
    trusted: Trusted
    rules: list[CursorRule] = field(default_factory=list[CursorRule])
    """The rules met on the way that wait."""

    def hermes(self, top: Path, root: Path) -> list[Look]:
        """Look from a root upwards, up to and including `top`, until something speaks."""
        looks: list[Look] = []
        for folder in reversed(chain(top, root)):
            looks += self._first_of(folder, HERMES_NAMES, top)
            if is_speaking(looks):
                break
        return looks

    def agents(self, top: Path, root: Path) -> list[Look]:
        """Look in each folder from `top` down to a root; the nearest comes last."""
        folders = chain(top, root)
        return [look for each in folders for look in self._first_of(each, AGENTS_NAMES, top)]

    def claude(self, root: Path) -> list[Look]:
        """Look in the root alone."""
        return self._first_of(root, CLAUDE_NAMES, root)

    def cursor(self, root: Path) -> list[Look]:
        """Look for the old single file and for the rules, sorted."""
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
        """Look at files of a folder until one speaks."""
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
            return Piece(unread, "unused", reason="it says neither when nor what for")
        piece = self._piece(source)
        if not piece.speaks:
            return piece
        self.rules.append(rule)
        line = f"Read this rule when it applies: {rule.description}"
        return Piece(piece.shown, "named", line, "only its description is told")


def is_speaking(looks: Iterable[Look]) -> bool:
    """Whether one of some files tells the model something."""
    return any(piece.speaks for piece in pieces_of(looks))


def pieces_of(looks: Iterable[Look]) -> Iterator[Piece]:
    """Return those of some files that were read."""
    return (look for look in looks if isinstance(look, Piece))
