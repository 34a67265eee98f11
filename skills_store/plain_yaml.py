"""Restricted YAML parser: mappings, lists and scalars only, with limits on depth and size.

Dates and floats stay text. Aliases are rejected, because they allow exponential growth. Importing
this module imports PyYAML, which is slow.
"""

import re
from dataclasses import dataclass, field

import yaml

from skills_store.json_file import Json
from skills_store.skill import Problem

MOST_DEPTH = 16
MOST_NODES = 10_000

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_Loader: type[yaml.SafeLoader | yaml.CSafeLoader] = (
    yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
)


class NoPlainYamlError(ValueError):
    """The text is invalid YAML, or uses a rejected construct. `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Plain:
    """The parsed mapping, and the constructs that the standard's strict dialect does not allow."""

    values: dict[str, Json]
    oddities: tuple[Problem, ...] = ()
    lines: dict[str, int] = field(default_factory=dict[str, int])
    """Lines at which the top-level fields begin."""


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end event has not arrived."""

    value: dict[str, Json] | list[Json]
    key: str | None = None
    """For a mapping: the key that waits for its value."""
    column: int | None = None
    """For a mapping: the column of its first nested mapping."""


def parse(text: str) -> Plain:
    """Parse a text that must be a single mapping; an empty text gives an empty mapping.

    Raises:
        PlainYamlError: The text is not a mapping, not valid YAML, or uses a rejected construct.
    """
    reader = _Reader()
    try:
        # Events instead of yaml.load: no tag can construct an object, and the limits apply while
        # parsing.
        for event in yaml.parse(text, Loader=_Loader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise NoPlainYamlError(line, error.problem or "it is no YAML") from None
    except (yaml.YAMLError, UnicodeEncodeError):  # a lone surrogate or a control character
        raise NoPlainYamlError(1, "it holds a character that YAML does not allow") from None
    if not isinstance(reader.root, dict):
        raise NoPlainYamlError(1, "it is no mapping of fields to values")
    return Plain(reader.root, tuple(reader.oddities), reader.lines)


class _Reader:
    """Builds the value from parser events, without recursion."""

    def __init__(self) -> None:
        self.root: Json = {}
        self.oddities: list[Problem] = []
        self.lines: dict[str, int] = {}
        self._open: list[_Open] = []
        self._nodes = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.NodeEvent):
            self._check(event, line)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self._open.pop().value)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise NoPlainYamlError(line, "it holds more than one document")

    def _check(self, event: yaml.NodeEvent, line: int) -> None:
        self._nodes += 1
        if isinstance(event, yaml.AliasEvent):
            raise NoPlainYamlError(line, "aliases (*name) are refused")
        if self._nodes > MOST_NODES or len(self._open) >= MOST_DEPTH:
            raise NoPlainYamlError(line, "it is nested too deeply or holds too much")
        if event.anchor is not None:
            self._note(line, "an anchor (&name); quote the value")
        if getattr(event, "tag", None) is not None:
            self._note(line, "a tag (!name); quote the value")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        text = event.value
        parent = self._open[-1] if self._open else None
        if parent is None or not isinstance(parent.value, dict) or parent.key is not None:
            is_plain = not event.style  # None, or "" from libyaml
            self._add(_resolved(text) if is_plain else text)
            return
        if text in parent.value:
            self._note(line, f"the field {text!r} a second time")
        if len(self._open) == 1:
            self.lines.setdefault(text, line)
        parent.key = text

    def _begin(self, event: yaml.CollectionStartEvent, line: int) -> None:
        parent = self._open[-1] if self._open else None
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if parent and isinstance(parent.value, dict):
            if parent.key is None:
                raise NoPlainYamlError(line, "a field's name must be a plain word")
            if is_mapping and event.start_mark:
                self._check_column(parent, event.start_mark.column, line)
        if event.flow_style:
            self._note(line, "a list or mapping in brackets; write one item a line, or quote it")
        self._open.append(_Open({} if is_mapping else []))

    def _check_column(self, parent: _Open, column: int, line: int) -> None:
        if parent.column is None:
            parent.column = column
        elif parent.column != column:
            self._note(line, "a mapping that is not indented like the one before it")

    def _add(self, value: Json) -> None:
        if not self._open:
            self.root = {} if value is None else value
            return
        parent = self._open[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.key is not None:
            parent.value[parent.key] = value
            parent.key = None

    def _note(self, line: int, text: str) -> None:
        self.oddities.append(Problem(line, text))


def _resolved(text: str) -> Json:
    """Convert an unquoted scalar to None, a bool, an int, or its text."""
    if text in _NULLS:
        return None
    if text in _TRUTHS:
        return _TRUTHS[text]
    return int(text) if _INTEGER.match(text) else text
