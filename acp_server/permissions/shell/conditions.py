"""`test`, `[` and `[[`: tests of files and strings. Arithmetic asks: it can run commands."""

import re
from typing import TYPE_CHECKING

from acp_server.permissions.shell.access import Access
from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.grammar import text_of
from acp_server.permissions.shell.scope import Scope
from acp_server.permissions.shell.words import Word, breaks_words, read_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

_OF_FILES = frozenset(
    ["-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-p", "-S", "-b", "-c"]
)
_OF_TEXTS = frozenset({"-n", "-z"})
_BETWEEN_FILES = frozenset({"-nt", "-ot", "-ef"})
_BETWEEN_TEXTS = frozenset({"=", "==", "!="})
_BETWEEN_NUMBERS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_TOKEN = re.compile(r"(?:'[^' \t]*'|\"[^\" \t]*\"|[^ \t'\"])+")
_BLANKS = re.compile(r"[ \t]")


def test_words(node: "Node", scope: Scope) -> tuple[Word, ...]:
    """Return the words of a bracketed test, name first.

    Raises:
        UndecidableCommand: The test has an unknown form.
    """
    opening, closing = node.children[0].type, node.children[-1].type
    if (opening, closing) not in {("[", "]"), ("[[", "]]")}:
        raise Unclear("it calculates, which can set variables and run commands")
    text = text_of(node)[len(opening) : -len(closing)]
    if text.strip(" \t") == text or text[0] not in " \t" or text[-1] not in " \t":
        raise Unclear("it cannot be read unambiguously")
    if any(breaks_words(character) for character in text if character not in " \t"):
        raise Unclear("its test holds more than a question about a file or a text")
    found = _TOKEN.findall(text)
    if len("".join(found)) != len(_BLANKS.sub("", text)):
        raise Unclear("its test cannot be read unambiguously")
    words = tuple(read_word(token, scope, {}) for token in found)
    return (Word("["), *words, Word("]"))


def judge_test(words: "Sequence[Word]", access: Access) -> None:
    """Judge a test; the files that it tests count as read.

    Raises:
        UndecidableCommand: It is no plain test of files, strings or numbers.
    """
    asked = [word for word in words[1:] if word.text != "!"]
    is_bracketed = words[0].text.endswith("[")
    if is_bracketed and (not asked or asked.pop() != Word("]")):
        raise Unclear("its test is not closed")
    match asked:
        case [Word(operator), operand] if operator in _OF_FILES:
            access.read(operand)
        case [Word(operator), operand] if operator in _OF_TEXTS and operand.pattern is None:
            pass
        case [left, Word(operator), right]:
            _judge_pair(left, operator, right, access)
        case _:
            raise Unclear("its test is not a plain question")


def _judge_pair(left: Word, operator: str, right: Word, access: Access) -> None:
    if operator in _BETWEEN_FILES:
        access.read(left)
        access.read(right)
    elif operator in _BETWEEN_NUMBERS:
        # Security: bash evaluates operands of -eq as arithmetic; `a[$(command)]` would run the
        # command.
        if any(re.fullmatch(r"\d+", word.text) is None for word in (left, right)):
            raise Unclear("it compares something that may not be a number")
    elif operator not in _BETWEEN_TEXTS or left.pattern is not None:
        raise Unclear("its test is not a plain question")
