"""Whether rules on commands cover a command line, without a disk."""

from pathlib import Path

from acp_server.permissions.rules import CommandPart, PermissionRule, RuleBook
from acp_server.permissions.scopes import CommandPattern, CommandScope
from acp_server.permissions.shell.assessment import assess

ROOT = Path("/code/space")


def parts_of(command: str) -> tuple[CommandPart, ...]:
    """Return the parts of a command line that ask, each in its directories."""
    asked = assess(command, str(ROOT), "/home/user").asked
    return tuple(CommandPart(each, tuple(map(Path, each.directories))) for each in asked)


def is_covered(command: str, *prefixes: tuple[str, ...], directory: Path = ROOT) -> bool:
    """Return whether "always" answers for these words, given in one directory, cover a line."""
    patterns = tuple(CommandPattern(words, directory) for words in prefixes)
    book = RuleBook([PermissionRule(CommandScope(patterns), is_allowed=True)])
    verdict = book.verdict_on_command(parts_of(command))
    return verdict is True and assess(command, str(ROOT), "/home/user").is_coverable
