"""The facts that a decision needs of the disk: where paths lead, and what is protected.

Looks at names and links; of files it reads none but `.hermesignore` and git's settings. All calls
block, and all are bounded: what is too much to look through counts as a doubt.
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
from acp_server.permissions.ground import Ground, ground_of
from acp_server.permissions.ignoring import IgnoreFiles, search_globs
from acp_server.permissions.links import followed
from acp_server.permissions.picking import TooManyError, picked
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
from acp_server.permissions.protected import SEARCH_GLOBS
from acp_server.permissions.repositories import doubt_on_git
from acp_server.permissions.scopes import Act, ServerScope, SiteScope
from acp_server.permissions.shell.assessment import assess, plain_words
from acp_server.permissions.shell.findings import Assessment
from acp_server.permissions.trees import MOST_ENTRIES, doubt_on_tree

MOST_TOLD = 3
MAY_HOLD_SECRETS = "may hold secrets or settings"
_GLOB_CHARACTERS = re.compile(r"[*?\[\]{}\\!]")


@dataclass(slots=True)
class Surveyor:
    """Gathers facts for the sessions of one workspace."""

    roots: Sequence[Path]
    home: Path
    """What `~` means."""
    own_folder: Path
    """Where this program keeps its settings and keys."""
    _ignore_files: IgnoreFiles = field(default_factory=IgnoreFiles, init=False)

    def facts(self, effect: Effect) -> Facts:
        """Return what is to be known of an effect before it is decided on."""
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
        """Whether a path leads elsewhere by now than when the tool looked."""
        match effect:
            case ReadFiles() | WriteFiles() | RestoreFiles() | ChangeSkill():
                targets = effect.targets
            case RunCommand():
                targets = (effect.cwd,)
            case ChangeMemory() | CallServer() | LeavePlanMode() | FetchUrl():
                targets = ()
        return any(_leads_elsewhere(target) for target in targets)

    def left_out_of_searches(self) -> Sequence[str]:
        """Return what no search shows unasked, as globs that begin at the first root."""
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
        """Whether a path, by its own name or where it leads, is nobody's to touch unasked."""
        return self._ground().is_protected(path)

    def _ground(self) -> Ground:
        return ground_of(self.roots, self.own_folder, self._ignore_files)

    def _file_facts(self, act: Act, targets: Sequence[Target]) -> FileFacts:
        ground = self._ground()
        files = {target.real: target.is_inside for target in targets}
        if act == "write":  # a link is deleted or moved where it stands, not where it leads
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
        """Return the nearest folder that holds all files, unless it holds much besides."""
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
        is_protected = any(doubt.endswith(MAY_HOLD_SECRETS) for doubt in doubts)
        told = tuple(doubts[:MOST_TOLD])
        return CommandFacts(
            effect.command, assessment, told, is_protected=is_protected, standing=effect.standing
        )

    def _doubts(self, effect: RunCommand, assessment: Assessment, ground: Ground) -> Iterator[str]:
        """Yield why what a command touches is not simply allowed."""
        if effect.is_input:
            yield "what a running command makes of it cannot be known"
        if not effect.cwd.is_inside:
            yield "it runs outside the workspace"
        try:
            named = [*map(Path, assessment.reads), *map(Path, assessment.writes)]
            for pattern in assessment.globs:
                named += picked(Path(pattern), MOST_ENTRIES)
        except TooManyError:
            yield "a pattern in it picks among too many files to look through"
            return
        if assessment.verdict == "asks":
            named += self._words_of(effect)
        yield from _doubts_on_paths(dict.fromkeys(named), ground)
        yield from filter(None, (doubt_on_git(effect.command, effect.cwd.real, ground),))
        if assessment.verdict == "reads":
            yield from filter(None, (doubt_on_tree(tree, ground) for tree in assessment.trees))

    def _words_of(self, effect: RunCommand) -> Iterator[Path]:
        """Yield all that the words of a command may name: no "always" covers what is protected."""
        for word in (plain_words(effect.command) or ())[1:]:
            is_short_flag = word.startswith("-") and not word.startswith("--")
            value = word[2:] if is_short_flag and "=" not in word else word.partition("=")[2]
            for text in (value,) if word.startswith("-") else (word, value):
                if text.startswith("~/"):
                    yield self.home / text[2:]
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
            yield f"{path} lies outside the workspace"


def _is_any_protected(target: Target, ground: Ground) -> bool:
    """Whether a target is protected, now or by the place that it was found to have."""
    if ground.is_protected(target.path):
        return True
    return target.real != target.path and ground.is_protected(target.real)


def _own_place(path: Path) -> Path:
    """Return where a path itself is, the links of its folders resolved, not its own."""
    return followed(path.parent) / path.name


def _leads_elsewhere(target: Target) -> bool:
    try:
        return followed(target.path) != target.real
    except OSError:
        return True
