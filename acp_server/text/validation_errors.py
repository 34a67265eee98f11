"""Validation errors of pydantic in the words of people who edit a file."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

WEB_URL_PATTERN = "^https?://"
_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is not known",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "path_type": "must be a path",
    "dict_type": "must be a mapping of keys to values",
    "mapping_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
}
"""Reasons by pydantic's type of error; its other messages begin with "Input should be"."""


def validation_reason(details: ErrorDetails) -> str:
    """Return the reason that a value is invalid, without the value: it may be a secret."""
    if details.get("ctx", {}).get("pattern") == WEB_URL_PATTERN:
        return "must begin with http:// or https://"
    message = details["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    return _REASONS.get(details["type"], message)


def describe_problems(error: ValidationError) -> str:
    """Return all problems of a value, each with its path."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'it'}: {validation_reason(each)}"
        for each in error.errors(include_url=False, include_input=False)
    )
