"""Frozen dataclasses as JSON and back: an object of their fields and their type's name.

Knows the types but not their meaning. A field annotated as `Mapping` is opaque and stays JSON;
every other array becomes a tuple. Objects of types that only a newer version knows are omitted and
logged.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import ClassVar, Protocol, cast, get_args, get_origin, get_type_hints

from pydantic import JsonValue

from acp_server.session.ports.archive import CallRecord, TaskMessage, TerminalRecord
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

logger = logging.getLogger(__name__)

TYPE = "type"
"""The member that names an object's type; no field has this name."""


class UnreadableError(ValueError):
    """A stored object has an unknown type, or lacks a required field."""


class Record(Protocol):
    """An instance of one of the dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


def encode(value: Record) -> str:
    """Return an object as JSON text, in which lone surrogates are kept.

    Raises:
        ValueError: its opaque part is not JSON.
    """
    try:
        # ensure_ascii=False keeps lone surrogates as they are; `rows` stores such text as bytes.
        return json.dumps(value, default=_members, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def decode(text: str) -> object:
    """Return the object that a JSON text encodes.

    Raises:
        UnreadableError: this version cannot read it.
    """
    try:
        return _value(json.loads(text))
    except UnreadableError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def types() -> Mapping[str, type[Record]]:
    """Return all types that can be encoded, by name."""
    return _types()


def _members(value: object) -> dict[str, object]:
    """Return a non-JSON value as an object; json calls this again for values inside it."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    kind = type(value)
    if kind.__name__ not in _types():
        message = f"{kind.__name__} is no type of history"
        raise TypeError(message)
    members: dict[str, object] = {TYPE: kind.__name__}
    members |= {name: getattr(value, name) for name in _names(kind)}
    return members


def _value(found: JsonValue) -> object:
    if isinstance(found, list):
        return tuple(_each(found))
    return _object(found) if isinstance(found, dict) else found


def _each(found: list[JsonValue]) -> Iterator[object]:
    for element in found:
        try:
            # One unknown part must not make the whole message unreadable.
            yield _value(element)
        except UnreadableError as error:
            logger.warning("left out of history: %s", error)


def _object(found: dict[str, JsonValue]) -> object:
    name = found.get(TYPE)
    kind = _types().get(str(name))
    if kind is None:
        problem = f"{name!r} is no type that this version knows"
        raise UnreadableError(problem)
    opaque, known = _opaque(kind), _names(kind)
    members = {
        # Most values are scalars: the check here halves the time of reading.
        name: _value(value) if isinstance(value, list | dict) and name not in opaque else value
        for name, value in found.items()
        # Fields that only a newer version knows are dropped.
        if name in known
    }
    try:
        return cast("Callable[..., object]", kind)(**members)
    # A required field is missing: it was written by another version.
    except TypeError as error:
        raise UnreadableError(str(error)) from None


@cache
def _types() -> dict[str, type[Record]]:
    found: dict[str, type[Record]] = {}
    pending: list[object] = [Message, Event, PromptReceived, CallRecord, TerminalRecord]
    pending.append(TaskMessage)
    while pending:
        kind = pending.pop()
        if not isinstance(kind, type):
            pending += get_args(kind)
        elif is_dataclass(kind) and kind.__name__ not in found:
            found[kind.__name__] = kind
            # Follows the annotations, so a new event or field type needs no registration here.
            pending += get_type_hints(kind).values()
    return found


@cache
def _names(kind: type[Record]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _opaque(kind: type[Record]) -> frozenset[str]:
    """Return the fields of a type that contain foreign JSON."""
    hints = get_type_hints(kind)
    return frozenset(name for name in hints if _is_mapping(hints[name]))


def _is_mapping(hint: object) -> bool:
    if isinstance(hint, UnionType):
        return any(map(_is_mapping, get_args(hint)))
    return get_origin(hint) is Mapping
