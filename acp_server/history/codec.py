"""Frozen dataclasses as JSON and back: an object of their fields and their type's name.

Knows the types but not their meaning. A field annotated as `Mapping` is opaque and stays JSON;
every other array becomes a tuple. Objects of types that only a newer version knows are omitted and
logged.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import ClassVar, Literal, Protocol, cast, get_args, get_origin, get_type_hints

from pydantic import JsonValue
from pydantic_core import from_json

from acp_server.session.ports.archive import CallRecord, TerminalRecord, UnshownRecord
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

logger = logging.getLogger(__name__)

TYPE_KEY = "type"
"""The member that names an object's type; no field has this name."""


_SCALARS: Sequence[object] = (str, int, float, bool, NoneType)


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
        return _from_json(_parse(text))
    except UnreadableRecordError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableRecordError(str(error)) from None


def decode_or_none(text: str) -> object:
    """Return the object that a JSON text encodes; None, with a log, if it cannot be read."""
    try:
        return decode(text)
    except UnreadableRecordError as error:
        logger.warning("left out of history: %s", error)
        return None


def _parse(text: str) -> JsonValue:
    try:
        # Takes a third less time, but neither lone surrogates nor deep values.
        return from_json(text, cache_strings="keys")
    except (ValueError, TypeError):
        return cast("JsonValue", json.loads(text))


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
    form = _stored_form(str(found.pop(TYPE_KEY, None)))
    if not found.keys() <= form.fields:  # fields that only a newer version knows
        found = {name: value for name, value in found.items() if name in form.fields}
    members = cast("dict[str, object]", found)
    # Most fields are scalars, which need no look.
    for name in form.nested:
        value = found.get(name)
        if isinstance(value, list | dict):
            members[name] = _from_json(value)
    try:
        return form.build(**members)
    # A required field is missing: it was written by another version.
    except TypeError as error:
        raise UnreadableRecordError(str(error)) from None


@dataclass(frozen=True, slots=True)
class _StoredForm:
    """The stored form of a type."""

    build: Callable[..., object]
    fields: frozenset[str]
    nested: tuple[str, ...]
    """Fields that may hold other stored types."""


@cache
def _stored_form(name: str) -> _StoredForm:
    kind = record_types().get(name)
    if kind is None:
        problem = f"{name!r} is no type that this version knows"
        raise UnreadableRecordError(problem)
    hints = get_type_hints(kind)
    nested = (
        each for each in hints if not _is_mapping(hints[each]) and not _is_scalar(hints[each])
    )
    build = cast("Callable[..., object]", kind)
    return _StoredForm(build, frozenset(_field_names(kind)), tuple(nested))


@cache
def _field_names(kind: type[HistoryRecord]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _is_mapping(hint: object) -> bool:
    if isinstance(hint, UnionType):
        return any(map(_is_mapping, get_args(hint)))
    return get_origin(hint) is Mapping


def _is_scalar(hint: object) -> bool:
    if isinstance(hint, UnionType):
        return all(map(_is_scalar, get_args(hint)))
    return get_origin(hint) is Literal or any(hint is each for each in _SCALARS)
