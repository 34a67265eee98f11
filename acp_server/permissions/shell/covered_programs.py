"""What an "always" may cover of a simple command: its program and subcommand, or exactly its words.

Only the programs of `covered_programs.toml` may be covered with other arguments. It lists the flags
that are covered, tool by tool; any other flag asks, because it may name a program or code to run.
What `never_covered.toml` names is not covered at all. Security: words that are only known at run
time are covered as the value of a flag alone, such as the message of a commit.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Literal, TypedDict, cast

from acp_server.permissions.shell.words import Word
from acp_server.permissions.word_lists import read_word_lists
from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_TARGETS = 8
_TOOL_DIRECTORIES = ("node_modules/.bin/", ".venv/bin/", "venv/bin/", "vendor/bin/", "bin/")
_SYSTEM_DIRECTORIES = ("/bin/", "/usr/bin/")


@frozen_dataclass
class CoveredProgram:
    """Requirements and limits of an "always" for a program; lists are texts, split at blanks."""

    check: str = ""
    """Family of project checks that it belongs to, see `project_checks.toml`; empty if to none."""
    wrapper: bool = False
    """Whether a script of that name in the directory is the usual way to call it: `./gradlew`."""
    subcommands: str = ""
    """Allowed second words; if empty, the program name alone is enough."""
    target_subcommands: str = ""
    """Subcommands whose next word names what runs; `*`: the second word names it."""
    targets: Literal["", "first", "all"] = ""
    """Which operands name what runs, and so are part of the "always"."""
    refused_targets: str = ""
    """Beginnings of targets that are not covered."""
    exact_subcommands: str = ""
    """Subcommands that may be covered word for word only."""
    style: Literal["letters", "words"] = "letters"
    """Whether `-abc` is three flags or one."""
    letters: str = ""
    """Short flags that are covered."""
    value_letters: str = ""
    """Short flags with a value that are covered."""
    text_letters: str = ""
    """Short flags whose value is a text, not a path."""
    flags: str = ""
    """Flags that are covered, as words; a value follows `=` or as a word."""
    value_flags: str = ""
    """Those whose next word is a value, not a target."""
    text_flags: str = ""
    """Those whose value is a text, not a path."""
    passes_arguments: bool = False
    """Whether the words behind `--` are arguments of what runs, and not operands."""
    passes_all_flags: bool = False
    """Whether what runs gets the flags before `--`, too."""
    runs_covered_programs: bool = False
    """Whether the target is a program of the same family, covered by its own rules."""


@frozen_dataclass
class Coverage:
    """What an "always" may cover of a command."""

    prefixes: tuple[tuple[str, ...], ...] = ()
    """The words up to what runs; several if it runs several targets. Empty: not with other
    arguments."""
    is_exact: bool = False
    """Whether it may be covered word for word."""
    operands: tuple[Word, ...] = ()
    """The words that may be paths."""
    check: str = ""
    """Family of project checks."""


class _CoveredProgramsDocument(TypedDict):
    passed_flags: str
    programs: dict[str, dict[str, str | bool]]


@cache
def _document() -> _CoveredProgramsDocument:
    path = Path(__file__).with_name("covered_programs.toml")
    return cast("_CoveredProgramsDocument", tomllib.loads(path.read_text("utf-8")))


@cache
def load_covered_programs() -> Mapping[str, CoveredProgram]:
    """Return the programs by name, aliases included."""
    known = {each.name for each in fields(CoveredProgram)}
    rules: dict[str, CoveredProgram] = {}
    for name, table in _document()["programs"].items():
        values = {key: value for key, value in table.items() if key in known}
        rule = cast("Callable[..., CoveredProgram]", CoveredProgram)(**values)
        aliases = cast("str", table.get("aliases", "")).split()
        rules |= dict.fromkeys([name, *aliases], rule)
    return rules


@cache
def _never_covered() -> Mapping[str, frozenset[str]]:
    lists = read_word_lists(str(Path(__file__).with_name("never_covered.py")))
    return {key: frozenset(words) for key, words in lists.items()}


def find_coverage(words: Sequence[Word], *, has_input: bool = False) -> Coverage:
    """Return what an "always" may cover of a simple command, name first.

    `has_input`: its standard input is text of the command line, which may be code.
    """
    if not words[0].is_literal:
        return Coverage()
    rule = _find_rule(words[0].text)
    name = words[0].text.rpartition("/")[2]
    coverage = Coverage() if rule is None else _cover_known(words, rule)
    # An interpreter is in the table for its modules alone.
    if coverage == Coverage() and (rule is None or name in _never_covered()["interpreters"]):
        return Coverage(is_exact=not has_input and _may_be_exact(words), operands=tuple(words[1:]))
    return coverage


def _find_rule(name: str) -> CoveredProgram | None:
    directory, slash, base = name.rpartition("/")
    rule = load_covered_programs().get(base)
    if not slash or rule is None or directory + slash in _SYSTEM_DIRECTORIES:
        return rule
    # `./gradlew`, or a tool that the project has installed: an "always" belongs to the directory.
    is_wrapper = rule.wrapper and directory == "."
    is_tool = directory.removeprefix("./") + slash in _TOOL_DIRECTORIES
    return rule if is_wrapper or is_tool else None


def _cover_known(words: Sequence[Word], rule: CoveredProgram) -> Coverage:
    """Return the coverage of a program in the table."""
    second = words[1].text if len(words) > 1 and words[1].is_literal else ""
    if second and second in rule.exact_subcommands.split():
        is_exact = _is_whole(words) and _never_covered()["flags"].isdisjoint(_flags_of(words))
        return Coverage(is_exact=is_exact, operands=tuple(words[2:]))
    prefix = [words[0].text]
    rest = list(words[1:])
    has_target = rule.target_subcommands == "*"
    if rule.subcommands:
        if second not in rule.subcommands.split():
            return Coverage()
        prefix.append(second)
        del rest[0]
        has_target = second in rule.target_subcommands.split()
    if rule.runs_covered_programs:
        return _cover_inner(prefix, rest, rule)
    if has_target and (not rest or not _is_target(rest[0], rule)):
        return Coverage()
    if has_target:
        prefix.append(rest.pop(0).text)
    arguments = _Arguments(rule)
    prefixes = arguments.target_prefixes(prefix) if arguments.take(rest) else None
    if prefixes is None:
        return Coverage()
    return Coverage(prefixes, _is_whole(words), tuple(arguments.operands), rule.check)


def _cover_inner(prefix: list[str], rest: list[Word], rule: CoveredProgram) -> Coverage:
    """Return the coverage of a program that another one runs, as in `uv run pytest`."""
    while rest and rest[0].is_literal and rest[0].text in rule.flags.split():
        del rest[0]
    inner_rule = _find_rule(rest[0].text) if rest and rest[0].is_literal else None
    if inner_rule is None or "/" in rest[0].text or inner_rule.check != rule.check:
        return Coverage()
    inner = _cover_known(rest, inner_rule)
    return Coverage(
        tuple((*prefix, *each) for each in inner.prefixes),
        inner.is_exact,
        inner.operands,
        rule.check,
    )


def _is_target(word: Word, rule: CoveredProgram) -> bool:
    text = word.text
    # A word with `=` sets a variable of the runner, and one with `@` names a file of arguments.
    return (
        word.is_literal
        and bool(text)
        and not text.startswith(("-", "@", "+"))
        and "=" not in text
        and not text.startswith(tuple(rule.refused_targets.split()) or ("\0",))
    )


class _Arguments:
    """The words behind the subcommand: flags, which must be covered, and operands."""

    def __init__(self, rule: CoveredProgram) -> None:
        self.operands: list[Word] = []
        self._rule = rule
        self._targets: list[Word] = []
        self._flags = frozenset(rule.flags.split())
        self._texts = frozenset(rule.text_flags.split())
        self._values = frozenset(rule.value_flags.split())
        self._passed = frozenset(_document()["passed_flags"].split())

    def take(self, words: Sequence[Word]) -> bool:
        """Sort the words; return whether all of them are covered."""
        rest = list(reversed(words))
        is_passed = False
        while rest:
            word = rest.pop()
            if word.text == "--" and word.is_literal and not is_passed:
                is_passed = True
                continue
            is_operand = not word.text.startswith("-") or word.text == "-"
            if is_passed and not self._rule.passes_arguments:
                is_operand = True
            if is_operand:
                if not self._take_operand(word, is_passed=is_passed):
                    return False
            elif not self._take_flag(word, rest, is_passed=is_passed):
                return False
        return True

    def target_prefixes(self, prefix: list[str]) -> tuple[tuple[str, ...], ...] | None:
        """Return the covered words by target; None if a target is not covered."""
        if not self._rule.targets:
            return (tuple(prefix),)
        if len(self._targets) > MAX_TARGETS or not all(
            _is_target(each, self._rule) for each in self._targets
        ):
            return None
        return tuple((*prefix, each.text) for each in self._targets)

    def _take_operand(self, word: Word, *, is_passed: bool) -> bool:
        # `@file` stands for more words, flags among them; `:::` begins another task of mise.
        if (
            not word.is_known
            or word.is_pipe
            or word.could_be_flag
            or word.text.startswith(("@", ":::"))
        ):
            return False
        takes_all = self._rule.targets == "all"
        if not is_passed and (takes_all or (self._rule.targets and not self._targets)):
            self._targets.append(word)
        else:
            self.operands.append(word)
        return True

    def _take_flag(self, word: Word, rest: list[Word], *, is_passed: bool) -> bool:
        name = word.text.partition("=")[0]
        if not word.is_literal:
            return False
        if name in self._flags and not is_passed:
            is_whole = "=" not in word.text
            if name in self._texts:
                return not is_whole or _pop_text(rest)
            self.operands.append(word)
            # A word that begins with a dash is judged as a flag of its own.
            if is_whole and name in self._values and rest and not rest[-1].text.startswith("-"):
                value = rest.pop()
                self.operands.append(value)
                return value.is_literal
            return True
        if (is_passed or self._rule.passes_all_flags) and name in self._passed:
            self.operands.append(word)
            return True
        return not is_passed and self._take_letters(word, rest)

    def _take_letters(self, word: Word, rest: list[Word]) -> bool:
        """Take a cluster of short flags, such as `-xvs` or `-n4`."""
        if self._rule.style != "letters" or word.text.startswith("--"):
            return False
        for index, letter in enumerate(word.text[1:], start=2):
            if letter in self._rule.text_letters:
                return index < len(word.text) or _pop_text(rest)
            if letter in self._rule.value_letters:
                self.operands.append(Word(word.text[index:]))
                return True
            if letter not in self._rule.letters:
                return False
        return True


def _pop_text(rest: list[Word]) -> bool:
    """Take the value of a flag that has a text, known or not; return whether it is one word."""
    if not rest:
        return True
    word = rest.pop()
    return word.pattern is None and not word.is_split


def _is_whole(words: Sequence[Word]) -> bool:
    return all(word.is_literal and not word.is_pipe for word in words)


def _flags_of(words: Sequence[Word]) -> set[str]:
    return {word.text.partition("=")[0] for word in words if word.text.startswith("-")}


def _may_be_exact(words: Sequence[Word]) -> bool:
    """Return whether a program that is not in the table may be covered word for word."""
    lists = _never_covered()
    name = words[0].text.rpartition("/")[2]
    # Versions belong to the name: `python3.12`.
    names = {name, name.rstrip("0123456789.")}
    if not _is_whole(words) or names & lists["programs"]:
        return False
    if names & lists["interpreters"]:
        # The name of a file, not a subcommand such as `eval`.
        file = words[1].text if len(words) > 1 else ""
        return not file.startswith("-") and ("." in file or "/" in file)
    return lists["flags"].isdisjoint(_flags_of(words))
