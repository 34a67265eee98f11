"""Parse the arguments of a command against its allowed flags; any other flag is undecidable.

The table of read-only commands lists the flags that only read. Long flags must be spelled out,
because an abbreviation may stand for another flag. A flag counts anywhere before `--`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.words import Word
from acp_server.startup.fast_dataclass import frozen_dataclass

_PLAIN_FLAG = re.compile(r"--[a-z-]+")
_NUMBER = re.compile(r"-\d+")


@frozen_dataclass
class AllowedOptions:
    """Allowed flags: short ones as characters, long ones as words. Any other flag asks."""

    flags: str = ""
    value_flags: str = ""
    """Short flags with a value, attached or as the next word."""
    file_flags: str = ""
    """Short flags with the path of a file that is read."""
    optional_value_flags: str = ""
    """Short flags with an optional attached value."""
    long_flags: str = ""
    """Long flags with an optional value after `=`."""
    long_value_flags: str = ""
    long_file_flags: str = ""
    takes_number: bool = False
    """Whether `-5` is a flag."""
    takes_any_file_name: bool = False
    """Whether a file named `-something` that a glob matches is harmless as a flag."""
    flags_first: bool = False
    """Whether a flag after an operand asks, because it may count as an operand there."""
    flags_anywhere: bool = False
    """Whether all versions of the program know flags after operands."""
    short_words: str = ""
    """Regular expression of all words of short flags, if the program has its own rules for them."""


@dataclass(slots=True)
class ParsedArguments:
    """Arguments sorted into flags, values, files and operands."""

    flags: dict[str, Word | None] = field(default_factory=dict[str, Word | None])
    """Each flag with its last value, as `-x` or `--xyz`."""
    values: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    files: list[Word] = field(default_factory=list[Word])
    operands: list[Word] = field(default_factory=list[Word])

    def has(self, *flags: str) -> bool:
        """Return whether one of these flags is present."""
        return any(flag in self.flags for flag in flags)

    def values_of(self, *flags: str) -> tuple[Word, ...]:
        """Return the values of these flags in order."""
        return tuple(value for flag, value in self.values if flag in flags)


def parse_arguments(options: AllowedOptions, words: Sequence[Word]) -> ParsedArguments:
    """Sort the words after the command's name.

    Raises:
        UndecidableCommand: A flag is not allowed, or may come from a file name.
    """
    parsed = ParsedArguments()
    rest = list(reversed(words))
    if any(not word.is_known for word in words):
        raise UndecidableCommand(reasons.UNKNOWN_FLAG_WORD)
    while rest:
        word = rest.pop()
        if not word.text.startswith("-") or word.text == "-":
            _check_operand(options, word)
            parsed.operands.append(word)
        elif options.flags_first and parsed.operands:
            raise UndecidableCommand(reasons.LATE_FLAG)
        elif not word.is_literal and not _is_value_a_glob(options, word):
            raise UndecidableCommand(reasons.UNKNOWN_FLAG)
        elif word.text == "--":
            parsed.operands += reversed(rest)
            break
        elif options.takes_number and _NUMBER.fullmatch(word.text):
            parsed.flags["-0"] = word
        elif word.text.startswith("--"):
            _take_long(options, word.text, rest, parsed)
        elif options.short_words and not re.fullmatch(options.short_words, word.text):
            raise UndecidableCommand(reasons.flag(word.text))
        else:
            _take_short(options, word.text, rest, parsed)
    return parsed


def _check_operand(options: AllowedOptions, word: Word) -> None:
    # Security: `cmd *` in a directory with a file named `--delete` passes that name as a flag.
    if word.could_be_flag and not options.takes_any_file_name:
        raise UndecidableCommand(reasons.MATCHES_FLAG)


def _is_value_a_glob(options: AllowedOptions, word: Word) -> bool:
    """Return whether only the value of a long flag is a glob: any match is the same flag."""
    flag, has_value, _ = word.text.partition("=")
    # A wildcard in the name could match a file that is named like another flag.
    is_plain = _PLAIN_FLAG.fullmatch(flag) is not None
    return bool(
        word.is_known and has_value and is_plain and flag[2:] in options.long_value_flags.split()
    )


def _take_long(
    options: AllowedOptions, text: str, rest: list[Word], parsed: ParsedArguments
) -> None:
    flag, has_value, value = text.partition("=")
    name = flag[2:]
    if name in options.long_flags.split():
        parsed.flags[flag] = None
        if has_value:
            parsed.flags[flag] = Word(value)
            parsed.values.append((flag, Word(value)))
        return
    is_file = name in options.long_file_flags.split()
    if not is_file and name not in options.long_value_flags.split():
        raise UndecidableCommand(reasons.flag(flag))
    word = Word(value) if has_value else _take_value(options, flag, rest, parsed)
    _store_value(parsed, flag, word, is_file=is_file)


def _take_short(
    options: AllowedOptions, text: str, rest: list[Word], parsed: ParsedArguments
) -> None:
    for index, letter in enumerate(text[1:], start=2):
        flag = f"-{letter}"
        attached = text[index:]
        if letter in options.flags:
            parsed.flags[flag] = None
        elif letter in options.optional_value_flags:
            parsed.flags[flag] = Word(attached)
            return
        elif letter in options.value_flags + options.file_flags:
            value = Word(attached) if attached else _take_value(options, flag, rest, parsed)
            _store_value(parsed, flag, value, is_file=letter in options.file_flags)
            return
        else:
            raise UndecidableCommand(reasons.flag(flag))


def _take_value(
    options: AllowedOptions, flag: str, rest: list[Word], parsed: ParsedArguments
) -> Word:
    if not rest:
        raise UndecidableCommand(reasons.flag_without_value(flag))
    value = rest.pop()
    # Security: on macOS, and with POSIXLY_CORRECT, many programs look for no flags after an
    # operand; they would read this value as a file.
    if parsed.operands and not options.flags_anywhere:
        parsed.files.append(value)
    return value


def _store_value(parsed: ParsedArguments, flag: str, value: Word, *, is_file: bool) -> None:
    # A glob may expand to several words, and those after the first are no longer the value.
    if not value.is_literal:
        raise UndecidableCommand(reasons.unknown_value(flag))
    parsed.flags[flag] = value
    parsed.values.append((flag, value))
    if is_file:
        parsed.files.append(value)


def read_all(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge a command that reads all its operands."""
    for word in (*parsed.files, *parsed.operands):
        if word.text != "-":
            access.record_read(word)


def read_here(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge a command that reads its operands, or its working directory if there are none."""
    read_all(parsed, access)
    if not parsed.operands:
        access.record_path_read(".")


def read_after_first(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge a command whose first operand is a program or text; the others are read."""
    read_all(ParsedArguments(files=parsed.files, operands=parsed.operands[1:]), access)


def read_none(parsed: ParsedArguments, access: AccessRecorder) -> None:
    """Judge a command whose operands are names or texts, not paths.

    Raises:
        UndecidableCommand: A glob would put file names among the operands.
    """
    read_all(ParsedArguments(files=parsed.files), access)
    if any(not word.is_literal for word in parsed.operands):
        raise UndecidableCommand(reasons.UNKNOWN_WORD)


def searched_operands(parsed: ParsedArguments, *, has_pattern: bool) -> list[Word]:
    """Return the operands that a search reads; the first one is a text, unless a flag gives it."""
    # The first name that a glob matches is the text, and the others are read.
    if has_pattern or any(word.pattern is not None for word in parsed.operands[:1]):
        return parsed.operands
    return parsed.operands[1:]
