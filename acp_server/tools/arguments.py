"""Tool-call arguments: the JSON schema for the model, validation, and partial parsing.

Complete arguments become a pydantic model or an `ArgumentError` with one sentence for the model.
While the model is still streaming them, jiter parses the incomplete JSON leniently into
`PartialArguments`: the values that are complete, and the texts that are still growing.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, TypeVar, cast

import jiter
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.validation_errors import validation_reason
from acp_server.tools.stored_specs import StoredSchemas, class_key, stored_specs

ArgumentsT = TypeVar("ArgumentsT", bound="Arguments")

CHEAP_PARSE_CHARACTERS = 2_048
PARSE_INTERVAL_SECONDS = 0.05
"""Minimum seconds between two parses of long arguments.

Half of the shortest interval between two shown states (0.1 s), so that a parse that came slightly
too early does not delay the next visible state.
"""
OMITTED_SCHEMA_KEYS = ("title", "additionalProperties")
LIMIT_KEYS = frozenset((
    *("default", "minimum", "maximum", "exclusiveMinimum"),
    *("minLength", "maxLength", "maxItems"),
))  # fmt: skip
"""Keys that the model's schema lacks: defaults and limits are in the descriptions."""
MAX_PROBLEMS = 5


class Arguments(BaseModel):
    """Base class of all tool arguments and of objects in them.

    Unknown ones are named before: `dialects/reading.py`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


ExactText = Annotated[str, Field(strict=True)]
"""Text that a file will hold. A number is refused: as text, 1.10 would become 1.1."""


class ArgumentError(ValueError):
    """The arguments do not match the schema. The text tells the model which ones, and why."""


@cache
def json_schema_of(arguments: type[Arguments]) -> Mapping[str, JsonValue]:
    """Return the JSON schema of an arguments class, without the noise that no model needs.

    The result is cached and shared by all sessions: building the schemas of all tools takes longer
    than a turn. It is the stored one if there is one.
    """
    stored = _stored(arguments)
    return build_json_schema(arguments) if stored is None else stored.full


def build_json_schema(arguments: type[Arguments]) -> Mapping[str, JsonValue]:
    """Build the schema of `json_schema_of`."""
    schema: JsonValue = arguments.model_json_schema()
    return cast("Mapping[str, JsonValue]", _strip_noise(schema))


@cache
def model_schema_of(arguments: type[Arguments]) -> Mapping[str, JsonValue]:
    """Return the JSON schema as the model gets it: without limits, and without references.

    Numbers out of range are clamped, and each key costs tokens in every request.
    """
    stored = _stored(arguments)
    return build_model_schema(build_json_schema(arguments)) if stored is None else stored.model


def build_model_schema(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Build the schema of `model_schema_of` from the other one."""
    definitions = cast("Mapping[str, JsonValue]", schema.get("$defs", {}))
    plain = {name: each for name, each in schema.items() if name != "$defs"}
    return cast("Mapping[str, JsonValue]", _without_limits(plain, definitions))


def _stored(arguments: type[Arguments]) -> StoredSchemas | None:
    stored = stored_specs()
    return None if stored is None else stored.schemas.get(class_key(arguments))


def _without_limits(value: JsonValue, definitions: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, list):
        return [_without_limits(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str):
        return _without_limits(definitions[reference.rpartition("/")[2]], definitions)
    # A property may have such a name; then its value is an object.
    kept = {k: each for k, each in value.items() if k not in LIMIT_KEYS or isinstance(each, dict)}
    return {name: _without_limits(each, definitions) for name, each in kept.items()}


def _strip_noise(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_strip_noise(item) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned = {
        name: each
        for name, each in value.items()
        # A property may have such a name; then its value is an object.
        if name not in OMITTED_SCHEMA_KEYS or isinstance(each, dict)
    }
    if "properties" in cleaned:
        # pydantic copies our class docstring here; the model must not see it.
        cleaned.pop("description", None)
    options = cleaned.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:  # leaving it out means the same
        cleaned = {name: each for name, each in cleaned.items() if name not in {"anyOf", "default"}}
        cleaned |= cast("dict[str, JsonValue]", options[0])
    return {name: _strip_noise(each) for name, each in cleaned.items()}


def validate_arguments(arguments: type[ArgumentsT], values: Mapping[str, JsonValue]) -> ArgumentsT:
    """Validate the arguments of a call. A null counts as an absent argument.

    Raises:
        ArgumentError: They do not match the schema.
    """
    present = {name: value for name, value in values.items() if value is not None}
    try:
        return arguments.model_validate(present)
    except ValidationError as error:
        raise ArgumentError(_describe_errors(error)) from None


def _describe_errors(error: ValidationError) -> str:
    problems: list[str] = []
    for each in error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]:
        location = ".".join(str(part) for part in each["loc"])
        problems.append(f"`{location}` {validation_reason(each)}")
    more = error.error_count() - len(problems)
    problems += [f"and {more} more"] if more else []
    return f"{'; '.join(problems)}. Nothing was done: make the call again."


@frozen_dataclass
class PartialArguments:
    """Arguments parsed from incomplete JSON: complete values, and texts that are still growing.

    A list or an object counts as complete from its first character, with the items read so far.
    """

    complete: Mapping[str, JsonValue]
    incomplete: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a text argument as far as it was received; empty if there is none."""
        value = self.complete.get(name, self.incomplete.get(name, ""))
        return value if isinstance(value, str) else ""

    def complete_text(self, name: str) -> str | None:
        """Return a text argument if it is complete and not empty, else None."""
        value = self.complete.get(name)
        return value if isinstance(value, str) and value else None


class ArgumentBuffer:
    """Buffer for streamed arguments, which arrive as fragments of JSON text."""

    def __init__(self) -> None:
        self._fragments: list[str] = []
        self._characters = 0
        self._parsed_at = float("-inf")

    def write(self, fragment: str) -> None:
        """Append a fragment of JSON text."""
        self._fragments.append(fragment)
        self._characters += len(fragment)

    def is_due(self, now_seconds: float) -> bool:
        """Whether to parse now: always for short text, then every `PARSE_INTERVAL_SECONDS`.

        Each parse starts from the beginning, so parsing after every fragment would be quadratic.
        """
        if (
            self._characters > CHEAP_PARSE_CHARACTERS
            and now_seconds - self._parsed_at < PARSE_INTERVAL_SECONDS
        ):
            return False
        self._parsed_at = now_seconds
        return True

    def parse(self) -> PartialArguments:
        """Parse the text received so far; return empty arguments if it cannot be parsed."""
        data = "".join(self._fragments).encode(errors="surrogatepass")
        self._fragments = [data.decode(errors="surrogatepass")]
        try:
            complete = cast("object", jiter.from_json(data, partial_mode=True))
            with_partial_texts = cast(
                "object", jiter.from_json(data, partial_mode="trailing-strings")
            )
        except ValueError:
            return PartialArguments({}, {})
        if not isinstance(complete, dict) or not isinstance(with_partial_texts, dict):
            return PartialArguments({}, {})
        complete_values = cast("dict[str, JsonValue]", complete)
        texts = cast("dict[str, JsonValue]", with_partial_texts).items()
        incomplete = {k: v for k, v in texts if k not in complete_values and isinstance(v, str)}
        last_value = next(reversed(complete_values.values()), None)
        if data[-1:].isdigit() and type(last_value) in {int, float}:
            complete_values.popitem()  # `12` may be the start of `123`: more digits may follow
        return PartialArguments(complete_values, incomplete)
