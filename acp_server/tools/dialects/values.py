"""Fits values to the schema of a tool where nothing is guessed. Pure."""

from collections.abc import Mapping

from pydantic import JsonValue

from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.tools.dialects.reading import CallReading, json_value
from acp_server.tools.dialects.table import alias_table, squash


def fit_values(reading: CallReading) -> None:
    """Fit each value to its schema; what does not fit then is left for the refusal."""
    for name, value in [*reading.values.items()]:
        schema = as_object(reading.schema.properties.get(name))
        kind = schema.get("type")
        if kind == "array":
            reading.values[name] = _fit_list(value, as_object(schema.get("items")))
        elif kind in {"integer", "number"}:
            _fit_number(reading, name, schema)
        elif "enum" in schema and isinstance(value, str) and value not in as_list(schema["enum"]):
            fitted = _fit_word(reading, name, value, schema)
            if fitted is not None:
                reading.values[name] = fitted
                reading.remarks.append(f"`{name}` {value!r} as {fitted!r}")


def _fit_list(value: JsonValue, items: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, str):
        parsed = json_value(value)
        if isinstance(parsed, list | dict):
            value = parsed
        elif value and items.get("type") == "string":
            return [value]
    return [value] if isinstance(value, dict) else value


def _fit_number(reading: CallReading, name: str, schema: Mapping[str, JsonValue]) -> None:
    value = reading.values[name]
    number = json_value(value.strip()) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return
    fitted: float | None = None
    least, most, bound = (schema.get(key) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if isinstance(least, int | float) and number < least:
        fitted = least
    elif isinstance(most, int | float) and number > most:
        fitted = most
    elif isinstance(bound, int | float) and number <= bound:
        del reading.values[name]
        reading.note(name, f"the default {schema.get('default')}: it must be above {bound:g}")
        return
    if fitted is not None:
        reading.values[name] = fitted
        reading.remarks.append(f"`{name}` {number:,} as {fitted:,}")


def _fit_word(
    reading: CallReading, name: str, value: str, schema: Mapping[str, JsonValue]
) -> str | None:
    key = squash(value)
    own = [as_text(each) for each in as_list(schema["enum"]) if squash(as_text(each)) == key]
    return own[0] if own else alias_table().values.get(reading.tool, {}).get(name, {}).get(key)
