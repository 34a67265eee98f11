"""Sample sessions for tests of the archive, and strategies for all record types."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast, get_args, get_origin, get_type_hints

from hypothesis import strategies as some
from pydantic import JsonValue

from acp_server.history.codec import HistoryRecord
from acp_server.session.ports.archive import SessionFacts
from acp_server.turn.conversation import AssistantMessage, Text, UserMessage

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = some.text(some.characters(), max_size=20)
"""Texts that include lone surrogates and NUL."""
JSON: some.SearchStrategy[JsonValue] = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | TEXTS,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def make_facts(session_id: str = "one", minute: int = 0, cwd: str = "/project") -> SessionFacts:
    """Return the facts of a session that was last used `minute` minutes after noon."""
    return SessionFacts(session_id, Path(cwd), NOON, NOON + timedelta(minutes=minute))


def user_message(text: str) -> UserMessage:
    """Return a user message."""
    return UserMessage((Text(text),))


def assistant_message(text: str) -> AssistantMessage:
    """Return an assistant message."""
    return AssistantMessage((Text(text),))


def instances_of(kind: type[HistoryRecord]) -> some.SearchStrategy[HistoryRecord]:
    """Return a strategy for instances of a dataclass, from its field annotations."""
    hints = get_type_hints(kind)
    members = {field.name: _strategy_for(hints[field.name]) for field in fields(kind)}
    return some.builds(kind, **members)


def _strategy_for(hint: object) -> some.SearchStrategy[object]:
    if get_origin(hint) is Mapping:
        return some.dictionaries(TEXTS, JSON, max_size=3)
    if get_origin(hint) is tuple:
        return some.lists(_strategy_for(get_args(hint)[0]), max_size=3).map(tuple)
    if isinstance(hint, type):
        return _strategy_for_type(hint)
    arguments = cast("tuple[object, ...]", get_args(hint))
    if all(isinstance(argument, str) for argument in arguments):
        return some.sampled_from(arguments)
    return some.one_of([_strategy_for(argument) for argument in arguments])


def _strategy_for_type(kind: type[object]) -> some.SearchStrategy[object]:
    if kind is str:
        return TEXTS
    if kind is float:
        return some.floats(allow_nan=False)
    if hasattr(kind, "__dataclass_fields__"):
        return instances_of(cast("type[HistoryRecord]", kind))
    return some.from_type(kind)
