"""Claude Code's settings in a workspace: where they are, and their rules as long as they hold.

The reader of rules (`claude_rule_reading.py`) is imported once there are such files: few sessions
have any, and each looks for them before its first request. All calls block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.permissions.claude_rules import NO_RULES, ClaudeRules
from acp_server.permissions.file_stamp import FileStamp, file_stamp

FILES = (".claude/settings.json", ".claude/settings.local.json")


@dataclass(slots=True)
class ClaudeSettings:
    """The settings files of a workspace and of its user, read again whenever they change."""

    roots: Sequence[Path]
    """The session's directory first."""
    user_home: Path
    _known: tuple[tuple[FileStamp | None, ...], ClaudeRules] | None = field(
        default=None, init=False
    )

    def rules(self) -> ClaudeRules:
        """Return the current rules of all files."""
        files = list(self._files())
        stamps = tuple(file_stamp(path) for path, _ in files)
        known = self._known
        if known is None or known[0] != stamps:
            known = (stamps, self._read(files) if any(stamps) else NO_RULES)
            self._known = known
        return known[1]

    def _files(self) -> Iterator[tuple[Path, Path]]:
        """Yield the files and the directory that the paths in each are relative to."""
        for root in self.roots:
            real = root.resolve()
            yield from ((real / name, real) for name in FILES)
        # The user's own relative patterns hold in the session's directory.
        yield self.user_home / FILES[0], self.roots[0].resolve()

    def _read(self, files: Sequence[tuple[Path, Path]]) -> ClaudeRules:
        # Rules of commands take longer to import than all else that says what is protected.
        from acp_server.permissions.claude_rule_reading import read_rules

        return read_rules(files, self.user_home)
