"""Entry point: assess the effects of a command line.

Pure: neither disk nor environment is read. `cwd` is the command's working directory, symlinks
resolved. The permission gate must still check each reported path against its rules, including globs
and trees. A command that passes must be run by bash without start-up files, aliases and `CDPATH`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acp_server.permissions.shell.characters import fault_of
from acp_server.permissions.shell.command_line import Source, words_of
from acp_server.permissions.shell.deny_scan import Search
from acp_server.permissions.shell.findings import Assessment, Unclear
from acp_server.permissions.shell.grammar import every_command, is_wide_gap, parse
from acp_server.permissions.shell.prefixes import are_flags_covered, is_legal, prefix_of
from acp_server.permissions.shell.scope import Scope, normalised
from acp_server.permissions.shell.walker import Walk

if TYPE_CHECKING:
    from tree_sitter import Node


def assess(command: str, cwd: str, home: str | None = None) -> Assessment:
    """Return the effects of a bash command line that runs in the absolute directory `cwd`."""
    fault = fault_of(command)
    if fault is not None:
        return Assessment("asks", fault)
    folder = normalised(cwd)
    source = Source(command.encode("utf-8"))
    root = parse(source.text)
    # Order: the deny list comes before the check for parse errors, so that text which our grammar
    # cannot parse, but bash perhaps can, is still refused.
    refusal = Search(folder, home).refusal_below(root, command)
    if refusal is not None:
        return Assessment("refused", refusal)
    if root.has_error:
        return Assessment("asks", "it cannot be read as a shell command")
    walk = Walk(source)
    walk.run(root, Scope(folder, (folder,), home))
    found = walk.findings
    reason = found.reasons[0] if found.reasons else ""
    return Assessment(
        "asks" if reason else "reads",
        reason,
        tuple(found.reads),
        tuple(found.globs),
        tuple(found.trees),
        tuple(found.writes),
        _prefix(command) if reason else None,
    )


def matches_prefix(command: str, prefix: tuple[str, ...]) -> bool:
    """Return whether a saved "always" covers a command: one plain command with that prefix."""
    words = plain_words(command)
    if words is None or not is_legal(prefix) or words[: len(prefix)] != prefix:
        return False
    # Security: the prefix ends at the first flag, so the flags of the new command must be checked,
    # too.
    return are_flags_covered(words)


def plain_words(command: str) -> tuple[str, ...] | None:
    """Return the words of a single plain command; None for anything else."""
    if fault_of(command) is not None:
        return None
    source = Source(command.encode("utf-8"))
    root = parse(source.text)
    kinds = [child.type for child in root.children]
    if root.has_error or kinds != ["command"]:
        return None
    node = root.children[0]
    ends = (source.text[: node.start_byte], source.text[node.end_byte :])
    # Security: text that no node accounts for may be a second command to bash.
    if not all(is_wide_gap(end) for end in ends):
        return None
    try:
        words = [source.word(each, _NOWHERE) for each in words_of(node, source)]
    except Unclear:
        return None
    return tuple(word.text for word in words) if all(word.is_literal for word in words) else None


def spoken_commands(command: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the leading words of each command in a line; None if it cannot be parsed.

    Each list ends before the first word that is not literal.
    """
    if fault_of(command) is not None:
        return None
    source = Source(command.encode("utf-8"))
    root = parse(source.text)
    if root.has_error:
        return None
    return tuple(tuple(_plain_start(node, source)) for node in every_command(root))


def _plain_start(command: "Node", source: Source) -> Iterator[str]:
    for node in command.children:
        if node.type == "variable_assignment":
            continue
        try:
            word = source.word(node, _NOWHERE)
        except Unclear:
            return
        if not word.is_literal:
            return
        yield word.text


def _prefix(command: str) -> tuple[str, ...] | None:
    words = plain_words(command)
    return prefix_of(words) if words else None


_NOWHERE = Scope("/", ("/",), None)
