"""Expansion of one word as in bash: quotes, backslashes, `~` and some variables.

The grammar determines where a word begins and ends; the word is then scanned again here, character
by character, so that both must agree. Anything whose value is uncertain is undecidable.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.patterns import escape
from acp_server.permissions.shell.scope import Scope, Value
from acp_server.startup.fast_dataclass import frozen

_BREAKS = frozenset(" \t\n|&;()<>")
_PLAIN = re.compile(r"[^ \t\n|&;()<>'\"\\$`*?\[]+")
_INSIDE_QUOTES = re.compile(r"[^\"\\$`]+")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_LITERAL_DOLLAR = re.compile(r"\$(?=[ )|/.,:;\"]|$)")
_NUMBERS = frozenset({"$?", "$$"})
_LATE_TILDE = re.compile(r"[=:]~")
_SPLITS = re.compile(r"[\s*?\[\\]")


@frozen
class Word:
    """A word after bash's expansions."""

    text: str
    pattern: str | None = None
    """If the word has unquoted wildcards: the word with quoted wildcards escaped."""
    is_known: bool = True
    """False if a part of it is only known at run time."""

    @property
    def is_literal(self) -> bool:
        """Whether the word is exactly its text."""
        return self.is_known and self.pattern is None

    @property
    def could_be_flag(self) -> bool:
        """Whether a wildcard at its start could match a file named `-something`."""
        return self.pattern is not None and self.pattern[:1] in {"*", "?", "["}


def read_word(text: str, scope: Scope, substitutions: Mapping[int, int]) -> Word:
    """Return the expansion of a word.

    `substitutions` maps the start of each `$(` that is already judged to its end.

    Raises:
        UndecidableCommand: The word holds something with an uncertain value.
    """
    scanner = _Scanner(text, scope, substitutions)
    scanner.run()
    bare = "".join(scanner.bare)
    # Security: braces and late tildes are checked on unquoted text only; expanded they could name
    # other paths.
    if _is_brace_expansion(bare):
        raise Unclear("it uses a brace expansion")
    if _LATE_TILDE.search(bare):
        raise Unclear("it uses `~` inside a word")
    pattern = "".join(scanner.pattern) if scanner.has_pattern else None
    return Word("".join(scanner.text), pattern, scanner.is_known)


def _is_brace_expansion(bare: str) -> bool:
    inside = bare[bare.find("{") : bare.rfind("}")] if "{" in bare and "}" in bare else ""
    return "," in inside or ".." in inside


@dataclass(slots=True)
class _Scanner:
    """State of the scan of one word."""

    source: str
    scope: Scope
    substitutions: Mapping[int, int]
    position: int = 0
    text: list[str] = field(default_factory=list[str])
    pattern: list[str] = field(default_factory=list[str])
    bare: list[str] = field(default_factory=list[str])
    """The unquoted text; each quoted part is replaced by NUL."""
    has_pattern: bool = False
    is_known: bool = True

    def run(self) -> None:
        if self.source.startswith("#"):
            raise Unclear("it cannot be read unambiguously")
        if self.source.startswith("~"):
            self._tilde()
        while self.position < len(self.source):
            self._unquoted(self.source[self.position])

    def _unquoted(self, character: str) -> None:
        if character == "'":
            end = self.source.find("'", self.position + 1)
            self._keep(self._upto(end)[1:])
            self.position += 1
        elif character == '"':
            self._double()
        elif character == "\\":
            self._escaped()
        elif character == "$":
            self._dollar(quoted=False)
        elif character in "*?[":
            self._magic(character)
        else:
            self._plain()

    def _upto(self, end: int) -> str:
        if end < 0:
            raise Unclear("a quote in it is not closed")
        passed, self.position = self.source[self.position : end], end
        return passed

    def _plain(self) -> None:
        found = _PLAIN.match(self.source, self.position)
        if found is None:
            raise Unclear("it cannot be read unambiguously")
        self.text.append(found.group())
        self.pattern.append(found.group())
        self.bare.append(found.group())
        self.position = found.end()

    def _magic(self, character: str) -> None:
        self.has_pattern = True
        self.text.append(character)
        self.pattern.append(character)
        self.bare.append(character)
        self.position += 1

    def _keep(self, literal: str) -> None:
        self.text.append(literal)
        self.pattern.append(escape(literal))
        self.bare.append("\0")

    def _escaped(self) -> None:
        following = self.source[self.position + 1 : self.position + 2]
        if following in {"", "\n"}:
            raise Unclear("a word in it goes on in the next line")
        self._keep(following)
        self.position += 2

    def _double(self) -> None:
        self.position += 1
        self._keep("")
        while not self.source.startswith('"', self.position):
            self._quoted()
        self.position += 1

    def _quoted(self) -> None:
        found = _INSIDE_QUOTES.match(self.source, self.position)
        if found is not None:
            self._keep(found.group())
            self.position = found.end()
        elif self.source.startswith("$", self.position):
            self._dollar(quoted=True)
        elif self.source.startswith("\\", self.position):
            self._escaped_in_quotes()
        else:
            raise Unclear("it holds a backquote or a quote that is not closed")

    def _escaped_in_quotes(self) -> None:
        following = self.source[self.position + 1 : self.position + 2]
        if following in {"", "\n"}:
            raise Unclear("a word in it goes on in the next line")
        self._keep(following if following in '$`"\\' else "\\" + following)
        self.position += 2

    def _dollar(self, *, quoted: bool) -> None:
        variable = _VARIABLE.match(self.source, self.position)
        if variable is not None:
            self._value(variable.group(1) or variable.group(2), quoted=quoted)
            self.position = variable.end()
        # Only quoted: an unquoted `$(...)` may become several words.
        elif self.position in self.substitutions and quoted:
            self._unknown(self.substitutions[self.position])
        elif self.source[self.position : self.position + 2] in _NUMBERS:
            self._unknown(self.position + 2)
        elif _LITERAL_DOLLAR.match(self.source, self.position) and (quoted or self._is_last()):
            self._keep("$")
            self.position += 1
        else:
            raise Unclear("it uses a shell expansion")

    def _is_last(self) -> bool:
        return self.position == len(self.source) - 1

    def _unknown(self, end: int) -> None:
        self.is_known = False
        self._keep("")
        self.position = end

    def _value(self, name: str, *, quoted: bool) -> None:
        value = self._looked_up(name)
        # Security: bash splits an unquoted value at white space and expands wildcards in it, so it
        # could become flags or other paths.
        splits = not quoted and (value.pattern is not None or _SPLITS.search(value.text))
        if splits or not value.text:
            raise Unclear(f"the unquoted ${name} may become several words")
        if value.pattern is None:
            self._keep(value.text)
            return
        self.has_pattern = True
        self.text.append(value.text)
        self.pattern.append(value.pattern)
        self.bare.append("\0")

    def _looked_up(self, name: str) -> Value:
        if name in self.scope.values:
            return self.scope.values[name]
        if name == "HOME" and self.scope.home is not None:
            return Value(self.scope.home)
        if name == "PWD" and len(self.scope.folders) == 1:
            return Value(self.scope.folders[0])
        raise Unclear(f"it uses the value of ${name}")

    def _tilde(self) -> None:
        if self.source[1:2] not in {"", "/"}:
            raise Unclear("it names the home folder of somebody else")
        if self.scope.home is None:
            raise Unclear("it names the home folder, which is not known")
        self._keep(self.scope.home)
        self.position = 1


def breaks_words(character: str) -> bool:
    """Return whether an unquoted character ends a word."""
    return character in _BREAKS
