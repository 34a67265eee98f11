"""Edits JSON with comments and trailing commas (JSONC) in place, as editors use for settings.

Pure functions on strings. Setting a value leaves every other byte of the text unchanged, including
comments and indentation.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

MAX_LEVELS = 100
"""Deepest nesting accepted; the parser recurses, so deeper text could exhaust the stack."""
DEFAULT_INDENT = "  "

_BLANK = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\r\n]*)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")
_MARGIN = re.compile(r"[ \t]*")


class CommentedJsonError(ValueError):
    """The text is not JSON with comments, or a value on the path is not an object."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.line = line
        """Line number, from 1."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A parsed value and its position in the text."""

    start: int
    end: int
    value: JsonValue
    members: tuple["_Member", ...] = ()
    """Members of an object, in order."""
    trailing_comma: bool = False


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    start: int
    node: _Node
    end: int
    """Position after the member's comma, if it has one."""


def get_value(text: str, path: Sequence[str]) -> JsonValue:
    """Return the value at a path of member names, or None if there is none.

    Of members with the same name, the last one counts.

    Raises:
        CommentedJsonError: The text is not JSON with comments.
    """
    reader = _JsoncParser(text)
    value = None if reader.is_empty() else reader.parse().value
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def set_value(text: str, path: Sequence[str], value: JsonValue) -> str:
    """Return the text with a value set at a path of member names; missing objects are created.

    An existing value is replaced; if it is equal already, the text is returned unchanged. An empty
    text, or one with comments only, gets an object.

    Raises:
        CommentedJsonError: The text cannot be parsed, or a value on the path is not an object.
    """
    reader = _JsoncParser(text)
    if reader.is_empty():
        newline = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{newline}{json.dumps(_nested(path, value), indent=2, ensure_ascii=False)}\n"
    node = reader.parse()
    first = next((each for each in node.members if _is_first_on_line(text, each.start)), None)
    unit = (_indentation(text, first.start) if first else "") or DEFAULT_INDENT
    for depth, name in enumerate(path):
        if not isinstance(node.value, dict):
            location = ".".join(path[:depth]) or "the top-level value"
            raise reader.error(f"{location} is not an object", node.start)
        member = next((each for each in reversed(node.members) if each.name == name), None)
        if member is None:
            return _insert(text, node, (name, _nested(path[depth + 1 :], value)), unit)
        node = member.node
    # The type check: in Python, True == 1 and 1 == 1.0, but the JSON texts differ.
    if node.value == value and type(node.value) is type(value):
        return text
    serialized = _serialize(text, value, _indentation(text, node.start), unit)
    return text[: node.start] + serialized + text[node.end :]


def remove_value(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at a path, and without a comment behind it on its line.

    Raises:
        CommentedJsonError: The text cannot be parsed.
    """
    reader = _JsoncParser(text)
    if reader.is_empty():
        return text
    node = reader.parse()
    *parents, name = path
    for parent in parents:
        inner = next((each for each in reversed(node.members) if each.name == parent), None)
        if inner is None:
            return text
        node = inner.node
    found = [index for index, each in enumerate(node.members) if each.name == name]
    if not found:
        return text
    index = found[-1]
    member = node.members[index]
    start, end = member.start, member.end
    comments = _REST_OF_LINE.match(text, end, node.end - 1)
    if _is_first_on_line(text, start) and comments and text[comments.end()] in "\r\n":
        start, end = _line_start(text, start), text.index("\n", comments.end()) + 1
    else:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    remaining = text[:start] + text[end:]
    if index and index == len(node.members) - 1 and not node.trailing_comma:
        comma = node.members[index - 1].end - 1  # nothing follows it any more
        remaining = remaining[:comma] + remaining[comma + 1 :]
    # Of members with the same name the last one counts: the one before must not count now.
    return remaining if len(found) == 1 else remove_value(remaining, path)


def _nested(path: Sequence[str], value: JsonValue) -> JsonValue:
    for name in reversed(path):
        value = {name: value}
    return value


def _insert(text: str, node: _Node, added: tuple[str, JsonValue], unit: str) -> str:
    """Append a member to an object, in the style of the existing members."""
    newline = _newline(text)
    outer = _indentation(text, node.start)
    inner = outer + unit
    if node.members and _is_first_on_line(text, node.members[-1].start):
        inner = _indentation(text, node.members[-1].start)
    name, value = added
    quoted_name = json.dumps(name, ensure_ascii=False)
    member = f"{newline}{inner}{quoted_name}: {_serialize(text, value, inner, unit)}"
    last_end = node.members[-1].end if node.members else node.start + 1
    # A comment on the last member's line belongs to that member: insert after it, and put the
    # comma before it.
    comments = _REST_OF_LINE.match(text, last_end, node.end - 1)
    insert_at = comments.end() if comments else last_end
    has_own_line = "\n" in text[insert_at : node.end - 1]
    before = text[last_end:insert_at] if has_own_line else text[last_end:insert_at].rstrip(" \t")
    comma = "," if node.members and not node.trailing_comma else ""
    end = ("," if node.trailing_comma else "") + ("" if has_own_line else newline + outer)
    return text[:last_end] + comma + before + member + end + text[insert_at:]


def _serialize(text: str, value: JsonValue, margin: str, unit: str) -> str:
    """Return a value as JSON with the line ends of the text."""
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", _newline(text) + margin)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _indentation(text: str, position: int) -> str:
    """Return the indentation of the line at a position."""
    found = _MARGIN.match(text, _line_start(text, position))
    return found[0] if found else ""


def _is_first_on_line(text: str, position: int) -> bool:
    return not text[_line_start(text, position) : position].strip(" \t\ufeff")


class _JsoncParser:
    """Recursive-descent parser for one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._level = 0

    def is_empty(self) -> bool:
        found = _BLANK.match(self._text)
        return found is not None and found.end() == len(self._text)

    def parse(self) -> _Node:
        node = self._value()
        self._skip_blanks()
        if self._position < len(self._text):
            raise self.error("unexpected text after the end", self._position)
        return node

    def error(self, reason: str, position: int) -> CommentedJsonError:
        return CommentedJsonError(reason, self._text.count("\n", 0, position) + 1)

    def _skip_blanks(self) -> None:
        found = _BLANK.match(self._text, self._position)
        self._position = found.end() if found else self._position

    def _peek(self) -> str:
        """Skip blanks and comments; return the next character, or "" at the end."""
        self._skip_blanks()
        return self._text[self._position : self._position + 1]

    def _accept(self, character: str) -> bool:
        if self._peek() != character:
            return False
        self._position += 1
        return True

    def _value(self) -> _Node:
        if self._level == MAX_LEVELS:
            raise self.error("nested too deeply", self._position)
        self._level += 1
        first = self._peek()
        node = {"{": self._object, "[": self._array}.get(first, self._scalar)()
        self._level -= 1
        return node

    def _scalar(self) -> _Node:
        start = self._position
        pattern = _STRING if self._text.startswith('"', start) else _SCALAR
        found = pattern.match(self._text, start)
        try:
            value: JsonValue = json.loads(found[0] if found else "")
        except ValueError:
            raise self.error("expected a value", start) from None
        self._position = found.end() if found else start
        return _Node(start, self._position, value)

    def _array(self) -> _Node:
        start = self._position
        self._position += 1
        values: list[JsonValue] = []
        has_comma = True
        while not self._accept("]"):
            if not has_comma:
                raise self.error("expected a comma or ]", self._position)
            values.append(self._value().value)
            has_comma = self._accept(",")
        return _Node(start, self._position, values)

    def _object(self) -> _Node:
        start = self._position
        self._position += 1
        members: list[_Member] = []
        has_comma = True
        while not self._accept("}"):
            if not has_comma:
                raise self.error("expected a comma or }", self._position)
            members.append(self._member())
            has_comma = members[-1].end > members[-1].node.end
        value: JsonValue = {each.name: each.node.value for each in members}
        return _Node(start, self._position, value, tuple(members), has_comma and bool(members))

    def _member(self) -> _Member:
        if self._peek() != '"':
            raise self.error("expected a name in double quotes", self._position)
        name = self._scalar()
        if not self._accept(":"):
            raise self.error("expected a colon", self._position)
        node = self._value()
        end = self._position if self._accept(",") else node.end
        return _Member(str(name.value), name.start, node, end)
