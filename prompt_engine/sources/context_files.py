"""The project's own instructions: which files speak for a workspace, and how much of each.

Of four kinds the first that says something wins, in each root of the workspace for itself. Reads
a few names and never lists a repository; knows no process: the folder is an argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from prompt_engine.findings import Scan
from prompt_engine.hints import LoadedHints
from prompt_engine.inputs import ContextFile, FileNote
from prompt_engine.sources.cursor_rules import FOLDER as RULES_FOLDER
from prompt_engine.sources.cursor_rules import CursorRule
from prompt_engine.sources.kinds import Look, Piece, Reader, is_speaking, pieces_of
from prompt_engine.sources.places import chain, git_root
from prompt_engine.sources.reading import Identity, resolve
from prompt_engine.truncation import character_cap, shared_limits, truncate
from prompt_engine.trust import Trusted, told, trust_nothing

AgentsScope = Literal["chain", "cwd"]
"""Where AGENTS.md is looked for: from the git root down to the folder, or in the folder alone."""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A workspace whose instructions are wanted."""

    cwd: Path
    """The session's folder, absolute; links are followed."""
    additional: tuple[Path, ...] = ()
    agents_md_scope: AgentsScope = "chain"
    max_characters: int | None = None
    """An explicit cap; it wins."""
    window_tokens: int | None = None
    """The model's context window, if it is known and not assumed."""


@dataclass(frozen=True, slots=True)
class FoundSettings:
    """What the frontmatter of a `.hermes.md` says. Not used here, whatever it says."""

    path: str
    values: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ContextFound:
    """The instructions of a workspace, in the order in which the model is told them."""

    files: tuple[ContextFile, ...] = ()
    notes: tuple[FileNote, ...] = ()
    """One for each file that was looked at, in that order."""
    settings: tuple[FoundSettings, ...] = ()
    """The nearest first."""
    rules: tuple[CursorRule, ...] = ()
    """Rules that wait for a path, or for the model's wish."""
    loaded: LoadedHints = field(default_factory=LoadedHints)
    """The same files as a state of the conversation, so that hints do not repeat them."""


def find_context(
    request: ContextRequest, scan: Scan, trusted: Trusted = trust_nothing
) -> ContextFound:
    """Return what a workspace tells the model. Blocks on the disk, never on a pipe.

    Nothing is read outside its roots; for `.hermes.md` and AGENTS.md the repository around a root
    counts as inside.
    """
    home = resolve(request.cwd)
    collected = _Collected(Reader(home, scan, trusted), request)
    for root in dict.fromkeys((home, *map(resolve, request.additional))):
        collected.add_root(root)
    return collected.found()


def context_folders(request: ContextRequest) -> tuple[Path, ...]:
    """Return the folders in which `find_context` looks; some may not be there."""
    folders: list[Path] = []
    for root in map(resolve, (request.cwd, *request.additional)):
        folders += (*chain(git_root(root) or root, root), root / RULES_FOLDER)
    return tuple(dict.fromkeys(folders))


class _Collected:
    """What the roots of one workspace say, so far."""

    def __init__(self, reader: Reader, request: ContextRequest) -> None:
        self._reader = reader
        self._is_chain = request.agents_md_scope == "chain"
        self._cap = character_cap(request.window_tokens, request.max_characters)
        self._files: list[ContextFile] = []
        self._notes: list[FileNote] = []
        self._settings: list[FoundSettings] = []
        self._loaded: dict[str, str] = {}
        self._seen: set[Identity] = set()

    def found(self) -> ContextFound:
        """Return everything collected."""
        return ContextFound(
            files=tuple(self._files),
            notes=tuple(self._notes),
            settings=tuple(self._settings),
            rules=tuple(self._reader.rules),
            loaded=LoadedHints(self._loaded),
        )

    def add_root(self, root: Path) -> None:
        """Add the first kind that speaks; of the kinds before it what is blocked or unreadable.

        Cursor's rules are read in any case: those for certain paths wait, whichever kind won.
        """
        top = git_root(root) or root
        hermes = self._reader.hermes(top, root)
        self._add_settings(hermes)
        self._add(hermes)
        is_won = is_speaking(hermes)
        if not is_won:
            agents = self._reader.agents(top if self._is_chain else root, root)
            self._add(agents, is_cap_shared=True)
            is_won = is_speaking(agents)
        if not is_won:
            claude = self._reader.claude(root)
            self._add(claude)
            is_won = is_speaking(claude)
        cursor = self._reader.cursor(root)
        self._add([look for look in cursor if not is_won or _counts_always(look)])

    def _add_settings(self, looks: Sequence[Look]) -> None:
        for piece in pieces_of(looks):
            source = piece.shown.source
            if source.values and piece.outcome != "blocked":
                self._settings.append(FoundSettings(source.label, source.values))

    def _add(self, looks: Sequence[Look], *, is_cap_shared: bool = False) -> None:
        """Add files in order; one that was added under another name is not repeated."""
        new = [look for look in looks if self._is_new(look)]
        lengths = [len(piece.text) for piece in pieces_of(new) if piece.outcome == "loaded"]
        limits = iter(shared_limits(lengths, self._cap) if is_cap_shared else repeat(self._cap))
        for look in new:
            if isinstance(look, FileNote):
                self._notes.append(look)
            elif look.outcome == "loaded":
                self._add_text(look, next(limits))
            else:
                self._add_line(look)

    def _is_new(self, look: Look) -> bool:
        if isinstance(look, FileNote):
            return look not in self._notes
        identity = look.shown.source.identity
        is_new = identity not in self._seen
        self._seen.add(identity)
        return is_new

    def _add_text(self, piece: Piece, limit: int) -> None:
        shown, source = piece.shown, piece.shown.source
        cut = truncate(piece.text, limit, source.label)
        outcome = "cut" if cut.is_cut else "loaded"
        self._notes.append(source.note(outcome, shown.verdict, cut.kept_characters))
        self._files.append(ContextFile(source.label, cut.text, cut.total_characters))
        self._loaded[source.label] = shown.digest

    def _add_line(self, piece: Piece) -> None:
        """Add a file of which the model is told a line, or nothing."""
        shown, source = piece.shown, piece.shown.source
        is_blocked = piece.outcome == "blocked"
        reason = told(shown.verdict.findings) if is_blocked else piece.reason
        self._notes.append(source.note(piece.outcome, shown.verdict, 0, reason))
        if piece.text:
            self._files.append(ContextFile(source.label, piece.text, len(piece.text)))
        if is_blocked:
            self._loaded[source.label] = shown.digest


def _counts_always(look: Look) -> bool:
    """Whether a file of Cursor's is to be told of although another kind won."""
    return isinstance(look, FileNote) or look.outcome == "waiting"
