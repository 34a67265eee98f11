"""One call that is being read: its arguments by our names, and remarks on how they were understood.

Pure: a call becomes our tool, our arguments and remarks, or a refusal that says how to go on.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import cast

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.tools.dialects.table import alias_table, squash

UNLISTED: Mapping[str, tuple[str, ...]] = {
    "patch": ("edits", "expected_replacements", "cell", "cell_type", "edit_mode"),
    "delegate_task": ("agent", "isolation"),
}
"""Arguments that a tool takes although its schema does not name them."""
WRAPPERS = frozenset({"arguments", "args", "parameters", "params", "input", "kwargs", "toolinput"})
CHANGING = frozenset({
    "write_file", "patch", "terminal", "memory", "skill_manage", "delegate_task"
})  # fmt: skip
"""Tools that must not run with an argument that was not understood."""
MAX_SHOWN_CHARACTERS = 60


class UnreadableCallError(ValueError):
    """A call cannot be understood. The text tells the model how to go on."""


@frozen_dataclass
class ToolSchema:
    """The arguments of one of our tools."""

    tool: str
    parameters: Mapping[str, JsonValue]

    @property
    def properties(self) -> Mapping[str, JsonValue]:
        """The schemas of the arguments that the model is told of."""
        return as_object(self.parameters.get("properties"))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arguments."""
        return (*self.properties, *UNLISTED.get(self.tool, ()))

    def item_properties(self, name: str) -> Mapping[str, JsonValue]:
        """Return the schemas within the objects of a list; empty if it does not hold objects."""
        items = as_object(as_object(self.properties.get(name)).get("items"))
        reference = as_text(items.get("$ref")).rpartition("/")[2]
        definition = as_object(as_object(self.parameters.get("$defs")).get(reference))
        return as_object(definition.get("properties"))


@dataclass(slots=True)
class CallReading:
    """Arguments by our names, some of them only steps towards ours, and the remarks so far."""

    schema: ToolSchema
    alias: str
    """The squashed name of the tool in the call; empty if it is ours."""
    values: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    given: dict[str, str] = field(default_factory=dict[str, str])
    """The names in the call by ours."""
    remarks: list[str] = field(default_factory=list[str])
    unknown: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    ignored: list[str] = field(default_factory=list[str])

    @property
    def tool(self) -> str:
        """Our tool."""
        return self.schema.tool

    def take(self, name: str) -> JsonValue:
        """Remove an argument that is none of ours, and return its value; None if it is absent."""
        return self.values.pop(name, None)

    def take_flag(self, name: str) -> bool | None:
        """Remove an argument that is none of ours; None if it is absent or neither true nor false.

        What is neither counts as not understood.
        """
        value = self.take(name)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
            return value.strip().lower() == "true"
        self.unknown[self.given[name]] = value
        return None

    def note(self, name: str, meaning: str) -> None:
        """Remark what an argument of the call was read as."""
        self.remarks.append(f"`{self.given.get(name, name)}` as {meaning}")

    def set_read(self, source: str, name: str, value: JsonValue, meaning: str = "") -> None:
        """Set our argument from another one, unless the call has it too."""
        if self.values.setdefault(name, value) == value:
            self.note(source, meaning or f"`{name}` {json.dumps(value, ensure_ascii=False)}")
        else:
            self.unknown[self.given.get(source, source)] = value


def read_names(reading: CallReading, values: Mapping[str, JsonValue]) -> None:
    """Sort the arguments of a call under our names.

    Raises:
        UnreadableCallError: Two arguments mean the same but differ.
    """
    rename = ArgumentNames(reading.schema)
    for given, value in _unwrap(reading, values).items():
        name = rename.find(given, value)
        if value is None and name not in {"new_string"}:
            continue
        if name is None:
            key = squash(given)
            table = alias_table()
            if key in table.comments["all"] | table.comments.get(reading.tool, frozenset()):
                continue
            reading.unknown[given] = value
        elif name in reading.values:
            if reading.values[name] != value:
                both = f"`{reading.given[name]}` and `{given}`"
                problem = f"{both} both mean `{name}` but differ: give one of them"
                raise UnreadableCallError(problem)
        else:
            reading.values[name] = value
            reading.given[name] = given
            if name != given and squash(name) != squash(given) and name in reading.schema.names:
                reading.remarks.append(f"`{given}` as `{name}`")


def _unwrap(reading: CallReading, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the arguments; those of `{"arguments": {...}}` are the inner ones."""
    if len(values) != 1:
        return values
    ((given, value),) = values.items()
    if squash(given) not in WRAPPERS or given in reading.schema.names:
        return values
    inner = json_value(value) if isinstance(value, str) else value
    if not isinstance(inner, dict):
        return values
    reading.remarks.append(f"the object in `{given}` as the arguments")
    return inner


class ArgumentNames:
    """Finds our argument by any of its names."""

    def __init__(self, schema: ToolSchema) -> None:
        self._schema = schema
        self._own = {squash(name): name for name in schema.names}

    def find(self, given: str, value: JsonValue = None) -> str | None:
        """Return our name, or that of a step towards it; None if it is unknown."""
        if given in self._schema.names:
            return given
        key = squash(given)
        if not key:
            return None
        name = self._own.get(key)
        if name is None:
            name = alias_table().arguments.get(self._schema.tool, {}).get(key)
        kind = as_object(self._schema.properties.get(name or "")).get("type")
        # `replace: true` is no text to replace something by.
        if isinstance(value, bool) and kind not in {None, "boolean"}:
            return "is_regex" if (name, key) == ("pattern", "regex") else None
        return name


def read_items(reading: CallReading, name: str, properties: Collection[str]) -> None:
    """Read the objects of a list under our names."""
    items = reading.values.get(name)
    if not isinstance(items, list):
        return
    list_name = f"{reading.tool}.{name}"
    own = {squash(each): each for each in properties}
    aliases = alias_table().arguments.get(list_name, {})
    silent = alias_table().comments.get(list_name, frozenset())
    read: list[JsonValue] = []
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            read.append(item)
            continue
        values: dict[str, JsonValue] = {}
        for given, value in item.items():
            key = squash(given)
            found = given if given in properties else own.get(key) or aliases.get(key)
            if value is None or (found is None and key in silent):
                continue
            if found is None or values.setdefault(found, value) != value:
                reading.unknown[f"{name}[{number}].{given}"] = value
        read.append(values)
    reading.values[name] = read


def reject_unknown(reading: CallReading, *, changes_something: bool) -> None:
    """Refuse a call that would run without something that it asks for; else name it.

    Raises:
        UnreadableCallError: An argument is unknown, and the call would change something or lacks
            an argument that this one may be.
    """
    if not reading.unknown:
        return
    table = alias_table()
    required = map(as_text, as_list(reading.schema.parameters.get("required")))
    is_incomplete = any(name not in reading.values for name in required)
    harmless = table.harmless.get(reading.tool, frozenset())
    negated = table.negated.get(reading.tool, frozenset())
    for given, value in reading.unknown.items():
        key = squash(given.rpartition(".")[2])
        nearest = _nearest_argument(reading, given)
        is_empty = value in ("", [], {}, "false") or (value is False and key not in negated)
        is_affirmed = value is True and key in negated
        is_needed = changes_something and not (is_empty or is_affirmed or key in harmless)
        if is_needed or (is_incomplete and nearest):
            raise UnreadableCallError(_describe_unknown(reading, given, nearest))
        reading.ignored.append(f"`{given}`" + (f" (the nearest is `{nearest}`)" if nearest else ""))


def _nearest_argument(reading: CallReading, given: str) -> str:
    """Return our argument that is spelt most like an unknown one; empty if none is."""
    names = [*reading.schema.properties]
    return next(iter(get_close_matches(given.lower(), names, n=1, cutoff=0.6)), "")


def _describe_unknown(reading: CallReading, given: str, nearest: str) -> str:
    names = [*reading.schema.properties]
    hint = f"; the nearest is `{nearest}`" if nearest else ""
    takes = ", ".join(names)
    return (
        f"{reading.tool} has no argument `{given}`{hint}. It takes {takes}. Nothing was done: make "
        f"the call again without `{given}`, or do what it asks for in another way."
    )


def json_value(text: str) -> JsonValue:
    """Return the value that a text holds as JSON; None if it does not."""
    try:
        return cast("JsonValue", json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return None


def is_text_list(value: JsonValue) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def texts(value: JsonValue) -> Sequence[str]:
    """Return the texts of a list."""
    return [each for each in as_list(value) if isinstance(each, str)]
