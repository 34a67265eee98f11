"""Objects of history as JSON and back."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import JsonValue

from acp_server.history.codec import (
    HistoryRecord,
    UnreadableRecordError,
    decode,
    encode,
    record_types,
)
from acp_server.history.rows import text_from_column, text_to_column
from acp_server.session.ports.archive import CallRecord, TerminalRecord
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.events import CallAppeared, CallChanged
from tests.history.samples import TEXTS, instances_of


@given(
    some.sampled_from(sorted(record_types())).flatmap(
        lambda name: instances_of(record_types()[name])
    )
)
def test_every_object_survives_a_round_trip(value: HistoryRecord) -> None:
    assert decode(text_from_column(text_to_column(encode(value)))) == value


@given(TEXTS)
def test_every_text_survives_a_column_round_trip(text: str) -> None:
    assert text_from_column(text_to_column(text)) == text


def test_all_recorded_objects_have_a_type() -> None:
    assert {"UserMessage", "PromptReceived", "CallRecord", "PlanEntry", "FileDiff"} <= set(
        record_types()
    )


def test_foreign_json_is_unchanged_whatever_it_looks_like() -> None:
    raw: dict[str, JsonValue] = {"type": "Text", "text": ["a", {"type": "nothing"}]}
    record = CallRecord(CallAppeared("c", "n"), CallChanged("c", raw_input=raw))
    assert decode(encode(record)) == record


def test_parts_of_an_unknown_type_are_omitted(caplog: pytest.LogCaptureFixture) -> None:
    body = json.loads(encode(UserMessage((Text("a"), Text("b")))))
    body["parts"][0]["type"] = "Hologram"
    with caplog.at_level(logging.WARNING):
        assert decode(json.dumps(body)) == UserMessage((Text("b"),))
    assert "Hologram" in caplog.text


def test_fields_of_another_version_are_ignored_or_get_their_defaults() -> None:
    body = json.loads(encode(TerminalRecord("t", "/", "data", 1)))
    del body["exit_code"]
    body["colour"] = {"red": [1]}
    assert decode(json.dumps(body)) == TerminalRecord("t", "/", "data")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="no JSON"),
        pytest.param('{"type":"Hologram"}', id="unknown type"),
        pytest.param('{"text":"a"}', id="no type"),
        pytest.param('{"type":["Text"]}', id="a type that is no name"),
        pytest.param('{"type":"Text"}', id="a field is missing"),
        pytest.param("[" * 100_000, id="nested too deeply"),
    ],
)
def test_undecodable_data_is_refused(text: str) -> None:
    with pytest.raises(UnreadableRecordError):
        decode(text)


@pytest.mark.parametrize(
    "raw", [pytest.param({"a": object()}, id="an object"), pytest.param({"a": {1, 2}}, id="a set")]
)
def test_a_value_that_is_not_json_cannot_be_written(raw: dict[str, object]) -> None:
    value = CallChanged("c", raw_input=raw)  # pyright: ignore[reportArgumentType] - on purpose
    with pytest.raises(ValueError, match="no type of history"):
        encode(value)
