"""`test`, `[` and `[[`: tests of files and strings. Arithmetic asks: it can run commands."""

import re
from typing import TYPE_CHECKING

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import node_text
from acp_server.permissions.shell.scope import ShellScope
from acp_server.permissions.shell.words import Word, breaks_words, expand_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

_FILE_TESTS = frozenset(
    ["-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-p", "-S", "-b", "-c"]
)
# Security: `-v` is absent. bash evaluates its operand: `-v 'a[$(command)]'` runs the command.
_STRING_TESTS = frozenset({"-n", "-z"})
_FILE_COMPARISONS = frozenset({"-nt", "-ot", "-ef"})
_STRING_COMPARISONS = frozenset({"=", "==", "!="})
_NUMBER_COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_TOKEN = re.compile(r"(?:'[^' \t]*'|\"[^\" \t]*\"|[^ \t'\"])+")
_BLANKS = re.compile(r"[ \t]")


def split_test(node: "Node", scope: ShellScope) -> tuple[Word, ...]:
    """Return the words of a bracketed test, name first.

    Raises:
        UndecidableCommand: The test has an unknown form.
    """
    opening, closing = node.children[0].type, node.children[-1].type
    if (opening, closing) not in {("[", "]"), ("[[", "]]")}:
        raise UndecidableCommand(reasons.ARITHMETIC)
    text = node_text(node)[len(opening) : -len(closing)]
    # Without a blank inside each bracket, these are other words to bash.
    if text.strip(" \t") == text or text[0] not in " \t" or text[-1] not in " \t":
        raise UndecidableCommand(reasons.AMBIGUOUS)
    # Even in quotes: the tokens below are split by a simpler grammar than that of bash.
    if any(breaks_words(character) for character in text if character not in " \t"):
        raise UndecidableCommand(reasons.ODD_TEST)
    found = _TOKEN.findall(text)
    # A lone quote is part of no token and would escape the analysis.
    if len("".join(found)) != len(_BLANKS.sub("", text)):
        raise UndecidableCommand(reasons.AMBIGUOUS_TEST)
    # No substitutions: nothing has judged the commands inside a test, so they must ask.
    words = tuple(expand_word(token, scope, {}) for token in found)
    return (Word(opening), *words, Word("]"))


def judge_test(words: "Sequence[Word]", access: AccessRecorder) -> None:
    """Judge a test; the files that it tests count as read.

    Raises:
        UndecidableCommand: It is no plain test of files, strings or numbers.
    """
    expression = list(words[1:])
    name = words[0].text
    if name.endswith("[") and (not expression or expression.pop() != Word("]")):
        raise UndecidableCommand(reasons.OPEN_TEST)
    # Security: files named `-v` and `a[$(command)]` that a glob matches would be the operator and
    # its operand. Only `[[` does not expand globs.
    if name != "[[" and any(word.pattern is not None or word.is_split for word in expression):
        raise UndecidableCommand(reasons.MATCHES_OPERATOR)
    while expression[:1] == [Word("!")]:
        del expression[0]
    match expression:
        case [Word(operator, None, True), operand] if operator in _FILE_TESTS:
            access.record_read(operand)
        case [Word(operator, None, True), operand] if operator in _STRING_TESTS:
            pass
        case [left, Word(operator, None, True), right]:
            _judge_pair(left, operator, right, access)
        case _:
            raise UndecidableCommand(reasons.COMPLEX_TEST)


def _judge_pair(left: Word, operator: str, right: Word, access: AccessRecorder) -> None:
    if operator in _FILE_COMPARISONS:
        access.record_read(left)
        access.record_read(right)
    elif operator in _NUMBER_COMPARISONS:
        # Security: bash evaluates operands of -eq as arithmetic; `a[$(command)]` would run the
        # command.
        if any(re.fullmatch(r"\d+", word.text) is None for word in (left, right)):
            raise UndecidableCommand(reasons.NOT_NUMBERS)
    elif operator not in _STRING_COMPARISONS or left.pattern is not None:
        raise UndecidableCommand(reasons.COMPLEX_TEST)
