"""What is told of a call has bounds, whatever the model or a tool made up."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.tools.call_reporter import MAX_RAW_TOTAL_CHARACTERS, CallReporter, truncate_raw
from acp_server.turn.events import CallChanged, Location
from tests.turn.fake_sinks import MemorySink

MOST_JSON_CHARACTERS = 8 * MAX_RAW_TOTAL_CHARACTERS
"""A character may take six in JSON; brackets and the remarks on what was cut come on top."""

sizes = st.recursive(
    st.none() | st.integers(0, 20_000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=10,
)


def inflated(value: JsonValue) -> JsonValue:
    """Return the value with texts of such lengths for numbers, and lists 60 times as long."""
    match value:
        case int():
            return "\0" * value
        case list():
            return [inflated(item) for item in value] * 60
        case dict():
            return {name: inflated(item) for name, item in value.items()}
        case _:
            return value


def test_small_values_are_reported_unchanged() -> None:
    values: dict[str, JsonValue] = {"a": "text", "b": [1, None, {"c": True}], "d": {}}
    assert truncate_raw(values) == values


def test_a_long_text_is_truncated_and_its_length_reported() -> None:
    assert truncate_raw({"a": "x" * 5_000}) == {"a": f"{'x' * 1_000}… (5,000 characters)"}


def test_a_long_list_is_truncated_to_its_beginning() -> None:
    many: list[JsonValue] = list(range(100))
    assert truncate_raw({"a": many}) == {"a": many[:50]}


@given(st.dictionaries(st.text(max_size=9), sizes))
def test_any_reported_value_is_bounded(sizes: dict[str, JsonValue]) -> None:
    raw = {name: inflated(size) for name, size in sizes.items()}
    assert len(json.dumps(truncate_raw(raw))) < MOST_JSON_CHARACTERS


def test_reported_names_are_bounded() -> None:
    raw: dict[str, JsonValue] = {f"{number}{'x' * 5_000}": number for number in range(1_000)}
    assert len(json.dumps(truncate_raw({"a": raw}))) < MOST_JSON_CHARACTERS


async def test_only_title_changes_are_reported_as_one_bounded_line() -> None:
    sink = MemorySink()
    report = CallReporter("call", sink)
    locations = (Location("/a"),)
    await report.describe("Read a", locations)
    await report.describe("Read a", locations)
    await report.describe("Read\na", locations)
    await report.describe("x" * 1_000, ())
    assert sink.events == [
        CallChanged("call", title="Read a", locations=locations),
        CallChanged("call", title=f"{'x' * 300}…", locations=()),
    ]
