"""The arguments of one command against the flags it may have: everything else is Unclear.

A command's table names the flags that only read. A long flag counts in its full spelling, because
a shortened one may stand for another; a flag is a flag wherever it stands, up to `--`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acp_server.frozen import frozen
from acp_server.permissions.shell.access import Access
from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.words import Word

_PLAIN_FLAG = re.compile(r"--[a-z-]+")
_NUMBER = re.compile(r"-\d+")


@frozen
class Options:
    """Short flags as characters, long ones as words; flags that are not here are asked about."""

    flags: str = ""
    valued: str = ""
    """These take a value, attached or as the next word."""
    files: str = ""
    """These take the path of a file that is read."""
    optional: str = ""
    """These may have an attached value."""
    long: str = ""
    """These may have a value after `=`."""
    long_valued: str = ""
    long_files: str = ""
    takes_number: bool = False
    """Whether `-5` is a flag."""
    takes_any_file_name: bool = False
    """Whether a file called `-something`, picked by a pattern, can do no harm as a flag."""


@dataclass(slots=True)
class Parsed:
    """Arguments, sorted."""

    flags: dict[str, Word | None] = field(default_factory=dict[str, Word | None])
    """Each flag with its (last) value, as `-x` or `--xyz`."""
    values: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    files: list[Word] = field(default_factory=list[Word])
    operands: list[Word] = field(default_factory=list[Word])

    def has(self, *flags: str) -> bool:
        """Whether one of these flags is there."""
        return any(flag in self.flags for flag in flags)

    def values_of(self, *flags: str) -> tuple[Word, ...]:
        """Return the values of these flags in their order."""
        return tuple(value for flag, value in self.values if flag in flags)


Judge = Callable[[Parsed, Access], None]
WordsJudge = Callable[[Sequence[Word], Access], None]
"""Puts down what a command does with the words after its name, or raises Unclear."""


@frozen
class Command:
    """A command that only reads: the flags it may have, and what it does with its arguments."""

    options: Options
    judge: Judge

    def __call__(self, words: Sequence[Word], access: Access) -> None:
        """Judge the words after the command's name.

        Raises:
            Unclear: they are not known to only read.
        """
        self.judge(parse_arguments(self.options, words), access)


def parse_arguments(options: Options, words: Sequence[Word]) -> Parsed:
    """Sort the words after the command's name.

    Raises:
        Unclear: a flag is not among the ones that only read, or what it is depends on file names.
    """
    parsed = Parsed()
    rest = list(reversed(words))
    if any(not word.is_known for word in words):
        raise Unclear("a word in it, maybe a flag, is only known when it runs")
    while rest:
        word = rest.pop()
        if not word.text.startswith("-") or word.text == "-":
            _check_operand(options, word)
            parsed.operands.append(word)
        elif not word.is_literal and not _is_value_picked(options, word):
            raise Unclear("a flag in it is only known when it runs")
        elif word.text == "--":
            parsed.operands += reversed(rest)
            break
        elif options.takes_number and _NUMBER.fullmatch(word.text):
            parsed.flags["-0"] = word
        elif word.text.startswith("--"):
            _take_long(options, word.text, rest, parsed)
        else:
            _take_short(options, word.text, rest, parsed)
    return parsed


def _check_operand(options: Options, word: Word) -> None:
    if word.could_be_flag and not options.takes_any_file_name:
        raise Unclear("a pattern in it may pick a file whose name is a flag")


def _is_value_picked(options: Options, word: Word) -> bool:
    """Whether only the value of a long flag is a pattern: what it may pick is the same flag."""
    flag, has_value, _ = word.text.partition("=")
    is_plain = _PLAIN_FLAG.fullmatch(flag) is not None
    return bool(
        word.is_known and has_value and is_plain and flag[2:] in options.long_valued.split()
    )


def _take_long(options: Options, text: str, rest: list[Word], parsed: Parsed) -> None:
    flag, has_value, value = text.partition("=")
    name = flag[2:]
    if name in options.long.split():
        parsed.flags[flag] = None
        if has_value:
            parsed.flags[flag] = Word(value)
            parsed.values.append((flag, Word(value)))
        return
    is_file = name in options.long_files.split()
    if not is_file and name not in options.long_valued.split():
        raise Unclear(f"the flag {flag} is not known to only read")
    _keep_value(parsed, flag, Word(value) if has_value else _next(flag, rest), is_file=is_file)


def _take_short(options: Options, text: str, rest: list[Word], parsed: Parsed) -> None:
    for index, letter in enumerate(text[1:], start=2):
        flag = f"-{letter}"
        attached = text[index:]
        if letter in options.flags:
            parsed.flags[flag] = None
        elif letter in options.optional:
            parsed.flags[flag] = Word(attached)
            return
        elif letter in options.valued + options.files:
            value = Word(attached) if attached else _next(flag, rest)
            _keep_value(parsed, flag, value, is_file=letter in options.files)
            return
        else:
            raise Unclear(f"the flag {flag} is not known to only read")


def _next(flag: str, rest: list[Word]) -> Word:
    if not rest:
        raise Unclear(f"the flag {flag} lacks its value")
    return rest.pop()


def _keep_value(parsed: Parsed, flag: str, value: Word, *, is_file: bool) -> None:
    if not value.is_literal:
        raise Unclear(f"the value of {flag} is only known when it runs")
    parsed.flags[flag] = value
    parsed.values.append((flag, value))
    if is_file:
        parsed.files.append(value)


def read_all(parsed: Parsed, access: Access) -> None:
    """Judge a command whose operands are all read."""
    for word in (*parsed.files, *parsed.operands):
        if word.text != "-":
            access.read(word)


def read_here(parsed: Parsed, access: Access) -> None:
    """Judge a command whose operands are read, or else the folder it runs in."""
    read_all(parsed, access)
    if not parsed.operands:
        access.read_text(".")


def read_after_first(parsed: Parsed, access: Access) -> None:
    """Judge a command whose first operand is a program or a text, and the others are read."""
    read_all(Parsed(files=parsed.files, operands=parsed.operands[1:]), access)


def read_none(parsed: Parsed, access: Access) -> None:
    """Judge a command whose operands are names or texts, no paths.

    Raises:
        Unclear: a pattern would put file names among them.
    """
    read_all(Parsed(files=parsed.files), access)
    if any(not word.is_literal for word in parsed.operands):
        raise Unclear("a word in it is only known when it runs")


def at_most(most: int, judge: Judge) -> Judge:
    """Return a judge that asks about more operands than this: a further one is an output, say."""

    def judge_few(parsed: Parsed, access: Access) -> None:
        many = len(parsed.operands) > most
        if many or (most and any(not word.is_literal for word in parsed.operands)):
            raise Unclear("it has more operands than the ones it reads")
        judge(parsed, access)

    return judge_few
