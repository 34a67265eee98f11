"""awk programs: those that only print pass; what reads, writes, runs or shows more asks.

A program is split into tokens as awk does it. Absent are `system`, `getline`, pipes, redirections,
`@load` and `@include`, and the variables that hold the environment or the names of the input files.
"""

import re
from collections.abc import Iterator, Sequence

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.options import AllowedOptions, parse_arguments, read_after_first
from acp_server.permissions.shell.words import Word

_MAX_PROGRAM_CHARACTERS = 2000
_TOKEN = re.compile(
    r"(?P<blank>[ \t]+|\\\n|#[^\n]*)|(?P<string>\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\|\||&&|>=|==|!=|<=|\+\+|--|[-+*/%^]=|!~|[-+*/%^!~<>=?:,;{}()\[\]$\n|@])"
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?(?:[^\]\\\n]|\\[^\n])*\])*/")
_REFUSED_NAMES = frozenset(
    {"system", "getline", "close", "fflush", "nextfile"}
    | {"ENVIRON", "PROCINFO", "ARGV", "ARGC", "SYMTAB", "FUNCTAB"}
)
# Common words of the files that awk searches, so they count outside of texts and patterns only. A
# function without the names above does nothing that the rest of a program could not do.
_REFUSED_KEYWORDS = frozenset({"function", "func"})
# After one of these, a name, a number or a text a `/` divides; after others it begins a regular
# expression.
_OPERAND_ENDS = frozenset({"]", "++", "--"})
# After one of these it depends on more than the token: `if (x) /re/` and `(a + b) / 2`.
_AMBIGUOUS = frozenset({")", "length"})
_KEYWORDS = frozenset(
    [
        "print",
        "printf",
        "return",
        "in",
        "if",
        "else",
        "while",
        "for",
        "do",
        "case",
        "exit",
        "delete",
    ]
)


def judge_awk(options: AllowedOptions, words: Sequence[Word], access: AccessRecorder) -> None:
    """Judge a call of awk by its program; the files that it names are read.

    Raises:
        UndecidableCommand: The program is not known to only print its input.
    """
    parsed = parse_arguments(options, words)
    if not parsed.operands:
        raise UndecidableCommand(reasons.NO_PROGRAM)
    program = parsed.operands[0]
    if not program.is_literal or not is_printing_program(program.text):
        raise UndecidableCommand(reasons.AWK_PROGRAM)
    read_after_first(parsed, access)


def is_printing_program(program: str) -> bool:
    """Return whether an awk program only computes and prints from its input."""
    # Anywhere, even in a text: the tokens below are a second check.
    if len(program) > _MAX_PROGRAM_CHARACTERS or not _REFUSED_NAMES.isdisjoint(
        re.findall(r"\w+", program)
    ):
        return False
    depth = {"(": 0, "{": 0}
    try:
        for operator in _operators(program):
            if operator in {"|", "@"}:
                return False
            if operator in {"(", "{"}:
                depth[operator] += 1
            elif operator in {")", "}"}:
                depth["(" if operator == ")" else "{"] -= 1
            # In an action, only parentheses tell a comparison from a redirection.
            elif operator == ">" and depth["{"] and not depth["("]:
                return False
    except ValueError:
        return False
    return True


def _operators(program: str) -> Iterator[str]:
    """Yield the operators outside of strings and regular expressions.

    Raises:
        ValueError: A part is no token.
    """
    position, is_operand, is_ambiguous = 0, False, False
    while position < len(program):
        if program[position] == "/" and is_ambiguous:
            raise ValueError(program)
        if program[position] == "/" and not is_operand:
            found = _REGEX.match(program, position)
            is_operand = True
        else:
            found = _TOKEN.match(program, position)
            if found is not None and found.lastgroup != "blank":
                is_operand = found.lastgroup != "operator" or found.group() in _OPERAND_ENDS
                is_operand = is_operand and found.group() not in _KEYWORDS
                is_ambiguous = found.group() in _AMBIGUOUS
                if found.group() in _REFUSED_KEYWORDS:
                    raise ValueError(program)
                if found.lastgroup == "operator":
                    yield found.group()
        if found is None:
            raise ValueError(program)
        position = found.end()
