"""Which files of a workspace are protected: an agent reads and changes them only with permission.

Kept apart from the facts about effects (`facts.py`): the system prompt asks about the instruction
files before the first request, when nothing has been judged yet. All calls block.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.permissions.claude_rules import ClaudeRules
from acp_server.permissions.claude_settings import ClaudeSettings
from acp_server.permissions.ignore_files import IgnoreFiles
from acp_server.permissions.resolved_workspace import ResolvedWorkspace, resolve_workspace


@dataclass(slots=True)
class ProtectedPaths:
    """The protected files of one workspace, by the files on disk at each call."""

    roots: Sequence[Path]
    home: Path
    """The directory that `~` expands to."""
    config_home: Path
    """The directory with this program's settings and keys."""
    _ignore_files: IgnoreFiles = field(init=False)
    _claude_settings: ClaudeSettings = field(init=False)

    def __post_init__(self) -> None:
        self._claude_settings = ClaudeSettings(self.roots, self.home)
        # What these settings forbid to read is protected from commands, too.
        self._ignore_files = IgnoreFiles(lambda: self.claude_rules().hidden)

    def claude_rules(self) -> ClaudeRules:
        """Return the rules of Claude Code's settings in the workspace and the home directory."""
        return self._claude_settings.rules()

    def resolve(self) -> ResolvedWorkspace:
        """Return the directories as they are now, with what is protected in them."""
        return resolve_workspace(self.roots, self.config_home, self._ignore_files, self.home)

    def is_protected(self, path: Path) -> bool:
        """Return whether a path, by its own name or its link target, always requires permission."""
        return self.resolve().is_protected(path)
