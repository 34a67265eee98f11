"""The shape of a final answer."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.headless.run.answer_schema import (
    AnswerSchema,
    AnswerSchemaError,
    correction_prompt,
    load_answer_schema,
    strip_code_fence,
)
from acp_server.headless.run.findings import (
    ReviewFinding,
    findings_schema,
    is_at_least,
    sort_findings,
)

NO_PROBLEMS: tuple[str, ...] = ()
SHAPE = AnswerSchema(
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
)


CASES: list[tuple[str, tuple[JsonValue, tuple[str, ...]]]] = [
    ('{"a": 1}', ({"a": 1}, NO_PROBLEMS)),
    ('```json\n{"a": 1}\n```', ({"a": 1}, NO_PROBLEMS)),
    ('{"a": "1"}', ({"a": "1"}, ("$.a: '1' is not of type 'integer'",))),
    ("{}", ({}, ("$: 'a' is a required property",))),
]


@pytest.mark.parametrize(
    ("text", "read"),
    CASES,
    ids=["right", "fenced", "wrong type", "missing"],
)
def test_an_answer_is_validated_against_its_schema(text: str, read: object) -> None:
    assert SHAPE.parse(text) == read


@pytest.mark.parametrize(
    "text", ["Done.", "", "NaN", "[" * 5000], ids=["words", "none", "NaN", "deep"]
)
def test_an_answer_that_is_not_json_is_reported(text: str) -> None:
    value, problems = SHAPE.parse(text)
    assert value is None
    assert problems[0].startswith("it is not JSON")


def test_the_model_is_given_the_schema_and_the_validation_errors() -> None:
    assert '"required"' in SHAPE.add_to_prompt("Count")
    assert "- $.a: wrong" in correction_prompt(("$.a: wrong",))


@pytest.mark.parametrize("text", ["{", "[]", '{"type": "thing"}'], ids=["JSON", "array", "type"])
def test_an_invalid_schema_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "schema.json"
    file.write_text(text)
    with pytest.raises(AnswerSchemaError, match=r"schema\.json"):
        load_answer_schema(file)


def test_findings_have_a_schema_and_a_sort_order() -> None:
    found = [
        ReviewFinding(path="far.py", severity="error", title="e"),
        ReviewFinding(path="near.py", severity="note", title="n"),
        ReviewFinding(path="near.py", severity="error", line=9, title="e"),
    ]
    answer = json.dumps({"findings": [each.model_dump(mode="json") for each in found]})
    assert findings_schema().parse(answer)[1] == ()
    assert sort_findings(found, ["near.py"]) == [found[2], found[1], found[0]]
    assert [is_at_least(each, "warning") for each in found] == [True, False, True]


def test_a_text_without_a_fence_is_unchanged() -> None:
    assert strip_code_fence(" a ```b``` ") == "a ```b```"
