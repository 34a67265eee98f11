"""Expansion of one word as in bash: quotes, backslashes, `~` and some variables.

The grammar determines where a word begins and ends; the word is then scanned again here, character
by character, so that both must agree. Anything whose value is uncertain is undecidable.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from acp_server.permissions import reasons
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.patterns import escape_pattern
from acp_server.permissions.shell.scope import UNKNOWN_VALUE, ShellScope, VariableValue
from acp_server.permissions.word_lists import read_word_lists
from acp_server.startup.fast_dataclass import frozen_dataclass

_WORD_BREAKS = frozenset(" \t\n|&;()<>")
_PLAIN = re.compile(r"[^ \t\n|&;()<>'\"\\$`*?\[]+")
_INSIDE_QUOTES = re.compile(r"[^\"\\$`]+")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
# bash keeps a `$` before these (`"` closes the quotes around it); `$(`, `$[` and `$'` expand.
_LITERAL_DOLLAR = re.compile(r"\$(?=[ )|/.,:;\"]|$)")
# Digits only: unquoted, they neither split into several words nor become a flag.
_NUMERIC_VARIABLE = re.compile(r"\$[?$]|\$\{PIPESTATUS\[\d\]\}")
_TILDE_INSIDE_WORD = re.compile(r"[=:]~")
_SPLITTING_CHARACTERS = re.compile(r"[\s*?\[\\]")


@frozen_dataclass
class Word:
    """A word after bash's expansions."""

    text: str
    pattern: str | None = None
    """If the word has unquoted wildcards: the word with quoted wildcards escaped."""
    is_known: bool = True
    """False if a part of it is only known at run time."""
    is_split: bool = False
    """Whether it may become several words, or none, at run time."""
    is_file_name: bool = False
    """Whether it is the name of any file below the directory `text`."""
    is_pipe: bool = False
    """Whether it is a file that stands for the output of a command, as of `<(ls)`."""

    @property
    def is_literal(self) -> bool:
        """Whether the word is exactly its text."""
        return self.is_known and self.pattern is None and not self.is_file_name

    @property
    def could_be_flag(self) -> bool:
        """Whether a wildcard at its start could match a file named `-something`."""
        return self.pattern is not None and self.pattern[:1] in {"*", "?", "["}


def expand_word(text: str, scope: ShellScope, substitutions: Mapping[int, int]) -> Word:
    """Return the expansion of a word.

    `substitutions` maps the start of each `$(` that is already judged to its end.

    Raises:
        UndecidableCommand: The word holds something with an uncertain value.
    """
    scanner = _Scanner(text, scope, substitutions)
    scanner.run()
    unquoted = "".join(scanner.unquoted)
    # Security: braces and late tildes are checked on unquoted text only; expanded they could name
    # other paths.
    if _is_brace_expansion(unquoted):
        raise UndecidableCommand(reasons.BRACES)
    if _TILDE_INSIDE_WORD.search(unquoted):
        raise UndecidableCommand(reasons.TILDE)
    pattern = "".join(scanner.pattern) if scanner.has_pattern else None
    return Word(
        "".join(scanner.text),
        pattern,
        scanner.is_known,
        is_split=scanner.is_split,
        is_file_name=scanner.is_file_name,
    )


def _is_brace_expansion(unquoted: str) -> bool:
    braced = (
        unquoted[unquoted.find("{") : unquoted.rfind("}")]
        if "{" in unquoted and "}" in unquoted
        else ""
    )
    return "," in braced or ".." in braced


@dataclass(slots=True)
class _Scanner:
    """State of the scan of one word."""

    source: str
    scope: ShellScope
    substitutions: Mapping[int, int]
    position: int = 0
    text: list[str] = field(default_factory=list[str])
    pattern: list[str] = field(default_factory=list[str])
    unquoted: list[str] = field(default_factory=list[str])
    """The unquoted text; each quoted part is replaced by NUL."""
    has_pattern: bool = False
    is_known: bool = True
    is_split: bool = False
    is_file_name: bool = False

    def run(self) -> None:
        # bash would take it for a comment.
        if self.source.startswith("#"):
            raise UndecidableCommand(reasons.AMBIGUOUS)
        if self.source.startswith("~"):
            self._scan_tilde()
        while self.position < len(self.source):
            self._scan_unquoted(self.source[self.position])

    def _scan_unquoted(self, character: str) -> None:
        if character == "'":
            end = self.source.find("'", self.position + 1)
            if end < 0:
                raise UndecidableCommand(reasons.OPEN_QUOTE)
            self._add_literal(self.source[self.position + 1 : end])
            self.position = end + 1
        elif character == '"':
            self._scan_double_quotes()
        elif character == "\\":
            self._scan_escape(quoted=False)
        elif character == "$":
            self._scan_dollar(quoted=False)
        elif character in "*?[":
            self.has_pattern = True
            self._add_unquoted(character)
        else:
            found = _PLAIN.match(self.source, self.position)
            if found is None:
                raise UndecidableCommand(reasons.AMBIGUOUS)
            self._add_unquoted(found.group())

    def _add_unquoted(self, text: str) -> None:
        self.text.append(text)
        self.pattern.append(text)
        self.unquoted.append(text)
        self.position += len(text)

    def _add_literal(self, literal: str) -> None:
        self.text.append(literal)
        self.pattern.append(escape_pattern(literal))
        self.unquoted.append("\0")

    def _scan_escape(self, *, quoted: bool) -> None:
        next_character = self.source[self.position + 1 : self.position + 2]
        # bash joins the lines, and the grammar may have split the word there.
        if next_character in {"", "\n"}:
            raise UndecidableCommand(reasons.SPLIT_WORD)
        # Inside double quotes, a backslash before any other character stays in the word.
        is_kept = quoted and next_character not in '$`"\\'
        self._add_literal("\\" + next_character if is_kept else next_character)
        self.position += 2

    def _scan_double_quotes(self) -> None:
        self.position += 1
        # An empty quoted part counts, too: it keeps bash from expanding `=""~`.
        self._add_literal("")
        while not self.source.startswith('"', self.position):
            found = _INSIDE_QUOTES.match(self.source, self.position)
            if found is not None:
                self._add_literal(found.group())
                self.position = found.end()
            elif self.source.startswith("$", self.position):
                self._scan_dollar(quoted=True)
            elif self.source.startswith("\\", self.position):
                self._scan_escape(quoted=True)
            else:
                raise UndecidableCommand(reasons.BACKQUOTE)
        self.position += 1

    def _scan_dollar(self, *, quoted: bool) -> None:
        variable = _VARIABLE.match(self.source, self.position)
        if variable is not None:
            self._add_variable(variable.group(1) or variable.group(2), quoted=quoted)
            self.position = variable.end()
        elif self.position in self.substitutions:
            self.is_split = self.is_split or not quoted
            self._skip_unknown(self.substitutions[self.position])
        elif number := _NUMERIC_VARIABLE.match(self.source, self.position):
            self._skip_unknown(number.end())
        elif _LITERAL_DOLLAR.match(self.source, self.position) and (
            quoted or self.position == len(self.source) - 1
        ):
            self._add_literal("$")
            self.position += 1
        else:
            raise UndecidableCommand(reasons.EXPANSION)

    def _skip_unknown(self, end: int) -> None:
        self.is_known = False
        self._add_literal("")
        self.position = end

    def _add_variable(self, name: str, *, quoted: bool) -> None:
        value = self._look_up_variable(name)
        # As a part of a word, the name of a file makes another name.
        self.is_file_name = value.is_file_name and self.source in {f'"${name}"', f'"${{{name}}}"'}
        if not value.is_known or (value.is_file_name and not self.is_file_name):
            self.is_known = False
            self.is_split = self.is_split or not quoted
            self._add_literal("")
            return
        # Security: bash splits an unquoted value at white space and expands wildcards in it, so it
        # could become flags or other paths.
        splits = not quoted and (
            value.pattern is not None or _SPLITTING_CHARACTERS.search(value.text)
        )
        if splits or not value.text:
            raise UndecidableCommand(reasons.unquoted_variable(name))
        if value.pattern is None:
            self._add_literal(value.text)
            return
        self.has_pattern = True
        self.text.append(value.text)
        self.pattern.append(value.pattern)
        self.unquoted.append("\0")

    def _look_up_variable(self, name: str) -> VariableValue:
        if name in self.scope.values:
            return self.scope.values[name]
        if name == "HOME" and self.scope.home is not None:
            return VariableValue(self.scope.home)
        if name == "PWD" and len(self.scope.directories) == 1:
            return VariableValue(self.scope.directories[0])
        if is_shown_variable(name):
            return UNKNOWN_VALUE
        raise UndecidableCommand(reasons.used_variable(name))

    def _scan_tilde(self) -> None:
        # Includes `~+` and `~-`, which stand for the values of PWD and OLDPWD.
        if self.source[1:2] not in {"", "/"}:
            raise UndecidableCommand(reasons.OTHER_HOME)
        if self.scope.home is None:
            raise UndecidableCommand(reasons.UNKNOWN_HOME)
        self._add_literal(self.scope.home)
        self.position = 1


@cache
def _shown_variables() -> frozenset[str]:
    lists = read_word_lists(str(Path(__file__).with_name("assignments.py")))
    return frozenset(lists["shown"])


def is_shown_variable(name: str) -> bool:
    """Return whether a variable of the environment holds no secret, so that it may be printed."""
    return name in _shown_variables()


def breaks_words(character: str) -> bool:
    """Return whether an unquoted character ends a word."""
    return character in _WORD_BREAKS
