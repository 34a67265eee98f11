"""JSON schema of this server's config.yaml, for editors that complete and check it.

Generated from the settings table; a copy is published at `editors/config.schema.json`.
"""

from typing import cast

from pydantic import JsonValue, TypeAdapter
from pydantic.json_schema import JsonSchemaMode
from pydantic_core import to_jsonable_python

from acp_server.config.setting import SettingSource
from acp_server.config.table import (
    MODEL_KEY,
    Settings,
    setting_sources,
    setting_values,
    type_adapter,
)

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_Object = dict[str, JsonValue]
_AdapterRequest = tuple[str, JsonSchemaMode, TypeAdapter[object]]


def config_schema() -> _Object:
    """Return the JSON schema of a config.yaml."""
    keyed = {name: source for name, source in setting_sources().items() if source.key}
    requests: list[_AdapterRequest] = [(name, "validation", type_adapter(name)) for name in keyed]
    values, shared = TypeAdapter.json_schemas(requests)
    root, defaults = _object_schema(), setting_values(Settings())
    for name, source in keyed.items():
        value_schema = cast("_Object", values[(name, "validation")])
        described = _with_description(source, defaults[name], value_schema)
        _insert(root, source.key.split("."), described)
        for key in source.old_keys:
            old: _Object = {"description": f"Renamed to `{source.key}`.", "deprecated": True}
            _insert(root, key.split("."), old | cast("_Object", _without_titles(value_schema)))
    # `model: NAME` is a short form of `model.default: NAME`.
    sections = cast("_Object", root["properties"])
    short_section = MODEL_KEY.partition(".")[0]
    sections[short_section] = {"anyOf": [{"type": "string"}, sections[short_section]]}
    definitions = cast("_Object", shared.get("$defs", {}))
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "config.yaml of acp-server",
        **root,
        "$defs": cast("_Object", _without_titles(definitions)),
    }


def _object_schema() -> _Object:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _insert(root: _Object, parts: list[str], value: _Object) -> None:
    """Insert a value's schema at its dotted key."""
    *parents, last = parts
    for part in parents:
        known = cast("_Object", root["properties"])
        root = cast("_Object", known.setdefault(part, _object_schema()))
    cast("_Object", root["properties"])[last] = value


def _with_description(source: SettingSource, default_value: object, value: _Object) -> _Object:
    """Return a value's schema with its description and default."""
    also = f" (also the variable {source.variable})" if source.variable else ""
    described: _Object = {"description": f"{source.description}{also}."}
    default = cast("JsonValue", to_jsonable_python(default_value))
    if default not in (None, "", [], {}):
        described["default"] = default
    return described | cast("_Object", _without_titles(value))


def _without_titles(value: JsonValue) -> JsonValue:
    """Remove pydantic's generated `title` texts; keep properties that are named `title`."""
    match value:
        case dict():
            return {
                key: _without_titles(each)
                for key, each in value.items()
                if key != "title" or not isinstance(each, str)
            }
        case list():
            return [_without_titles(each) for each in value]
        case _:
            return value
