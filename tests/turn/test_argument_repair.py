"""Arguments that are almost JSON: read where one reading is left, and sent back valid."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.models.openai_compatible.message_parts import arguments_json
from acp_server.text.json_repair import load_object
from acp_server.turn.conversation import ToolCall, parse_arguments
from tests.support.user_texts import NOT_VALID_JSON

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(), values, min_size=1, max_size=4)


@given(objects)
def test_valid_json_is_read_as_it_is(value: dict[str, JsonValue]) -> None:
    assert load_object(json.dumps(value)) == (value, "")


@given(objects)
def test_slips_around_the_values_change_no_value(value: dict[str, JsonValue]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    slips = [f"{text[:-1]}, }}", f"{{{text}}}", f"{{}}{text}", f"[{text}]", json.dumps(text)]
    for slip in slips:
        read, mended = load_object(slip)
        assert read == value
        assert mended


@given(st.text())
def test_raw_control_characters_stand_for_themselves(content: str) -> None:
    escaped = content.replace("\\", "\\\\").replace('"', '\\"')
    assert load_object(f'{{"content": "{escaped}"}}')[0] == {"content": content}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        '{"a": "b',
        "{a: 1}",
        "{'a': 1}",
        '{"a": 1} {"a": 2}',
        r'{"a": "\d\n"}',
        '{"a": ,}',
    ],
)
def test_what_could_be_meant_in_two_ways_is_not_mended(text: str) -> None:
    with pytest.raises(ValueError, match=NOT_VALID_JSON):
        parse_arguments(ToolCall("1", "read_file", text))


@pytest.mark.parametrize("text", ["[]", "1", '"text"', "[1, 2]", "null"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        parse_arguments(ToolCall("1", "read_file", text))


def test_an_endpoint_is_sent_valid_json() -> None:
    assert arguments_json(ToolCall("1", "read_file", '{ "a":1 }')) == '{ "a":1 }'
    assert arguments_json(ToolCall("1", "read_file", '{"a": 1,}')) == '{"a": 1}'
    assert arguments_json(ToolCall("1", "read_file", '{"a": 1')) == "{}"
    assert arguments_json(ToolCall("1", "read_file", "")) == "{}"
