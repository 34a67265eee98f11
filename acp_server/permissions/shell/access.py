"""Record the file accesses of one command: reads, searches and writes."""

import re
from dataclasses import replace

from acp_server.permissions import reasons
from acp_server.permissions.shell.findings import (
    CommandFindings,
    ProgramCall,
    SearchedTree,
    UndecidableCommand,
)
from acp_server.permissions.shell.patterns import could_match_name, pattern_root
from acp_server.permissions.shell.scope import ShellScope, has_dotdot_after_name
from acp_server.permissions.shell.words import Word
from acp_server.startup.fast_dataclass import frozen_dataclass

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


@frozen_dataclass
class AccessRecorder:
    """Records the accesses of one command, relative to where it runs."""

    findings: CommandFindings
    scope: ShellScope

    def record_read(self, word: Word) -> None:
        """Record that a file or directory is read.

        Raises:
            UndecidableCommand: The word is only known at run time, or names a special file.
        """
        if not word.is_known:
            raise UndecidableCommand(reasons.UNKNOWN_PATH)
        if word.is_pipe:
            return
        for path in self.scope.resolve_paths(word.text):
            if _KERNEL_FILE.match(path) and path not in _HARMLESS_KERNEL_FILES:
                raise UndecidableCommand(reasons.odd_file(path))
        if word.pattern is None:
            self.findings.reads.update(dict.fromkeys(self.scope.resolve_paths(word.text)))
            return
        # Security: `*/../x` depends on symlinks that the glob may match.
        if has_dotdot_after_name(word.pattern):
            raise UndecidableCommand(reasons.LEAVES_PATTERN)
        for pattern in self.scope.resolve_paths(word.pattern):
            # Only the first part can lead there: `/d*/mem` is in /dev.
            if any(could_match_name("/" + pattern.split("/")[1], name) for name in _KERNEL_FOLDERS):
                raise UndecidableCommand(reasons.ODD_FILES)
            self.findings.globs[pattern] = None
            self.findings.reads[pattern_root(pattern)] = None

    def record_path_read(self, text: str) -> None:
        """Record that the file with this name is read."""
        self.record_read(Word(text))

    def record_search(self, word: Word, options: SearchedTree) -> None:
        """Record that everything below a directory is read; `options` says how.

        Raises:
            UndecidableCommand: The word is only known at run time.
        """
        self.record_read(word)
        if word.is_pipe:
            return
        kernel_paths = [
            path for path in self.scope.resolve_paths(word.text) if _KERNEL_FILE.match(path + "/")
        ]
        if not _HARMLESS_KERNEL_FILES.issuperset(kernel_paths):
            raise UndecidableCommand(reasons.ODD_FOLDER)
        # A glob's matches may change before the command runs, so its literal parent directory
        # counts as searched.
        roots = (
            self.scope.resolve_paths(word.text)
            if word.pattern is None
            else tuple(map(pattern_root, self.scope.resolve_paths(word.pattern)))
        )
        for root in roots:
            self.findings.trees[replace(options, root=root)] = None

    def record_program(self, word: Word) -> None:
        """Record that a program is run, if its name is known."""
        if word.is_literal and word.text:
            self.findings.programs[ProgramCall(word.text, self.scope.directories)] = None

    def record_write(self, word: Word) -> None:
        """Record that a file is written, if its path is known."""
        if word.is_literal and word.text:
            self.findings.writes.update(dict.fromkeys(self.scope.resolve_paths(word.text)))
