"""Collects the facts about the disk that a decision needs: link targets and protected files.

Looks at names and symlinks; the only files it reads are `.hermesignore` and git's configuration.
All calls block and all are bounded: too many files to check count as a doubt.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.permissions.effects import (
    CallServer,
    ChangeMemory,
    ChangeSkill,
    Effect,
    FetchUrl,
    LeavePlanMode,
    ReadFiles,
    RestoreFiles,
    RunCommand,
    Target,
    WriteFiles,
)
from acp_server.permissions.git_checks import doubt_on_git
from acp_server.permissions.glob_expansion import TooManyError, picked
from acp_server.permissions.ignore_files import IgnoreFiles, search_globs
from acp_server.permissions.policy import (
    CommandFacts,
    Facts,
    FetchFacts,
    FileFacts,
    MemoryFacts,
    PlanFacts,
    RestoreFacts,
    ServerFacts,
    SkillFacts,
)
from acp_server.permissions.protected_names import SEARCH_GLOBS
from acp_server.permissions.resolved_workspace import Ground, ground_of
from acp_server.permissions.scopes import Act, ServerScope, SiteScope
from acp_server.permissions.shell.assessment import assess, plain_words
from acp_server.permissions.shell.findings import Assessment
from acp_server.permissions.symlinks import followed
from acp_server.permissions.tree_checks import MOST_ENTRIES, doubt_on_tree

MOST_TOLD = 3
MAY_HOLD_SECRETS = "may hold secrets or settings"
_GLOB_CHARACTERS = re.compile(r"[*?\[\]{}\\!]")


@dataclass(slots=True)
class Surveyor:
    """Collects facts for the sessions of one workspace."""

    roots: Sequence[Path]
    home: Path
    """The directory that `~` expands to."""
    own_folder: Path
    """The directory with this program's settings and keys."""
    _ignore_files: IgnoreFiles = field(default_factory=IgnoreFiles, init=False)

    def facts(self, effect: Effect) -> Facts:
        """Return the facts that the policy needs to decide on an effect."""
        match effect:
            case ReadFiles():
                return self._file_facts("read", effect.targets)
            case WriteFiles():
                return self._file_facts("write", effect.targets)
            case RunCommand():
                return self._command_facts(effect)
            case ChangeSkill():
                return SkillFacts(self._file_facts("write", effect.targets), effect.doubts)
            case RestoreFiles():
                files = self._file_facts("write", effect.targets)
                return RestoreFacts(files, effect.changed_since)
            case ChangeMemory() | CallServer() | LeavePlanMode() | FetchUrl():
                return _facts_without_disk(effect)

    def has_moved(self, effect: Effect) -> bool:
        """Return whether a path resolves to another file than when the tool resolved it."""
        match effect:
            case ReadFiles() | WriteFiles() | RestoreFiles() | ChangeSkill():
                targets = effect.targets
            case RunCommand():
                targets = (effect.cwd,)
            case ChangeMemory() | CallServer() | LeavePlanMode() | FetchUrl():
                targets = ()
        return any(_leads_elsewhere(target) for target in targets)

    def left_out_of_searches(self) -> Sequence[str]:
        """Return globs, relative to the first root, that a search leaves out by default."""
        ground = self._ground()
        globs = list(SEARCH_GLOBS)
        for index, root in enumerate(ground.roots):
            is_first = index == 0
            globs += search_globs(root.ignored, is_first_root=is_first)
            if ground.own != root.path and ground.own.is_relative_to(root.path):
                below = ground.own.relative_to(root.path).as_posix()
                start = "/" if is_first else "**/"
                globs.append(start + _GLOB_CHARACTERS.sub(r"\\\g<0>", below))
        return globs

    def is_protected(self, path: Path) -> bool:
        """Return whether a path, by its own name or its link target, always requires permission."""
        return self._ground().is_protected(path)

    def _ground(self) -> Ground:
        return ground_of(self.roots, self.own_folder, self._ignore_files)

    def _file_facts(self, act: Act, targets: Sequence[Target]) -> FileFacts:
        ground = self._ground()
        # The target as the tool resolved it; `has_moved` compares it with the disk afterwards.
        files = {target.real: target.is_inside for target in targets}
        if act == "write":
            # Security: deleting or moving a symlink changes the link, so its own location is
            # checked as well as its target.
            stands = [_own_place(target.path) for target in targets]
            files |= {path: ground.is_inside(path.parent) for path in stands if path not in files}
            files |= {t.stands: ground.holds(t.stands) for t in targets if t.stands is not None}
        return FileFacts(
            act=act,
            files=tuple(files),
            outside=tuple(path for path, is_inside in files.items() if not is_inside),
            protected=tuple(t.path for t in targets if _is_any_protected(t, ground)),
            run_by_others=tuple(
                t.path for t in targets if act == "write" and ground.is_run_by_others(t.path)
            ),
            folder=self._coverable_folder(tuple(files), ground),
        )

    def _coverable_folder(self, files: Sequence[Path], ground: Ground) -> Path | None:
        """Return the nearest directory that contains all files, unless it is too wide.

        The filesystem root, the home directory and directories above it are too wide, unless they
        are a root of the session; so is every directory above a root.
        """
        folders = [file if file.is_dir() else file.parent for file in files]
        if not folders:
            return None
        common = Path(os.path.commonpath(folders))
        home = followed(self.home)
        is_wide = common == Path(common.anchor) or home.is_relative_to(common)
        is_above = any(
            root.path != common and root.path.is_relative_to(common) for root in ground.roots
        )
        is_root = any(root.path == common for root in ground.roots)
        return None if is_above or (is_wide and not is_root) else common

    def _command_facts(self, effect: RunCommand) -> CommandFacts:
        cwd = effect.cwd.real
        assessment = assess(effect.command, str(cwd), str(self.home))
        doubts: list[str] = []
        if assessment.verdict != "refused":
            doubts += self._doubts(effect, assessment, self._ground())
        # Look at all doubts, then cut: the one about secrets may come after the shown ones.
        is_protected = any(doubt.endswith(MAY_HOLD_SECRETS) for doubt in doubts)
        told = tuple(doubts[:MOST_TOLD])
        return CommandFacts(
            effect.command, assessment, told, is_protected=is_protected, standing=effect.standing
        )

    def _doubts(self, effect: RunCommand, assessment: Assessment, ground: Ground) -> Iterator[str]:
        """Yield the reasons why the files that a command accesses are not simply allowed."""
        if effect.is_input:
            yield "it is sent to a running command, whose reaction cannot be predicted"
        if not effect.cwd.is_inside:
            yield "it runs outside the workspace"
        try:
            named = [*map(Path, assessment.reads), *map(Path, assessment.writes)]
            for pattern in assessment.globs:
                named += picked(Path(pattern), MOST_ENTRIES)
        except TooManyError:
            yield "a pattern in it matches too many files to check"
            return
        # The program is unknown, so any of its words may be a path.
        if assessment.verdict == "asks":
            named += self._words_of(effect)
        yield from _doubts_on_paths(dict.fromkeys(named), ground)
        # For every command, also one that only reads: git runs configured programs on `git diff`.
        yield from filter(None, (doubt_on_git(effect.command, effect.cwd.real, ground),))
        if assessment.verdict == "reads":
            yield from filter(None, (doubt_on_tree(tree, ground) for tree in assessment.trees))

    def _words_of(self, effect: RunCommand) -> Iterator[Path]:
        """Yield every path that a word of a command may name.

        A saved "always" for a command does not cover protected files, so its words are checked even
        if it is unknown which of them are paths.
        """
        for word in (plain_words(effect.command) or ())[1:]:
            is_short_flag = word.startswith("-") and not word.startswith("--")
            # Both `-fPATH` and `--file=PATH` hide a path behind a flag.
            value = word[2:] if is_short_flag and "=" not in word else word.partition("=")[2]
            for text in (value,) if word.startswith("-") else (word, value):
                if text.startswith("~/"):
                    yield self.home / text[2:]
                # A path with NUL raises ValueError when the system is asked about it.
                elif text and "\0" not in text:
                    yield Path(os.path.normpath(effect.cwd.real / text))


def _facts_without_disk(effect: ChangeMemory | CallServer | LeavePlanMode | FetchUrl) -> Facts:
    match effect:
        case ChangeMemory():
            return MemoryFacts(effect.asks_first)
        case LeavePlanMode():
            return PlanFacts()
        case FetchUrl():
            return FetchFacts(SiteScope(effect.site))
        case CallServer(server, identity, tool):
            scope = ServerScope(server, identity, tool)
            return ServerFacts(scope, effect.claims_to_read, effect.claims_to_destroy)


def _doubts_on_paths(paths: Iterable[Path], ground: Ground) -> Iterator[str]:
    for path in paths:
        if ground.is_protected(path):
            yield f"{path.name} {MAY_HOLD_SECRETS}"
        elif not ground.is_inside(path):
            yield f"{path} is outside the workspace"


def _is_any_protected(target: Target, ground: Ground) -> bool:
    """Return whether a target is protected by its current path or by its resolved path."""
    if ground.is_protected(target.path):
        return True
    return target.real != target.path and ground.is_protected(target.real)


def _own_place(path: Path) -> Path:
    """Return the location of a path itself: symlinks of its directories resolved, not its own."""
    return followed(path.parent) / path.name


def _leads_elsewhere(target: Target) -> bool:
    try:
        return followed(target.path) != target.real
    # The path keeps changing, so it cannot be trusted to be the same.
    except OSError:
        return True
