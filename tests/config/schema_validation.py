"""The schema of the settings, compiled once; that it is a schema is a test of its own."""

from functools import cache

from jsonschema import Draft202012Validator
from pydantic import JsonValue

from acp_server.config.schema import config_schema


def validate_settings(document: JsonValue) -> None:
    """Check settings by the schema; `jsonschema.validate` would also check the schema each time.

    Raises:
        ValidationError: They do not match it.
    """
    _validator().validate(document)  # pyright: ignore[reportUnknownMemberType]


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(config_schema())
