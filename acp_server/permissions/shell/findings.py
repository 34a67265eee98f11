"""Results of the analysis: paths that a command reads and writes, and reasons to ask the user.

Paths are text here. Whether a path exists, is a symlink or is protected is checked by the gate.
"""

from dataclasses import dataclass, field
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

ShellVerdict = Literal["reads", "asks", "refused"]
GitOutput = Literal["", "changes", "commits", "objects", "files", "any"]
"""Contents of files that a use of git may print.

changes: of the index or the work tree, and between commits. commits: of commits. objects: objects
that it names. files: all files of a revision, or of the index. any: unknown."""


class UndecidableCommand(Exception):  # noqa: N818 - not a failure: the answer is to ask
    """The text cannot be proven read-only; carries the phrase for the permission question."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@frozen_dataclass
class SearchedTree:
    """A directory that is searched: the contents of the files below it are read."""

    root: str
    includes_hidden: bool = True
    """Whether files and directories with a leading dot are read, too."""
    follows_symlinks: bool = False
    """Whether symlinks below it are followed, also those that leave it."""
    name_patterns: tuple[str, ...] = ()
    """If not empty, only files whose names match one of these patterns are read."""
    opens_links: bool = False
    """Whether symlinks to files are read, as by a program that is given the names one by one."""
    splits_names: bool = False
    """Whether a name with white space, a quote or a leading dash would count as other words."""


@frozen_dataclass
class GitUse:
    """One use of git, with its words after the shell's expansions."""

    directories: tuple[str, ...]
    """The directories that it may run in."""
    subcommand: str = ""
    """One or two words; empty if it is unknown."""
    output: GitOutput = "any"
    selection: tuple[str, ...] = ()
    """Its flags that choose commits or changes."""
    revisions: tuple[str, ...] = ()
    """Its operands before `--`: revisions or paths."""
    paths: tuple[str, ...] = ()
    """Its operands after `--`."""
    has_globs: bool = False
    """Whether there are more operands, which the shell or git picks by a pattern."""


@frozen_dataclass
class ProgramCall:
    """One program that a line runs, also by another one, after the shell's expansions."""

    name: str
    directories: tuple[str, ...]
    """The directories that it may run in."""


@frozen_dataclass
class RemoteRead:
    """A reading from another host, as far as the words of its command tell."""

    program: Literal["gh", "git"]
    host: str = ""
    """The host that gh is given; empty if none."""
    remote: str = ""
    """The remote or address that git is given; empty for the default one."""
    uses_all_remotes: bool = False
    """Whether any of the repository's remotes may be meant."""
    is_fetch: bool = False
    """Whether git stores what it reads; git then runs hooks and enters submodules."""


@frozen_dataclass
class AskedCommand:
    """One simple command that asks, with what an "always" may cover of it."""

    words: tuple[str, ...]
    """Its words, without quotes, up to the first that is only known at run time; assignments that
    it depends on come first."""
    directories: tuple[str, ...]
    """The directories that it may run in."""
    prefixes: tuple[tuple[str, ...], ...] = ()
    """The beginnings of its words that an "always" may cover; each of them must be covered. Empty:
    only its exact words may be covered, if `is_exact`."""
    is_exact: bool = False
    """Whether an "always" may cover exactly its words."""
    program: str = ""
    """The name or path of the program; empty if it is only known at run time."""
    paths: tuple[str, ...] = ()
    """Its words that may be paths, or flags with a path."""
    check: str = ""
    """Family of project checks that it may belong to; empty if to none."""
    remote: RemoteRead | None = None
    """The reading from a host that it is; None if it does more, or something else."""


@frozen_dataclass
class Assessment:
    """Effects of a command. `reads` is valid only if the gate allows each path in it."""

    verdict: ShellVerdict
    reason: str = ""
    """Why it asks or is refused, as one phrase for the user; empty if it only reads."""
    reads: tuple[str, ...] = ()
    """All paths read, absolute; for a glob or tree, the directory where it begins."""
    globs: tuple[str, ...] = ()
    """The absolute globs among the reads; `patterns.could_match_name` tells possible matches."""
    trees: tuple[SearchedTree, ...] = ()
    """Directories whose contents are searched at any depth."""
    writes: tuple[str, ...] = ()
    """Paths written, as far as known: for the question, not for a decision."""
    git_uses: tuple[GitUse, ...] = ()
    """All uses of git that are known; if it asks, there may be others."""
    programs: tuple[ProgramCall, ...] = ()
    """All programs that it runs, as far as known; if it asks for another reason than its asked
    commands, there may be others."""
    asked: tuple[AskedCommand, ...] = ()
    """The simple commands that ask, in text order."""
    is_coverable: bool = False
    """Whether these commands are the only reasons to ask, so that an "always" for each of them
    covers the line."""
    removes_or_sends: bool = False
    """Whether it names a program that removes files or sends data, or cannot be read."""

    @property
    def has_globs(self) -> bool:
        """Whether the shell selects some of the paths by a glob."""
        return bool(self.globs)


@dataclass(slots=True)
class CommandFindings:
    """Findings so far, each once, in text order."""

    reads: dict[str, None] = field(default_factory=dict[str, None])
    globs: dict[str, None] = field(default_factory=dict[str, None])
    trees: dict[SearchedTree, None] = field(default_factory=dict[SearchedTree, None])
    writes: dict[str, None] = field(default_factory=dict[str, None])
    git_uses: dict[GitUse, None] = field(default_factory=dict[GitUse, None])
    programs: dict[ProgramCall, None] = field(default_factory=dict[ProgramCall, None])
    reasons: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Reasons to ask, each with its rank: how dangerous it is."""
    asked: dict[AskedCommand, None] = field(default_factory=dict[AskedCommand, None])
    has_other_reasons: bool = False
    """Whether there are reasons besides those of the asked commands."""

    def add_reason(self, reason: str) -> None:
        """Add a reason to ask that no "always" covers."""
        self.reasons.append((0, reason))
        self.has_other_reasons = True

    def add_asked(self, command: AskedCommand, reason: str, rank: int) -> None:
        """Add a simple command that asks, with the reason and its rank."""
        self.reasons.append((rank, reason))
        self.asked[command] = None

    @property
    def worst_reason(self) -> str:
        """The most dangerous reason, the first of them; empty if there is none."""
        return max(self.reasons, key=lambda each: each[0], default=(0, ""))[1]
