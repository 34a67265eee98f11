"""Redirects: record files that are read, accept /dev/null, and ask about any other write."""

import re
from typing import TYPE_CHECKING

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.command_line import CommandSource
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import node_text

if TYPE_CHECKING:
    from tree_sitter import Node

_OUTPUTS = frozenset({">", ">>", "&>", "&>>", ">|", ">&"})
_DELIMITER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)|'([A-Za-z_][A-Za-z0-9_]*)'|\"([A-Za-z_]\w*)\"")
_EXPANSION_CHARACTERS = frozenset("$`\\")


def judge_redirect(
    node: "Node", access: AccessRecorder, source: CommandSource
) -> tuple["Node", ...]:
    """Record the effect of a redirect; return following words that belong to the command.

    Raises:
        UndecidableCommand: It writes, or cannot be parsed.
    """
    if node.type == "heredoc_redirect":
        _judge_heredoc(node, source)
        return ()
    if node.type == "herestring_redirect":
        kinds = [child.type for child in node.children]
        if kinds[:1] != ["<<<"] or len(kinds) != len(("<<<", "word")):
            raise UndecidableCommand(reasons.AMBIGUOUS)
        if not source.expand_word(node.children[1], access.scope).is_known:
            raise UndecidableCommand(reasons.UNKNOWN_INPUT)
        return ()
    if node.type != "file_redirect":
        raise UndecidableCommand(reasons.UNKNOWN_REDIRECT)
    return _judge_file(node, access, source)


def _judge_file(node: "Node", access: AccessRecorder, source: CommandSource) -> tuple["Node", ...]:
    targets = node.children_by_field_name("destination")
    others = [child for child in node.children if child not in targets]
    operators = [child.type for child in others if child.type != "file_descriptor"]
    if len(operators) != 1 or not targets:
        raise UndecidableCommand(reasons.ODD_REDIRECT)
    # The grammar takes the words after a target for more targets; they belong to the command.
    operator, target = operators[0], targets[0]
    # `2>&1` only joins streams; with a file name, `>&` writes that file.
    if operator == ">&" and node_text(target) in {"1", "2"} and source.is_whole_word(target):
        return tuple(targets[1:])
    if operator == "<":
        access.record_read(source.expand_word(target, access.scope))
        return tuple(targets[1:])
    if operator not in _OUTPUTS:
        raise UndecidableCommand(reasons.ODD_REDIRECT)
    word = source.expand_word(target, access.scope)
    if word.is_literal and word.text == "/dev/null":
        return tuple(targets[1:])
    # Recorded before the raise, so that the question can show the path.
    access.record_write(word)
    raise UndecidableCommand(reasons.writes(word.text))


def _judge_heredoc(node: "Node", source: CommandSource) -> None:
    """Check that a here-document is plain text and ends where bash ends it."""
    kinds = [child.type for child in node.children]
    if kinds not in (
        ["<<", "heredoc_start", "heredoc_body", "heredoc_end"],
        ["<<", "heredoc_start", "heredoc_end"],
    ):
        raise UndecidableCommand(reasons.AMBIGUOUS_TEXT)
    start, end = node.children[1], node.children[-1]
    delimiter = _DELIMITER.fullmatch(node_text(start))
    remainder = source.text[start.end_byte :].decode("utf-8", "replace")
    first, newline, following = remainder.partition("\n")
    # More words on the line of the delimiter would still belong to the command line.
    if delimiter is None or first.strip(" \t") or not newline:
        raise UndecidableCommand(reasons.AMBIGUOUS_TEXT)
    name = next(group for group in delimiter.groups() if group)
    lines = following.split("\n")
    if name not in lines:
        raise UndecidableCommand(reasons.OPEN_TEXT)
    body = "".join(line + "\n" for line in lines[: lines.index(name)])
    expected_end = start.end_byte + len((first + "\n" + body + name).encode())
    # Security: if bash ended the text earlier, its remainder would run as commands.
    if expected_end != end.end_byte:
        raise UndecidableCommand(reasons.AMBIGUOUS_TEXT)
    # An unquoted delimiter lets bash expand the text, including command substitutions.
    if delimiter.group(1) and not _EXPANSION_CHARACTERS.isdisjoint(body):
        raise UndecidableCommand(reasons.ACTIVE_TEXT)
