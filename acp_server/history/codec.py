"""Frozen dataclasses as JSON and back: an object of their fields and their type's name.

Knows the types but not their meaning. A field annotated as `Mapping` is opaque and stays JSON;
every other array becomes a tuple. Objects of types that only a newer version knows are omitted and
logged.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import ClassVar, Protocol, cast, get_args, get_origin, get_type_hints

from pydantic import JsonValue

from acp_server.session.ports.archive import CallRecord, TerminalRecord, UnshownRecord
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

logger = logging.getLogger(__name__)

TYPE_KEY = "type"
"""The member that names an object's type; no field has this name."""


class UnreadableRecordError(ValueError):
    """A stored object has an unknown type, or lacks a required field."""


class HistoryRecord(Protocol):
    """An instance of one of the dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


def encode(value: HistoryRecord) -> str:
    """Return an object as JSON text, in which lone surrogates are kept.

    Raises:
        ValueError: its opaque part is not JSON.
    """
    try:
        # ensure_ascii=False keeps lone surrogates as they are; `rows` stores such text as bytes.
        return json.dumps(value, default=_to_members, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def decode(text: str) -> object:
    """Return the object that a JSON text encodes.

    Raises:
        UnreadableRecordError: this version cannot read it.
    """
    try:
        return _from_json(json.loads(text))
    except UnreadableRecordError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableRecordError(str(error)) from None


@cache
def record_types() -> Mapping[str, type[HistoryRecord]]:
    """Return all types that can be encoded, by name."""
    found: dict[str, type[HistoryRecord]] = {}
    pending: list[object] = [Message, Event, PromptReceived, CallRecord, TerminalRecord]
    pending += [UnshownRecord]
    while pending:
        kind = pending.pop()
        if not isinstance(kind, type):
            pending += get_args(kind)
        elif is_dataclass(kind) and kind.__name__ not in found:
            found[kind.__name__] = kind
            # Follows the annotations, so a new event or field type needs no registration here.
            pending += get_type_hints(kind).values()
    return found


def _to_members(value: object) -> dict[str, object]:
    """Return a non-JSON value as an object; json calls this again for values inside it."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    kind = type(value)
    if kind.__name__ not in record_types():
        message = f"{kind.__name__} is no type of history"
        raise TypeError(message)
    members: dict[str, object] = {TYPE_KEY: kind.__name__}
    members |= {name: getattr(value, name) for name in _field_names(kind)}
    return members


def _from_json(found: JsonValue) -> object:
    if isinstance(found, dict):
        return _from_json_object(found)
    if not isinstance(found, list):
        return found
    elements: list[object] = []
    for element in found:
        try:
            # One unknown part must not make the whole message unreadable.
            elements.append(_from_json(element))
        except UnreadableRecordError as error:
            logger.warning("left out of history: %s", error)
    return tuple(elements)


def _from_json_object(found: dict[str, JsonValue]) -> object:
    name = found.get(TYPE_KEY)
    kind = record_types().get(str(name))
    if kind is None:
        problem = f"{name!r} is no type that this version knows"
        raise UnreadableRecordError(problem)
    opaque, known = _opaque_fields(kind), _field_names(kind)
    members = {
        # Most values are scalars: the check here halves the time of reading.
        name: _from_json(value) if isinstance(value, list | dict) and name not in opaque else value
        for name, value in found.items()
        # Fields that only a newer version knows are dropped.
        if name in known
    }
    try:
        return cast("Callable[..., object]", kind)(**members)
    # A required field is missing: it was written by another version.
    except TypeError as error:
        raise UnreadableRecordError(str(error)) from None


@cache
def _field_names(kind: type[HistoryRecord]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _opaque_fields(kind: type[HistoryRecord]) -> frozenset[str]:
    """Return the fields of a type that contain foreign JSON."""
    hints = get_type_hints(kind)
    return frozenset(name for name in hints if _is_mapping(hints[name]))


def _is_mapping(hint: object) -> bool:
    if isinstance(hint, UnionType):
        return any(map(_is_mapping, get_args(hint)))
    return get_origin(hint) is Mapping
