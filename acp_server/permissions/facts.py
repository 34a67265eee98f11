"""Collects the facts about the disk that a decision needs: link targets and protected files.

Looks at names and symlinks; the only files it reads are `.hermesignore` and git's configuration.
Git itself is asked about repositories.
All calls block and all are bounded: too many files to check count as a doubt.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.permissions import reasons
from acp_server.permissions.claude_rules import ClaudeRules
from acp_server.permissions.config import ApprovalConfig
from acp_server.permissions.effects import (
    CallMcpTool,
    ChangeMemory,
    ChangeSkill,
    ConnectHost,
    ConnectSocket,
    Effect,
    FetchUrl,
    FileTarget,
    ForwardPort,
    LeavePlanMode,
    PassVariables,
    ReadFiles,
    RestoreFiles,
    RunCommandEffect,
    WorkspaceProgram,
    WriteFiles,
)
from acp_server.permissions.file_kinds import is_directory
from acp_server.permissions.git_checks import (
    HOOK_REASON,
    find_git_doubt,
    find_hook_directories,
)
from acp_server.permissions.glob_expansion import TooManyEntriesError, expand_glob
from acp_server.permissions.ignore_files import search_globs
from acp_server.permissions.policy import (
    CommandFacts,
    ConnectFacts,
    Facts,
    FetchFacts,
    FileFacts,
    ForwardFacts,
    McpToolFacts,
    MemoryFacts,
    PlanFacts,
    RestoreFacts,
    SkillFacts,
    SocketFacts,
    VariableFacts,
)
from acp_server.permissions.project_checks import is_project_check
from acp_server.permissions.protected_names import SEARCH_GLOBS
from acp_server.permissions.protected_paths import ProtectedPaths
from acp_server.permissions.remote_hosts import find_hosts
from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from acp_server.permissions.rules import CommandPart
from acp_server.permissions.scopes import (
    FileAccess,
    HostScope,
    McpToolScope,
    PortScope,
    SiteScope,
    SkillVariablesScope,
)
from acp_server.permissions.shell.assessment import assess
from acp_server.permissions.shell.findings import AskedCommand, Assessment
from acp_server.permissions.shielded_files import Shield, UnshieldableError, find_shield
from acp_server.permissions.symlinks import resolve_links
from acp_server.permissions.tree_checks import MAX_ENTRIES, find_tree_doubt

MAX_SHOWN_DOUBTS = 3
UNREADABLE_RULES = (
    "the user's rules in `approvals.deny` cannot be read; ask the user to run "
    "`acp-server config check`"
)
_GLOB_CHARACTERS = re.compile(r"[*?\[\]{}\\!]")


@dataclass(slots=True)
class FactCollector:
    """Collects facts for the sessions of one workspace."""

    roots: Sequence[Path]
    home: Path
    """The directory that `~` expands to."""
    config_home: Path
    """The directory with this program's settings and keys."""
    outputs: Path | None = None
    """The directory with the long outputs of the session, which it may read without a question."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment of commands, which git finds its settings by."""
    approvals: ApprovalConfig = field(default_factory=ApprovalConfig)
    _protected: ProtectedPaths = field(init=False)

    def __post_init__(self) -> None:
        self._protected = ProtectedPaths(self.roots, self.home, self.config_home)

    def claude_rules(self) -> ClaudeRules:
        """Return the rules of Claude Code's settings in the workspace and the home directory."""
        return self._protected.claude_rules()

    def collect(self, effect: Effect) -> Facts:
        """Return the facts that the policy needs to decide on an effect."""
        match effect:
            case ReadFiles():
                others = [each for each in effect.targets if not self._is_output(each)]
                return self._file_facts("read", others)
            case WriteFiles():
                return self._file_facts("write", effect.targets)
            case RunCommandEffect():
                return self._command_facts(effect)
            case ChangeSkill():
                return SkillFacts(self._file_facts("write", effect.targets), effect.doubts)
            case RestoreFiles():
                files = self._file_facts("write", effect.targets)
                return RestoreFacts(files, effect.changed_since)
            case _:
                return _facts_without_disk(effect)

    def has_moved(self, effect: Effect) -> bool:
        """Return whether a path resolves to another file than when the tool resolved it."""
        match effect:
            case ReadFiles() | WriteFiles() | RestoreFiles() | ChangeSkill():
                targets = effect.targets
            case RunCommandEffect():
                targets = (effect.cwd,)
            case _:
                targets = ()
        return any(_has_moved(target) for target in targets)

    def search_excludes(self) -> Sequence[str]:
        """Return globs, relative to the first root, that a search leaves out by default."""
        workspace = self._workspace()
        globs = list(SEARCH_GLOBS)
        for index, root in enumerate(workspace.roots):
            is_first = index == 0
            globs += search_globs(root.ignore_rules, is_first_root=is_first)
            hidden = list(workspace.links.find_below(root.path))
            if workspace.config_home != root.path and workspace.config_home.is_relative_to(
                root.path
            ):
                hidden.append(workspace.config_home)
            anchor = "/" if is_first else "**/"
            for path in hidden:
                relative_path = path.relative_to(root.path).as_posix()
                globs.append(anchor + _GLOB_CHARACTERS.sub(r"\\\g<0>", relative_path))
        return globs

    def is_protected(self, path: Path) -> bool:
        """Return whether a path, by its own name or its link target, always requires permission."""
        return self._protected.is_protected(path)

    def _is_output(self, target: FileTarget) -> bool:
        return self._is_in_outputs(target.path) and self._is_in_outputs(target.real)

    def _is_in_outputs(self, path: Path) -> bool:
        if self.outputs is None:
            return False
        return resolve_links(path).is_relative_to(resolve_links(self.outputs))

    def _workspace(self) -> ResolvedWorkspace:
        return self._protected.resolve()

    def _file_facts(self, access: FileAccess, targets: Sequence[FileTarget]) -> FileFacts:
        workspace = self._workspace()
        # The target as the tool resolved it; `has_moved` compares it with the disk afterwards.
        files = {target.real: target.is_inside for target in targets}
        if access == "write":
            # Security: deleting or moving a symlink changes the link, so its own location, with
            # only the symlinks of its directories resolved, is checked as well as its target.
            link_locations = [
                resolve_links(target.path.parent) / target.path.name for target in targets
            ]
            files |= {
                path: workspace.is_inside(path.parent)
                for path in link_locations
                if path not in files
            }
            files |= {
                t.link: workspace.is_lexically_inside(t.link) for t in targets if t.link is not None
            }
        return FileFacts(
            access=access,
            files=tuple(files),
            outside=tuple(path for path, is_inside in files.items() if not is_inside),
            protected=tuple(t.path for t in targets if _is_any_protected(t, workspace)),
            executable_by_others=self._run_by_others(targets, workspace)
            if access == "write"
            else (),
            coverable_directory=self._coverable_directory(tuple(files), workspace),
        )

    def _run_by_others(
        self, targets: Sequence[FileTarget], workspace: ResolvedWorkspace
    ) -> tuple[tuple[Path, str], ...]:
        """Return the files that other programs run or obey, each with the reason."""
        hooks = find_hook_directories(workspace, self.variables)
        found: list[tuple[Path, str]] = []
        for target in targets:
            is_hook = any(
                path.is_relative_to(hook) for path in (target.path, target.real) for hook in hooks
            )
            reason = HOOK_REASON if is_hook else workspace.run_by_others_reason(target.path)
            if reason:
                found.append((target.path, reason))
        return tuple(found)

    def _coverable_directory(
        self, files: Sequence[Path], workspace: ResolvedWorkspace
    ) -> Path | None:
        """Return the nearest directory that contains all files, unless it is too wide.

        The filesystem root, the home directory and directories above it are too wide, unless they
        are a root of the session; so is every directory above a root.
        """
        folders = [file if is_directory(file) else file.parent for file in files]
        if not folders:
            return None
        common = Path(os.path.commonpath(folders))
        home = resolve_links(self.home)
        is_wide = common == Path(common.anchor) or home.is_relative_to(common)
        is_above = any(
            root.path != common and root.path.is_relative_to(common) for root in workspace.roots
        )
        is_root = any(root.path == common for root in workspace.roots)
        return None if is_above or (is_wide and not is_root) else common

    def _command_facts(self, effect: RunCommandEffect) -> CommandFacts:
        cwd = effect.cwd.real
        assessment = self._assess(effect.command, str(cwd))
        workspace = self._workspace()
        doubts: list[str] = []
        outside: list[Path] = []
        if assessment.verdict == "reads" or assessment.is_coverable:
            # Security: it is judged harmless by the names of well-known programs.
            # An answer for a program covers what it runs.
            asked = {command.program for command in assessment.asked}
            doubts += [
                _describe_program(each)
                for each in effect.workspace_programs
                if each.name not in asked
            ]
        if assessment.verdict != "refused":
            doubts += self._doubts(effect, assessment, workspace, outside)
        # Look at all doubts, then cut: the one about secrets may come after the shown ones.
        is_protected = any(isinstance(doubt, reasons.SecretsReason) for doubt in doubts)
        shown_doubts = tuple(doubts[:MAX_SHOWN_DOUBTS])
        return CommandFacts(
            effect.command,
            assessment,
            shown_doubts,
            is_protected=is_protected,
            sandbox_status=effect.sandbox_status,
            parts=tuple(self._command_part(each, effect, workspace) for each in assessment.asked),
            exposure=effect.exposure,
            outside=tuple(map(resolve_links, dict.fromkeys(outside))),
            coverable_directory=self._coverable_directory(
                tuple(map(resolve_links, outside)), workspace
            ),
            shield=None if doubts else self._find_shield(effect, assessment, workspace),
        )

    def _find_shield(
        self, effect: RunCommandEffect, assessment: Assessment, workspace: ResolvedWorkspace
    ) -> Shield | None:
        """Return what must be kept from a command that the sandbox alone approves.

        None if it may not be approved so.
        """
        # Security: whatever its words show to be removed or sent, the user decides.
        if (
            not effect.is_isolated
            or effect.sandbox_status != "confined"
            or assessment.verdict != "asks"
            or assessment.removes_or_sends
        ):
            return None
        named = (*map(Path, assessment.writes), *self._paths_in_words(assessment))
        if any(workspace.run_by_others_reason(path) for path in named):
            return None
        # Also those that the settings name, and those of a linked work tree's main repository.
        hooks = map(resolve_links, find_hook_directories(workspace, self.variables))
        try:
            return find_shield(workspace, tuple(hooks))
        except UnshieldableError:
            return None

    def _assess(self, command: str, cwd: str) -> Assessment:
        if self.approvals.is_invalid:
            # Fail closed: the rule that cannot be read may be the one that forbids this command.
            return Assessment("refused", UNREADABLE_RULES)
        denied = self.claude_rules().denied_commands
        return assess(command, cwd, str(self.home), (*self.approvals.deny, *denied), denied)

    def _doubts(
        self,
        effect: RunCommandEffect,
        assessment: Assessment,
        workspace: ResolvedWorkspace,
        outside: list[Path],
    ) -> Iterator[str]:
        """Yield the reasons why the files that a command accesses are not simply allowed.

        The paths outside the workspace that it only reads are added to `outside` instead.
        """
        if effect.is_input:
            yield reasons.SENT_AS_INPUT
        if not effect.cwd.is_inside and assessment.verdict == "reads":
            outside.append(effect.cwd.real)
        elif not effect.cwd.is_inside:
            yield reasons.RUNS_OUTSIDE
        try:
            read = self._read_paths(assessment)
        except TooManyEntriesError:
            yield reasons.TOO_MANY_MATCHES
            return
        others = [path for path in read if not self._is_in_outputs(path)]
        for path in dict.fromkeys((*others, *map(Path, assessment.writes))):
            if workspace.is_protected(path):
                yield reasons.secrets(path.name)
            elif workspace.is_inside(path):
                continue
            elif str(path) in assessment.writes:
                yield reasons.outside(path)
            else:
                outside.append(path)
        # For every command, also one that only reads: git runs configured programs on `git diff`.
        folder = effect.cwd.real
        yield from filter(None, (find_git_doubt(assessment, folder, workspace, self.variables),))
        if assessment.verdict == "reads" or assessment.is_coverable:
            trees = assessment.trees
            yield from filter(
                None, (find_tree_doubt(tree, workspace, self.variables) for tree in trees)
            )

    def _read_paths(self, assessment: Assessment) -> list[Path]:
        """Return the paths that a command may read.

        Raises:
            TooManyEntriesError: a pattern in it matches too many files.
        """
        paths = list(map(Path, assessment.reads))
        for pattern in assessment.globs:
            paths += expand_glob(Path(pattern), MAX_ENTRIES)
        # The program is unknown, so any of its words may be a path.
        if assessment.verdict == "asks":
            paths += self._paths_in_words(assessment)
        return paths

    def _command_part(
        self, command: AskedCommand, effect: RunCommandEffect, workspace: ResolvedWorkspace
    ) -> CommandPart:
        directories = tuple(
            dict.fromkeys(resolve_links(Path(each)) for each in command.directories)
        )
        # Security: what a project's own files run is only as harmless as the sandbox makes it.
        is_check = effect.sandbox_status == "confined" and is_project_check(
            command, directories, workspace
        )
        hosts = ()
        if command.remote is not None:
            hosts = find_hosts(command.remote, directories, workspace, self.variables)
        return CommandPart(command, directories, is_check=is_check, hosts=hosts)

    def _paths_in_words(self, assessment: Assessment) -> Iterator[Path]:
        """Yield every path that a word of a command may name.

        A saved "always" for a command does not cover protected files, so its words are checked even
        if it is unknown which of them are paths.
        """
        for command in assessment.asked:
            for word in command.paths:
                is_short_flag = word.startswith("-") and not word.startswith("--")
                # Both `-fPATH` and `--file=PATH` hide a path behind a flag.
                is_attached = is_short_flag and "=" not in word
                value = word[2:] if is_attached else word.partition("=")[2]
                for text in (value,) if word.startswith("-") else (word, value):
                    if text.startswith("~/"):
                        yield self.home / text[2:]
                    # A path with NUL raises ValueError when the system is asked about it.
                    elif text and "\0" not in text:
                        for directory in command.directories:
                            yield Path(os.path.normpath(Path(directory) / text))


def _facts_without_disk(  # noqa: PLR0911  one per kind
    effect: ChangeMemory
    | CallMcpTool
    | LeavePlanMode
    | FetchUrl
    | ConnectHost
    | ConnectSocket
    | ForwardPort
    | PassVariables,
) -> Facts:
    match effect:
        case ChangeMemory():
            return MemoryFacts(effect.asks_first)
        case LeavePlanMode():
            return PlanFacts()
        case FetchUrl():
            return FetchFacts(SiteScope(effect.site))
        case ConnectHost(site, address):
            return ConnectFacts(HostScope(site, address))
        case ConnectSocket(_, danger):
            return SocketFacts(danger)
        case ForwardPort(port, access):
            return ForwardFacts(PortScope(port), access)
        case PassVariables(skill, identity, names):
            return VariableFacts(SkillVariablesScope(skill, identity, names))
        case CallMcpTool(server, identity, tool):
            scope = McpToolScope(server, identity, tool)
            return McpToolFacts(scope, effect.read_only_hint, effect.destructive_hint)


def _describe_program(program: WorkspaceProgram) -> str:
    if program.is_chosen:
        return reasons.chosen_program(program.path, program.name)
    return reasons.workspace_program(program.path)


def _is_any_protected(target: FileTarget, workspace: ResolvedWorkspace) -> bool:
    """Return whether a target is protected by its current path or by its resolved path."""
    if workspace.is_protected(target.path):
        return True
    return target.real != target.path and workspace.is_protected(target.real)


def _has_moved(target: FileTarget) -> bool:
    try:
        return resolve_links(target.path) != target.real
    # The path keeps changing, so it cannot be trusted to be the same.
    except OSError:
        return True
