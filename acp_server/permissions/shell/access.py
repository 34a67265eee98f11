"""Record the file accesses of one command: reads, searches and writes."""

import re

from acp_server.permissions.shell.findings import Findings, Tree, Unclear
from acp_server.permissions.shell.patterns import could_name, root_of
from acp_server.permissions.shell.scope import Scope, climbs_back
from acp_server.permissions.shell.words import Word
from acp_server.startup.fast_dataclass import frozen

# Security: devices, bash's network connections (/dev/tcp), and the memory, files and environment of
# processes. Case is ignored for file systems that ignore it.
_KERNEL_FILE = re.compile(r"/(?:dev|proc|sys)/", re.IGNORECASE)
_KERNEL_FOLDERS = ("dev", "proc", "sys")
_HARMLESS_KERNEL_FILES = frozenset(
    {
        "/dev/null",
        "/dev/stdin",
        "/dev/zero",
        "/proc/cpuinfo",
        "/proc/loadavg",
        "/proc/meminfo",
        "/proc/uptime",
        "/proc/version",
    }
)


@frozen
class Access:
    """Records the accesses of one command, relative to where it runs."""

    findings: Findings
    scope: Scope

    def read(self, word: Word) -> None:
        """Record that a file or directory is read.

        Raises:
            UndecidableCommand: The word is only known at run time, or names a special file.
        """
        if not word.is_known:
            raise Unclear("a path in it is only known when it runs")
        for path in self.scope.paths(word.text):
            if _KERNEL_FILE.match(path) and path not in _HARMLESS_KERNEL_FILES:
                raise Unclear(f"it reads {path}, which is no ordinary file")
        if word.pattern is None:
            self.findings.reads.update(dict.fromkeys(self.scope.paths(word.text)))
            return
        # Security: `*/../x` depends on symlinks that the glob may match.
        if climbs_back(word.pattern):
            raise Unclear("it goes back out of folders that a pattern picks")
        for pattern in self.scope.paths(word.pattern):
            if any(could_name("/" + pattern.split("/")[1], name) for name in _KERNEL_FOLDERS):
                raise Unclear("it reads files, by a pattern, that may be no ordinary ones")
            self.findings.globs[pattern] = None
            self.findings.reads[root_of(pattern)] = None

    def read_text(self, text: str) -> None:
        """Record that the file with this name is read."""
        self.read(Word(text))

    def search(self, word: Word, like: Tree) -> None:
        """Record that everything below a directory is read; `options` says how.

        Raises:
            UndecidableCommand: The word is only known at run time.
        """
        self.read(word)
        kernel = [path for path in self.scope.paths(word.text) if _KERNEL_FILE.match(path + "/")]
        if not _HARMLESS_KERNEL_FILES.issuperset(kernel):
            raise Unclear("it searches what is no ordinary folder")
        # A glob's matches may change before the command runs, so its literal parent directory
        # counts as searched.
        roots = self.scope.paths(word.text) if word.pattern is None else self._roots(word.pattern)
        for root in roots:
            tree = Tree(root, hidden=like.hidden, follows=like.follows, names=like.names)
            self.findings.trees[tree] = None

    def _roots(self, pattern: str) -> tuple[str, ...]:
        return tuple(root_of(path) for path in self.scope.paths(pattern))

    def write(self, word: Word) -> None:
        """Record that a file is written, if its path is known."""
        if word.is_literal and word.text:
            self.findings.writes.update(dict.fromkeys(self.scope.paths(word.text)))
