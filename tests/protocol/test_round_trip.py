"""Whatever is valid by the published schema is read without loss, and written as valid again."""

import json
from functools import cache
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import HealthCheck, assume, given, settings
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from tests.protocol.instances import UNKNOWN_KEY, instances
from tests.protocol.pairing import COMPLETE, adapter
from tests.support.case_table import each_case
from tests.support.published_schema import JsonObject, schema_errors

UNKNOWN_TO_PYTHON_SDK = {"notice", "compaction_update", "compaction_summary_chunk"}
"""Updates that became stable after the newest release of the Python SDK."""


@each_case("definition", COMPLETE)
def test_valid_values_survive_a_round_trip(definition: str) -> None:
    check_round_trips(definition, 2)


@pytest.mark.full
@each_case("definition", COMPLETE)
def test_many_valid_values_survive_a_round_trip(definition: str) -> None:
    check_round_trips(definition, 200)


def check_round_trips(definition: str, examples: int) -> None:
    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )
    @given(instances(definition))
    def check(value: JsonValue) -> None:
        assume(not _has_empty_directory(value))

        read = adapter(definition).validate_python(value, by_name=False)
        written: JsonValue = json.loads(adapter(definition).dump_json(read))

        assert _lost(value, written) == []
        assert schema_errors(definition, written) == []
        assert _python_sdk_faults(definition, written) == []
        assert adapter(definition).validate_python(written, by_name=False) == read

    check()


@cache
def _python_sdk() -> ModuleType:
    """Return the schema of the Python SDK, which takes a second to import: not in every worker."""
    return import_module("acp.schema")


def _python_sdk_faults(definition: str, written: JsonValue) -> list[ErrorDetails]:
    """What the Python SDK has against a value, if it knows the definition and the variant."""
    theirs = getattr(_python_sdk(), definition, None)
    is_newer = isinstance(written, dict) and _update_kind(written) in UNKNOWN_TO_PYTHON_SDK
    if not (isinstance(theirs, type) and issubclass(theirs, BaseModel)) or is_newer:
        return []
    try:
        theirs.model_validate(written)
    except ValidationError as error:
        return error.errors()
    return []


def _update_kind(notification: JsonObject) -> JsonValue:
    update = notification.get("update")
    return update.get("sessionUpdate") if isinstance(update, dict) else None


def _has_empty_directory(value: JsonValue) -> bool:
    """Whether the deviation for additional directories makes an error of a valid value."""
    directories = value.get("additionalDirectories") if isinstance(value, dict) else None
    return isinstance(directories, list) and "" in directories


def _lost(original: JsonValue, written: JsonValue, path: str = "$") -> list[str]:
    """Where something that was given is not in what was written; null and empty are nothing."""
    if isinstance(original, dict) and isinstance(written, dict):
        return [
            fault
            for key, value in original.items()
            if not (key == UNKNOWN_KEY or (key not in written and value in (None, [], {})))
            for fault in _lost(value, written.get(key), f"{path}.{key}")
        ]
    if isinstance(original, list) and isinstance(written, list):
        pairs = zip(original, written, strict=True)
        return [fault for pair in pairs for fault in _lost(*pair, f"{path}[]")]
    same = original == written and isinstance(original, bool) == isinstance(written, bool)
    return [] if same else [f"{path}: {original!r} became {written!r}"]
