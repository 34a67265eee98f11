"""Fast reader for frontmatter that uses the plainest YAML only.

Nearly all skills have it: one field or item a line, nested by indentation, values plain or in
quotes. For these it gives what `plain_yaml` gives, in a tenth of the time and without importing a
parser. For anything else it gives nothing, and the caller takes `plain_yaml`.
"""

import re

from skills_store.json_file import Json

MAX_DEPTH = 8
MAX_CHARACTERS = 16 * 1024

_QUOTED = r""""[^"\\]*"|'[^']*'"""
_PLAIN = r"""[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:#]|:(?![ ]|$)|(?<![ ])#)*"""
_LINE = re.compile(
    rf"(?P<indent> *)(?:(?P<key>[A-Za-z_][A-Za-z0-9_-]*):(?: +|$)|- +(?=[^ ]))"
    rf"(?P<value>{_QUOTED}|{_PLAIN})? *"
)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


class _NotSimpleError(Exception):
    """The text needs a real parser."""


class _Level:
    """An open mapping or list, and where its lines begin."""

    __slots__ = ("child_indent", "indent", "value")

    def __init__(self, indent: int, value: dict[str, Json] | list[Json]) -> None:
        self.indent = indent
        self.value = value
        self.child_indent: int | None = None
        """Indentation of the mappings in it: the standard's dialect wants the same for all."""


def parse(text: str) -> dict[str, Json] | None:
    """Return the mapping of a text; None if it is not that simple."""
    # Printable: no tab, carriage return, surrogate or character that YAML does not allow.
    if len(text) > MAX_CHARACTERS or not text.replace("\n", "").isprintable():
        return None
    reader = _Reader()
    try:
        for line in text.split("\n"):
            if line and not line.isspace():
                reader.add_line(line)
    except _NotSimpleError:
        return None
    return reader.root or None


class _Reader:
    """Builds the mapping line by line."""

    def __init__(self) -> None:
        self.root: dict[str, Json] = {}
        self._levels = [_Level(0, self.root)]
        self._opened: str | None = None
        """The field whose value may be on the next lines."""

    def add_line(self, line: str) -> None:
        found = _LINE.fullmatch(line)
        if found is None:
            raise _NotSimpleError
        spaces, key, text = found.groups()
        level = self._enter_level(len(spaces), is_mapping=key is not None)
        value = None if text is None else _resolve(text)
        if isinstance(level.value, list):
            if key is not None or text is None:
                raise _NotSimpleError
            level.value.append(value)
        elif key is None or key in level.value:
            raise _NotSimpleError
        else:
            level.value[key] = value
            self._opened = key if text is None else None

    def _enter_level(self, indent: int, *, is_mapping: bool) -> _Level:
        """Return the collection to which a line of this indentation belongs."""
        levels = self._levels
        level = levels[-1]
        if self._opened is not None and indent > level.indent:
            level = _open_child(level, self._opened, indent, is_mapping=is_mapping)
            levels.append(level)
        while indent < level.indent:
            levels.pop()
            level = levels[-1]
        if indent != level.indent or len(levels) > MAX_DEPTH:
            raise _NotSimpleError
        self._opened = None
        return level


def _open_child(level: _Level, key: str, indent: int, *, is_mapping: bool) -> _Level:
    """Open the value of a field."""
    value: dict[str, Json] | list[Json] = {} if is_mapping else []
    if is_mapping and level.child_indent not in {None, indent}:
        raise _NotSimpleError
    if is_mapping:
        level.child_indent = indent
    if isinstance(level.value, dict):  # only a mapping has fields
        level.value[key] = value
    return _Level(indent, value)


def _resolve(text: str) -> Json:
    return text[1:-1] if text[0] in "\"'" else resolve_scalar(text.rstrip(" "))


def resolve_scalar(text: str) -> Json:
    """Convert an unquoted scalar to None, a bool, an int, or its text."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    return int(text) if _INTEGER.match(text) else text
