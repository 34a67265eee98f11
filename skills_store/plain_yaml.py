"""Restricted YAML parser: mappings, lists and scalars only, with limits on depth and size.

Dates and floats stay text. Aliases are rejected, because they allow exponential growth. Importing
this module imports PyYAML, which is slow.
"""

from dataclasses import dataclass, field

import yaml

from skills_store.json_file import Json
from skills_store.simple_yaml import resolve_scalar
from skills_store.skill import DocumentProblem

MAX_DEPTH = 16
MAX_NODES = 10_000

_Loader: type[yaml.SafeLoader | yaml.CSafeLoader] = (
    yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
)


class PlainYamlError(ValueError):
    """The text is invalid YAML, or uses a rejected construct. `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class PlainMapping:
    """The parsed mapping, and the constructs that the standard's strict dialect does not allow."""

    values: dict[str, Json]
    dialect_problems: tuple[DocumentProblem, ...] = ()
    lines: dict[str, int] = field(default_factory=dict[str, int])
    """Lines at which the top-level fields begin."""


@dataclass(slots=True)
class _OpenCollection:
    """A mapping or list whose end event has not arrived."""

    value: dict[str, Json] | list[Json]
    key: str | None = None
    """For a mapping: the key that waits for its value."""
    column: int | None = None
    """For a mapping: the column of its first nested mapping."""


def parse(text: str) -> PlainMapping:
    """Parse a text that must be a single mapping; an empty text gives an empty mapping.

    Raises:
        PlainYamlError: The text is not a mapping, not valid YAML, or uses a rejected construct.
    """
    reader = _MappingBuilder()
    try:
        # Events instead of yaml.load: no tag can construct an object, and the limits apply while
        # parsing.
        for event in yaml.parse(text, Loader=_Loader):
            reader.handle(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise PlainYamlError(line, error.problem or "it is no YAML") from None
    except (yaml.YAMLError, UnicodeEncodeError):  # a lone surrogate or a control character
        raise PlainYamlError(1, "it holds a character that YAML does not allow") from None
    if not isinstance(reader.root, dict):
        raise PlainYamlError(1, "it is no mapping of fields to values")
    return PlainMapping(reader.root, tuple(reader.dialect_problems), reader.lines)


class _MappingBuilder:
    """Builds the value from parser events, without recursion."""

    def __init__(self) -> None:
        self.root: Json = {}
        self.dialect_problems: list[DocumentProblem] = []
        self.lines: dict[str, int] = {}
        self._open: list[_OpenCollection] = []
        self._nodes = 0
        self._documents = 0

    def handle(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.NodeEvent):
            self._check_node(event, line)
        if isinstance(event, yaml.ScalarEvent):
            self._add_scalar(event, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._start_collection(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add_value(self._open.pop().value)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise PlainYamlError(line, "it holds more than one document")

    def _check_node(self, event: yaml.NodeEvent, line: int) -> None:
        self._nodes += 1
        if isinstance(event, yaml.AliasEvent):
            raise PlainYamlError(line, "aliases (*name) are refused")
        if self._nodes > MAX_NODES or len(self._open) >= MAX_DEPTH:
            raise PlainYamlError(line, "it is nested too deeply or holds too much")
        if event.anchor is not None:
            self._add_dialect_problem(line, "an anchor (&name); quote the value")
        if getattr(event, "tag", None) is not None:
            self._add_dialect_problem(line, "a tag (!name); quote the value")

    def _add_scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        text = event.value
        parent = self._open[-1] if self._open else None
        if parent is None or not isinstance(parent.value, dict) or parent.key is not None:
            is_plain = not event.style  # None, or "" from libyaml
            self._add_value(resolve_scalar(text) if is_plain else text)
            return
        if text in parent.value:
            self._add_dialect_problem(line, f"the field {text!r} a second time")
        if len(self._open) == 1:
            self.lines.setdefault(text, line)
        parent.key = text

    def _start_collection(self, event: yaml.CollectionStartEvent, line: int) -> None:
        parent = self._open[-1] if self._open else None
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if parent and isinstance(parent.value, dict):
            if parent.key is None:
                raise PlainYamlError(line, "a field's name must be a plain word")
            if is_mapping and event.start_mark:
                if parent.column is None:
                    parent.column = event.start_mark.column
                elif parent.column != event.start_mark.column:
                    text = "a mapping that is not indented like the one before it"
                    self._add_dialect_problem(line, text)
        if event.flow_style:
            self._add_dialect_problem(
                line, "a list or mapping in brackets; write one item a line, or quote it"
            )
        self._open.append(_OpenCollection({} if is_mapping else []))

    def _add_value(self, value: Json) -> None:
        if not self._open:
            self.root = {} if value is None else value
            return
        parent = self._open[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.key is not None:
            parent.value[parent.key] = value
            parent.key = None

    def _add_dialect_problem(self, line: int, text: str) -> None:
        self.dialect_problems.append(DocumentProblem(line, text))
