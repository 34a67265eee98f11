"""Reads profiles of the macOS sandbox, and answers what they allow.

    profile = Profile.parse(build_profile(limits))
    assert not profile.allows("file-write-data", "/etc/passwd")

A model of the documented rules, for systems without that sandbox: rules are tried in order, the
last one that matches decides, and `file-write*` stands for all operations of that beginning. What
the operations act on is outside of the sandbox. A profile that is no list of lists, or has an
unknown action or filter, is an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Expression: TypeAlias = "str | Text | list[Expression]"
_TOKEN = re.compile(r'\s*(?:(\()|(\))|(#?"(?:[^"\\]|\\.)*")|([^\s()"]+))', re.DOTALL)
_NETWORK_FILTERS = frozenset({"local", "remote", "global-name"})


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text; of a regular expression if it is raw."""

    value: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a profile."""

    is_allowed: bool
    operations: tuple[str, ...]
    filters: tuple[tuple[str, str], ...]

    def matches(self, operation: str, path: str) -> bool:
        if not any(_covers(each, operation) for each in self.operations):
            return False
        return not self.filters or any(_selects(*each, path) for each in self.filters)


@dataclass(frozen=True, slots=True)
class Profile:
    """A parsed profile."""

    rules: tuple[Rule, ...]

    @classmethod
    def parse(cls, text: str) -> "Profile":
        version, *rest = _read_all(text)
        assert version == ["version", "1"]
        return cls(tuple(_to_rule(each) for each in rest))

    def allows(self, operation: str, path: str) -> bool:
        """Return what the last rule that matches says."""
        verdicts = [rule.is_allowed for rule in self.rules if rule.matches(operation, path)]
        return verdicts[-1]


def _covers(pattern: str, operation: str) -> bool:
    if pattern == "default":
        return True
    is_prefix = pattern.endswith("*")
    return operation.startswith(pattern[:-1]) if is_prefix else operation == pattern


def _selects(kind: str, value: str, path: str) -> bool:
    match kind:
        case "literal":
            return path == value
        case "subpath":
            return path == value or path.startswith(value.rstrip("/") + "/")
        case "regex":
            return re.search(value, path) is not None
        case "target":
            return value == "others"
        case _:
            assert kind in _NETWORK_FILTERS, kind
            return False


def _to_rule(expression: Expression) -> Rule:
    assert isinstance(expression, list)
    action, *rest = expression
    assert action in {"allow", "deny"}, action
    operations = tuple(each for each in rest if isinstance(each, str))
    filters = tuple(_to_filter(each) for each in rest if isinstance(each, list))
    assert operations
    assert len(operations) + len(filters) == len(rest)
    return Rule(action == "allow", operations, filters)


def _to_filter(expression: list[Expression]) -> tuple[str, str]:
    kind, *values = expression
    assert isinstance(kind, str)
    last = values[-1]
    assert not isinstance(last, list)
    return kind, last.value if isinstance(last, Text) else last


def _read_all(text: str) -> list[Expression]:
    """Return the expressions of a text."""
    stack: list[list[Expression]] = [[]]
    for word in _words(text):
        match word:
            case "(":
                stack.append([])
            case ")":
                done = stack.pop()
                stack[-1].append(done)
            case _:
                stack[-1].append(word)
    (found,) = stack
    return found


def _words(text: str) -> Iterator[str | Text]:
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        assert found is not None, text[position : position + 40]
        position = found.end()
        quoted = found[3]
        if quoted is None:
            yield found[0].strip()
        elif quoted.startswith("#"):
            yield Text(quoted[2:-1])
        else:
            yield Text(re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL))
