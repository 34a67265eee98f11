"""What a command does with its words: a path is read, a folder searched, a file written."""

import re

from acp_server.frozen import frozen
from acp_server.permissions.shell.findings import Findings, Tree, Unclear
from acp_server.permissions.shell.patterns import could_name, root_of
from acp_server.permissions.shell.scope import Scope, climbs_back
from acp_server.permissions.shell.words import Word

# Devices, connections (/dev/tcp), the memory, files and environment of processes.
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
    """Puts down what one command does, seen from where it runs."""

    findings: Findings
    scope: Scope

    def read(self, word: Word) -> None:
        """Put down that the file or folder is read.

        Raises:
            Unclear: the word is only known when it runs, or names what is no ordinary file.
        """
        if not word.is_known:
            raise Unclear("a path in it is only known when it runs")
        for path in self.scope.paths(word.text):
            if _KERNEL_FILE.match(path) and path not in _HARMLESS_KERNEL_FILES:
                raise Unclear(f"it reads {path}, which is no ordinary file")
        if word.pattern is None:
            self.findings.reads.update(dict.fromkeys(self.scope.paths(word.text)))
            return
        if climbs_back(word.pattern):
            raise Unclear("it goes back out of folders that a pattern picks")
        for pattern in self.scope.paths(word.pattern):
            if any(could_name("/" + pattern.split("/")[1], name) for name in _KERNEL_FOLDERS):
                raise Unclear("it reads files, by a pattern, that may be no ordinary ones")
            self.findings.globs[pattern] = None
            self.findings.reads[root_of(pattern)] = None

    def read_text(self, text: str) -> None:
        """Put down that the file of this name is read."""
        self.read(Word(text))

    def search(self, word: Word, like: Tree) -> None:
        """Put down that everything below a folder is read; `like` says in which manner.

        Raises:
            Unclear: the word is only known when it runs.
        """
        self.read(word)
        kernel = [path for path in self.scope.paths(word.text) if _KERNEL_FILE.match(path + "/")]
        if not _HARMLESS_KERNEL_FILES.issuperset(kernel):
            raise Unclear("it searches what is no ordinary folder")
        roots = self.scope.paths(word.text) if word.pattern is None else self._roots(word.pattern)
        for root in roots:
            tree = Tree(root, hidden=like.hidden, follows=like.follows, names=like.names)
            self.findings.trees[tree] = None

    def _roots(self, pattern: str) -> tuple[str, ...]:
        return tuple(root_of(path) for path in self.scope.paths(pattern))

    def write(self, word: Word) -> None:
        """Put down that the file is written, if it can be told which."""
        if word.is_literal and word.text:
            self.findings.writes.update(dict.fromkeys(self.scope.paths(word.text)))
