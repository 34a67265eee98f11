"""Arguments of calls: their schema as the model sees it, and their reading, whole or half.

Whole arguments become a pydantic model or one sentence that says what is wrong. Half of them, while
they are still being written, are read leniently by jiter: what is complete, and what still grows.
"""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar, cast

import jiter
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from acp_server.frozen import frozen

A = TypeVar("A", bound="Arguments")

SMALL_CHARACTERS = 2_048
READ_SECONDS = 0.05
"""Half of what may be shown as often: a state is not missed because it was read too early."""
NOISE = ("title", "additionalProperties")
MOST_PROBLEMS = 5


class Arguments(BaseModel):
    """Base of all arguments; what a model made up beside them is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class ArgumentError(ValueError):
    """Arguments that do not fit; the text tells the model which, and why."""


@cache
def schema_of(arguments: type[Arguments]) -> Mapping[str, JsonValue]:
    """Return the JSON schema of arguments, without what no model needs.

    All sessions share it: to make those of all tools takes longer than a turn.
    """
    schema: JsonValue = arguments.model_json_schema()
    return cast("Mapping[str, JsonValue]", _lean(schema))


def _lean(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_lean(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: each for name, each in value.items() if not _is_noise(name, each)}
    if "properties" in kept:  # a docstring of ours, not for the model
        kept.pop("description", None)
    options = kept.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:  # absent says the same
        kept = {name: each for name, each in kept.items() if name not in {"anyOf", "default"}}
        kept |= cast("dict[str, JsonValue]", options[0])
    return {name: _lean(each) for name, each in kept.items()}


def _is_noise(name: str, value: JsonValue) -> bool:
    return name in NOISE and not isinstance(value, dict)  # a property may have such a name


def read_arguments(arguments: type[A], values: Mapping[str, JsonValue]) -> A:
    """Return the arguments of a call.

    Raises:
        ArgumentError: they do not fit.
    """
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return arguments.model_validate(given)
    except ValidationError as error:
        raise ArgumentError(_explained(error)) from None


def _explained(error: ValidationError) -> str:
    problems: list[str] = []
    for each in error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]:
        place = ".".join(str(part) for part in each["loc"])
        problems.append(f"{place}: {each['msg']}" if place else each["msg"])
    more = error.error_count() - len(problems)
    problems += [f"and {more} more"] if more else []
    return f"the arguments do not fit ({'; '.join(problems)}); make the call again"


@frozen
class SoFar:
    """Half the arguments: the values that are complete, and the text of the one that grows.

    A list or an object counts as complete from its beginning, with what is there of it.
    """

    complete: Mapping[str, JsonValue]
    growing: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return what is there of a text, complete or not."""
        value = self.complete.get(name, self.growing.get(name, ""))
        return value if isinstance(value, str) else ""

    def whole(self, name: str) -> str | None:
        """Return a text that is complete and not empty."""
        value = self.complete.get(name)
        return value if isinstance(value, str) and value else None


class ArgumentStream:
    """Arguments as they arrive, in fragments of JSON text."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._characters = 0
        self._read_at = float("-inf")

    def write(self, fragment: str) -> None:
        """Take more."""
        self._pieces.append(fragment)
        self._characters += len(fragment)

    def is_due(self, now_seconds: float) -> bool:
        """Whether reading is worth it: always while it is cheap, then now and then."""
        if self._characters > SMALL_CHARACTERS and now_seconds - self._read_at < READ_SECONDS:
            return False
        self._read_at = now_seconds
        return True

    def read(self) -> SoFar:
        """Return what is there; nothing while it cannot be read."""
        data = "".join(self._pieces).encode(errors="surrogatepass")
        self._pieces = [data.decode(errors="surrogatepass")]
        try:
            complete = cast("object", jiter.from_json(data, partial_mode=True))
            seen = cast("object", jiter.from_json(data, partial_mode="trailing-strings"))
        except ValueError:
            return SoFar({}, {})
        if not isinstance(complete, dict) or not isinstance(seen, dict):
            return SoFar({}, {})
        whole = cast("dict[str, JsonValue]", complete)
        texts = cast("dict[str, JsonValue]", seen).items()
        growing = {k: v for k, v in texts if k not in whole and isinstance(v, str)}
        if data[-1:].isdigit() and whole and _is_number(next(reversed(whole.values()))):
            whole.popitem()  # more digits may follow
        return SoFar(whole, growing)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
