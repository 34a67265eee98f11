"""References `${NAME}` to environment variables in values of a configuration.

Only the settings of model endpoints have them expanded here; MCP servers expand their own.
"""

import re
from collections.abc import Mapping
from typing import cast

from acp_server.startup.fast_dataclass import frozen_dataclass

EXPANDED_SECTIONS = (
    "model",
    "providers",
    "custom_providers",
    "fallback_providers",
    "fallback_model",
)
_SECRET_KEYS = frozenset({"api_key", "apiKey", "extra_headers"})
_REFERENCE = re.compile(r"\$\{([^}]+)\}")


@frozen_dataclass
class ExpandedDocument:
    """A configuration with expanded references."""

    values: Mapping[str, object]
    secret_names: frozenset[str]
    """The variables that were referred to where a secret stands."""
    unset: tuple[tuple[str, str], ...] = ()
    """The dotted keys of references to variables that are not set, with these."""


def expand_references(
    document: Mapping[str, object], variables: Mapping[str, str]
) -> ExpandedDocument:
    """Return a document with the references of its model settings expanded.

    A reference to a variable that is not set stays as it is, as in Hermes.
    """
    secret_names, unset = set[str](), list[tuple[str, str]]()

    def expand(value: object, path: str, *, is_secret: bool) -> object:
        if isinstance(value, str):
            names: list[str] = _REFERENCE.findall(value)
            secret_names.update(names if is_secret else ())
            unset.extend((path, name) for name in names if name not in variables)
            return _REFERENCE.sub(lambda found: variables.get(found[1], found[0]), value)
        if isinstance(value, dict):
            entries = cast("Mapping[str, object]", value).items()
            return {
                key: expand(each, f"{path}.{key}", is_secret=is_secret or key in _SECRET_KEYS)
                for key, each in entries
            }
        if isinstance(value, list):
            return [
                expand(each, f"{path}.{number}", is_secret=is_secret)
                for number, each in enumerate(cast("list[object]", value))
            ]
        return value

    expanded = {
        section: expand(document[section], section, is_secret=False)
        for section in EXPANDED_SECTIONS
        if section in document
    }
    return ExpandedDocument({**document, **expanded}, frozenset(secret_names), tuple(unset))


def has_reference(value: str) -> bool:
    """Return whether a value still refers to a variable, which is not set."""
    return _REFERENCE.search(value) is not None
