"""Entry point: assess the effects of a command line.

Pure: neither disk nor environment is read. `cwd` is the command's working directory, symlinks
resolved. The permission gate must still check each reported path against its rules, including globs
and trees. A command that passes must be run by bash without start-up files, aliases and `CDPATH`.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from acp_server.permissions import reasons
from acp_server.permissions.shell.characters import find_character_fault
from acp_server.permissions.shell.command_line import CommandSource, collect_words
from acp_server.permissions.shell.dangers import removes_or_sends
from acp_server.permissions.shell.deny_scan import DenyListScan
from acp_server.permissions.shell.findings import Assessment, UndecidableCommand
from acp_server.permissions.shell.grammar import is_wide_gap, iter_commands, parse
from acp_server.permissions.shell.scope import ShellScope, normalize_path
from acp_server.permissions.shell.user_rules import UserRules
from acp_server.permissions.shell.walker import CommandWalker

if TYPE_CHECKING:
    from tree_sitter import Node


def assess(
    command: str,
    cwd: str,
    home: str | None = None,
    denied: Sequence[str] = (),
    sources: Mapping[str, str] | None = None,
) -> Assessment:
    """Return the effects of a bash command line that runs in the absolute directory `cwd`.

    `denied` are patterns of commands that the user has forbidden (`user_rules.py`); `sources` says
    of some where they are from.
    """
    rules = UserRules(denied, home, sources or {})
    # Before the check for odd characters, after which it would only be asked about.
    refusal = rules.match_line(command)
    if refusal is not None:
        return Assessment("refused", refusal)
    fault = find_character_fault(command)
    if fault is not None:
        return Assessment("asks", fault, removes_or_sends=True)
    folder = normalize_path(cwd)
    source = CommandSource(command.encode("utf-8"))
    root = parse(source.text)
    # Order: the deny list comes before the check for parse errors, so that text which our grammar
    # cannot parse, but bash perhaps can, is still refused.
    refusal = DenyListScan(folder, home, rules).scan_tree(root, command)
    if refusal is not None:
        return Assessment("refused", refusal, removes_or_sends=True)
    if root.has_error:
        return Assessment("asks", reasons.UNPARSED, removes_or_sends=True)
    walker = CommandWalker(source)
    walker.run(root, ShellScope(folder, (folder,), home))
    findings = walker.findings
    # The walker knows the values of variables, which the lenient scan does not.
    for asked in findings.asked:
        refusal = rules.match_words(asked.words)
        if refusal is not None:
            return Assessment("refused", refusal)
    reason = findings.worst_reason
    return Assessment(
        "asks" if reason else "reads",
        reason,
        tuple(findings.reads),
        tuple(findings.globs),
        tuple(findings.trees),
        tuple(findings.writes),
        tuple(findings.git_uses),
        tuple(findings.programs),
        tuple(findings.asked),
        is_coverable=bool(reason) and not findings.has_other_reasons,
        removes_or_sends=removes_or_sends(root, source),
    )


def split_plain_command(command: str) -> tuple[str, ...] | None:
    """Return the words of a single plain command; None for anything else."""
    if find_character_fault(command) is not None:
        return None
    source = CommandSource(command.encode("utf-8"))
    root = parse(source.text)
    kinds = [child.type for child in root.children]
    if root.has_error or kinds != ["command"]:
        return None
    node = root.children[0]
    margins = (source.text[: node.start_byte], source.text[node.end_byte :])
    # Security: text that no node accounts for may be a second command to bash.
    if not all(is_wide_gap(end) for end in margins):
        return None
    try:
        words = [source.expand_word(each, _ROOT_SCOPE) for each in collect_words(node, source)]
    except UndecidableCommand:
        return None
    return tuple(word.text for word in words) if all(word.is_literal for word in words) else None


def list_command_words(command: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the leading words of each command in a line; None if it cannot be parsed.

    Each list ends before the first word that is not literal.
    """
    if find_character_fault(command) is not None:
        return None
    source = CommandSource(command.encode("utf-8"))
    root = parse(source.text)
    if root.has_error:
        return None
    return tuple(tuple(_iter_literal_words(node, source)) for node in iter_commands(root))


def list_printed_files(command: str, cwd: str) -> tuple[str, ...]:
    """Return the files that a line prints whole and does nothing else: `cd x && cat a b`.

    Empty for anything else. It names files only: whether these were printed, the output must tell.
    """
    if assess(command, cwd).verdict != "reads":
        return ()
    folder, files = cwd, ()
    for words in list_command_words(command) or ():
        match words:
            case ("cd", target) if not files:
                folder = posixpath.join(folder, target)
            case ("cat", *names) if names and not files:
                files = tuple(posixpath.join(folder, name) for name in names)
            case _:
                return ()
    return tuple(normalize_path(path) for path in files)


def _iter_literal_words(command: "Node", source: CommandSource) -> Iterator[str]:
    for node in command.children:
        if node.type == "variable_assignment":
            continue
        try:
            word = source.expand_word(node, _ROOT_SCOPE)
        except UndecidableCommand:
            return
        if not word.is_literal:
            return
        yield word.text


# Without a home directory, a word with `~` or $HOME is not literal.
_ROOT_SCOPE = ShellScope("/", ("/",), None)
