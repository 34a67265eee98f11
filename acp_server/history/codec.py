"""Frozen dataclasses as JSON and back: each is an object of its fields and the name of its type.

Knows which types there are, not what they mean. What a field calls a `Mapping` is opaque and stays
JSON; every other array is a tuple. A newer version may have written types that are not known here:
these are left out, with a line in the log.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import ClassVar, Protocol, cast, get_args, get_origin, get_type_hints

from pydantic import JsonValue

from acp_server.session.records import CallRecord, TaskMessage, TerminalRecord
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

logger = logging.getLogger(__name__)

TYPE = "type"
"""The member that names an object's type; no field is called so."""


class UnreadableError(ValueError):
    """What was written is of no type, or lacks a field, that is known here."""


class Record(Protocol):
    """An object of one of the dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


def encode(value: Record) -> str:
    """Return an object as JSON text, in which halves of characters stand as they are.

    Raises:
        ValueError: its opaque part is no JSON.
    """
    try:
        return json.dumps(value, default=_members, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def decode(text: str) -> object:
    """Return the object that a text was made of.

    Raises:
        UnreadableError: it cannot be read here.
    """
    try:
        return _value(json.loads(text))
    except UnreadableError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def types() -> Mapping[str, type[Record]]:
    """Return all types that can be written, by their names."""
    return _types()


def _members(value: object) -> dict[str, object]:
    """Return what JSON has no word for as an object; what is inside is asked for in its turn."""
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
        # Most are plain: asking first halves the time that reading takes.
        name: _value(value) if isinstance(value, list | dict) and name not in opaque else value
        for name, value in found.items()
        if name in known
    }
    try:
        return cast("Callable[..., object]", kind)(**members)
    except TypeError as error:  # a field is missing
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
            pending += get_type_hints(kind).values()
    return found


@cache
def _names(kind: type[Record]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _opaque(kind: type[Record]) -> frozenset[str]:
    """Return the fields of a type that hold JSON of others."""
    hints = get_type_hints(kind)
    return frozenset(name for name in hints if _is_mapping(hints[name]))


def _is_mapping(hint: object) -> bool:
    if isinstance(hint, UnionType):
        return any(map(_is_mapping, get_args(hint)))
    return get_origin(hint) is Mapping
