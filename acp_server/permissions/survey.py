"""The facts that a decision needs of the disk: where paths lead, and what is protected.

Looks at names and links; of files it reads none but `.hermesignore` and git's settings. All calls
block, and all are bounded: what is too much to look through counts as a doubt.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from pathspec import GitIgnoreSpec

from acp_server.permissions.effects import Effect, ReadFiles, RunCommand, Target, WriteFiles
from acp_server.permissions.policy import CommandFacts, Facts, FileFacts
from acp_server.permissions.protected import is_protected
from acp_server.permissions.scopes import Act
from acp_server.permissions.shell.assessment import assess
from acp_server.permissions.shell.findings import Assessment, Tree

IGNORE_FILE = ".hermesignore"
MOST_IGNORE_BYTES = 100_000
MOST_ENTRIES = 20_000
GIT_SECRETS = ("extraheader", "password", "token", "://")


@dataclass(slots=True)
class Surveyor:
    """Gathers facts for the sessions of one workspace."""

    roots: Sequence[Path]
    home: Path
    """What `~` means."""
    own_folder: Path
    """Where this program keeps its settings and keys."""
    _ignored: dict[Path, tuple[float, GitIgnoreSpec]] = field(
        default_factory=dict[Path, tuple[float, GitIgnoreSpec]]
    )

    def facts(self, effect: Effect) -> Facts:
        """Return what is to be known of an effect before it is decided on."""
        match effect:
            case ReadFiles():
                return self._file_facts("read", effect.targets)
            case WriteFiles():
                return self._file_facts("write", effect.targets)
            case RunCommand():
                return self._command_facts(effect)

    def ignored_globs(self) -> Sequence[str]:
        """Return the lines of the ignore files, as a search takes them."""
        lines = (line for root in self._real_roots() for line in _lines(root / IGNORE_FILE))
        return [line for line in lines if line.strip() and not line.startswith(("#", "!"))]

    def is_protected(self, path: Path) -> bool:
        """Whether a path, by its own name or where it leads, is nobody's to touch unasked."""
        real = Path(os.path.realpath(path))
        return any(self._is_protected_name(each) for each in {path, real})

    def _is_protected_name(self, path: Path) -> bool:
        below = _below(path, self._inner_root(path))
        if is_protected(below) or is_protected(Path(path.name)):
            return True
        return self._is_own(path) or self._is_ignored(path)

    def _inner_root(self, path: Path) -> Path | None:
        """Return the root that a path lies in: a workspace inside `.git` is not protected."""
        return next((root for root in self._real_roots() if path.is_relative_to(root)), None)

    def _real_roots(self) -> list[Path]:
        return [Path(os.path.realpath(root)) for root in self.roots]

    def _is_own(self, path: Path) -> bool:
        own = Path(os.path.realpath(self.own_folder))
        if not path.is_relative_to(own):
            return False
        first = path.relative_to(own).parts[:1]
        return first not in {("skills",), ("memories",)}

    def _is_ignored(self, path: Path) -> bool:
        return any(
            path.is_relative_to(root)
            and self._patterns(root).match_file(path.relative_to(root).as_posix())
            for root in self._real_roots()
        )

    def _patterns(self, root: Path) -> GitIgnoreSpec:
        """Return the patterns of a root's ignore file, read again when it has changed."""
        file = root / IGNORE_FILE
        try:
            changed = file.stat().st_mtime
        except OSError:
            return GitIgnoreSpec([])
        known = self._ignored.get(root)
        if known is None or known[0] != changed:
            known = (changed, _read_patterns(file))
            self._ignored[root] = known
        return known[1]

    def _file_facts(self, act: Act, targets: Sequence[Target]) -> FileFacts:
        return FileFacts(
            act=act,
            files=tuple(target.real for target in targets),
            outside=tuple(target.real for target in targets if not target.is_inside),
            protected=tuple(target.path for target in targets if self.is_protected(target.path)),
        )

    def _command_facts(self, effect: RunCommand) -> CommandFacts:
        assessment = assess(effect.command, str(effect.cwd.real), str(self.home))
        protected = [p for p in self._named(assessment) if self.is_protected(p)]
        doubts = [f"{path.name} may hold secrets or settings" for path in protected]
        doubts += [] if effect.cwd.is_inside else ["it runs outside the workspace"]
        if assessment.verdict == "reads":
            doubts += self._doubts(assessment)
        return CommandFacts(effect.command, assessment, tuple(doubts), bool(protected))

    def _named(self, assessment: Assessment) -> Iterator[Path]:
        yield from map(Path, assessment.reads)
        yield from map(Path, assessment.writes)
        for pattern in assessment.globs:
            yield from _expanded(Path(pattern))

    def _doubts(self, assessment: Assessment) -> Iterator[str]:
        """Yield why what a command reads is not simply allowed."""
        outside = [p for p in self._named(assessment) if not self._is_inside(p)]
        yield from (f"{path} lies outside the workspace" for path in outside[:3])
        for tree in assessment.trees:
            doubt = self._doubt_on_tree(tree)
            if doubt:
                yield doubt

    def _is_inside(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(root) for root in self._real_roots())

    def _doubt_on_tree(self, tree: Tree) -> str:
        """Return what speaks against reading all of a tree; nothing for most."""
        for count, entry in enumerate(_walk(Path(tree.root), tree)):
            if count >= MOST_ENTRIES:
                return f"{tree.root} holds too many files to look through for secrets"
            path = Path(entry.path)
            if path.name == ".git":
                if _has_git_secrets(path / "config"):
                    return f"{path} holds credentials"
            elif _is_read(entry, tree) and self.is_protected(path):
                return f"{path} may hold secrets or settings"
            elif tree.follows and entry.is_symlink() and not self._is_inside(path):
                return f"{path} leads outside the workspace"
        return ""


def _below(path: Path, root: Path | None) -> Path:
    return path if root is None else path.relative_to(root)


def _read_patterns(file: Path) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(_lines(file))
    except ValueError:
        return GitIgnoreSpec.from_lines(["*"])  # not to be understood: all of it asks


def _lines(file: Path) -> Sequence[str]:
    """Return the lines of an ignore file; one that is there and cannot be read ignores all."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(MOST_IGNORE_BYTES).splitlines()
    except FileNotFoundError:
        return ()
    except OSError:
        return ("*",)


def _expanded(pattern: Path) -> Iterator[Path]:
    """Yield what a pattern picks now, and the folder it begins in."""
    anchor = Path(pattern.anchor)
    parts = pattern.relative_to(anchor).as_posix()
    for count, found in enumerate(anchor.glob(parts)):
        if count >= MOST_ENTRIES:
            return
        yield found


def _walk(folder: Path, tree: Tree) -> Iterator["os.DirEntry[str]"]:
    """Yield what lies below a folder, without what lies in `.git`."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") and not tree.hidden:
            continue
        yield entry
        if entry.name != ".git" and entry.is_dir(follow_symlinks=tree.follows):
            yield from _walk(Path(entry.path), tree)


def _is_read(entry: "os.DirEntry[str]", tree: Tree) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return False
    return not tree.names or any(fnmatch(entry.name, name) for name in tree.names)


def _has_git_secrets(file: Path) -> bool:
    """Whether git's settings hold a password or a token, as those of some tools do."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            lines = opened.read(MOST_IGNORE_BYTES).casefold().splitlines()
    except OSError:
        return False
    return any(
        any(word in line for word in GIT_SECRETS[:-1]) or ("://" in line and "@" in line)
        for line in lines
    )
